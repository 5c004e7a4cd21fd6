// The kernel's text files, /proc and /sys, read and taken apart. A missing file or line is an empty value, never an
// error; the functions that take text do not touch the machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace laptime {

// The whole file, at most 16 MiB of it; empty where it cannot be read.
std::optional<std::string> read_text_file(const std::filesystem::path& path);
// Like read_text_file, without surrounding white space; empty also for an empty file.
std::optional<std::string> read_word(const std::filesystem::path& path);

std::string_view trim(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);  // without empty parts
std::optional<int64_t> parse_int64(std::string_view text);                   // all of the text, or empty

// The value after `key` and any of ": \t=" on the first line that begins with it: "MemTotal:  8 kB" gives "8 kB".
std::optional<std::string> line_value(std::string_view text, std::string_view key);
// line_value as bytes; the number may be followed by "kB".
std::optional<int64_t> line_bytes(std::string_view text, std::string_view key);
// line_value as a number.
std::optional<int64_t> line_number(std::string_view text, std::string_view key);

// A list of CPUs as the kernel writes them: "0-2,5" gives {0, 1, 2, 5}. Empty when malformed.
std::vector<int64_t> parse_cpu_list(std::string_view text);

// The chosen one of several settings: "always [madvise] never" gives "madvise".
std::optional<std::string> bracketed(std::string_view text);

// "32K", "1M", "36864" as bytes.
std::optional<int64_t> parse_cache_size(std::string_view text);

// Ticks stolen by the host so far, summed over `cpus`, from /proc/stat; empty where no line of those CPUs has them.
std::optional<int64_t> parse_steal_ticks(std::string_view stat, const std::vector<int64_t>& cpus);

// The averages over 1, 5 and 15 minutes of /proc/loadavg; fewer or none when malformed.
std::vector<double> parse_load_average(std::string_view text);

// Seconds for which a thread could run and waited for a core, from its file schedstat: "RUN_NS WAIT_NS TURNS".
std::optional<double> parse_run_delay(std::string_view text);

// Fields of /proc/cpuinfo on x86.
struct Processor {
  std::optional<std::string> vendor;
  std::optional<std::string> model_name;
  std::optional<int64_t> family;
  std::optional<int64_t> model;
  std::optional<int64_t> stepping;
  std::optional<std::string> microcode;
  std::optional<int64_t> sockets;
  std::optional<int64_t> physical_cores;  // of all sockets
  std::optional<bool> smt;                // several logical cores per physical one
  std::vector<std::string> flags;
};

Processor parse_cpuinfo(std::string_view text);

}  // namespace laptime
