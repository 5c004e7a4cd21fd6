// Reads and parses the kernel's text files in /proc and /sys, and splits and parses other text. A missing file or line
// yields an empty value, never an error; functions that take text read no files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace laptime {

// The whole file, up to 16 MiB; none if it cannot be read.
std::optional<std::string> read_text_file(const std::filesystem::path& path);
// Like read_text_file, without surrounding white space; also none for an empty file.
std::optional<std::string> read_word(const std::filesystem::path& path);

std::string_view trim(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);  // without empty parts
// Parse the whole text; none if it is not a number.
std::optional<int64_t> parse_int64(std::string_view text);
std::optional<double> parse_double(std::string_view text);

// The value after `key` and any of ": \t=" in the first line that begins with the key: "MemTotal:  8 kB" gives "8 kB".
std::optional<std::string> line_value(std::string_view text, std::string_view key);
// line_value in bytes; the number may be followed by "kB".
std::optional<int64_t> line_bytes(std::string_view text, std::string_view key);
// line_value as a number.
std::optional<int64_t> line_number(std::string_view text, std::string_view key);

// A CPU list in the kernel's notation: "0-2,5" gives {0, 1, 2, 5}. Empty if malformed.
std::vector<int64_t> parse_cpu_list(std::string_view text);

// The selected setting among several: "always [madvise] never" gives "madvise".
std::optional<std::string> bracketed(std::string_view text);

// Parses "32K", "1M", "36864" as bytes.
std::optional<int64_t> parse_cache_size(std::string_view text);

// Ticks that the host has stolen since boot, from /proc/stat, summed over `cpus`; none if the file states them
// for none of these CPUs.
std::optional<int64_t> parse_steal_ticks(std::string_view stat, const std::vector<int64_t>& cpus);

// The averages over 1, 5 and 15 minutes in /proc/loadavg; fewer or none if malformed.
std::vector<double> parse_load_average(std::string_view text);

// Seconds that a thread was runnable but waited for a core, from its schedstat file: "RUN_NS WAIT_NS TURNS".
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
  std::optional<int64_t> physical_cores;  // total over all sockets
  std::optional<bool> smt;                // several hardware threads per physical core
  std::vector<std::string> flags;
};

Processor parse_cpuinfo(std::string_view text);

}  // namespace laptime
