// Parses the kernel's text files.
#include "base/proc_text.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <fstream>
#include <limits>
#include <set>
#include <utility>

namespace laptime {
namespace {

// The part of `line` after `key` and a separator; none if the line does not begin with `key` as a whole word.
std::optional<std::string_view> value_of_line(std::string_view line, std::string_view key) {
  constexpr std::string_view kSeparators = ": \t=";
  if (line.substr(0, key.size()) != key) return std::nullopt;
  const std::string_view rest = line.substr(key.size());
  if (rest.empty() || kSeparators.find(rest.front()) == std::string_view::npos) return std::nullopt;
  const size_t begin = rest.find_first_not_of(kSeparators);
  return begin == std::string_view::npos ? std::string_view() : trim(rest.substr(begin));
}

template <class Number>
std::optional<Number> parse_all(std::string_view text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<int64_t> multiply(std::optional<int64_t> value, int64_t factor) {
  int64_t product = 0;
  if (!value || __builtin_mul_overflow(*value, factor, &product)) return std::nullopt;
  return product;
}

}  // namespace

std::optional<std::string> read_text_file(const std::filesystem::path& path) {
  constexpr size_t kLongest = size_t{16} << 20U;
  constexpr size_t kChunk = 4096;
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string text;
  // Files in /proc report a size of 0, so they are read until they end.
  while (file && text.size() < kLongest) {
    const size_t before = text.size();
    text.resize(before + kChunk);
    file.read(text.data() + before, kChunk);
    text.resize(before + static_cast<size_t>(file.gcount()));
  }
  if (file.bad()) return std::nullopt;
  return text;
}

std::optional<std::string> read_word(const std::filesystem::path& path) {
  const std::optional<std::string> text = read_text_file(path);
  if (!text || trim(*text).empty()) return std::nullopt;
  return std::string(trim(*text));
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::optional<int64_t> parse_int64(std::string_view text) { return parse_all<int64_t>(text); }
std::optional<double> parse_double(std::string_view text) { return parse_all<double>(text); }

std::optional<std::string> line_value(std::string_view text, std::string_view key) {
  for (const std::string_view line : split(text, '\n')) {
    if (const auto value = value_of_line(line, key)) return std::string(*value);
  }
  return std::nullopt;
}

std::optional<int64_t> line_number(std::string_view text, std::string_view key) {
  const std::optional<std::string> value = line_value(text, key);
  return value ? parse_int64(*value) : std::nullopt;
}

std::optional<int64_t> line_bytes(std::string_view text, std::string_view key) {
  constexpr std::string_view kUnit = " kB";
  const std::optional<std::string> value = line_value(text, key);
  if (!value) return std::nullopt;
  std::string_view number = *value;
  const bool kilobytes = number.size() > kUnit.size() && number.substr(number.size() - kUnit.size()) == kUnit;
  if (kilobytes) number.remove_suffix(kUnit.size());
  return multiply(parse_int64(trim(number)), kilobytes ? 1024 : 1);
}

std::vector<int64_t> parse_cpu_list(std::string_view text) {
  constexpr int64_t kMostCpus = 1 << 16;
  std::vector<int64_t> cpus;
  for (const std::string_view part : split(trim(text), ',')) {
    const size_t dash = part.find('-');
    const auto first = parse_int64(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_int64(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= kMostCpus) return {};
    for (int64_t cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

std::optional<std::string> bracketed(std::string_view text) {
  const size_t open = text.find('[');
  const size_t close = text.find(']', open == std::string_view::npos ? 0 : open);
  if (open == std::string_view::npos || close == std::string_view::npos) return std::nullopt;
  return std::string(text.substr(open + 1, close - open - 1));
}

std::optional<int64_t> parse_cache_size(std::string_view text) {
  text = trim(text);
  if (text.empty()) return std::nullopt;
  int64_t factor = 1;
  if (text.back() == 'K') factor = int64_t{1} << 10U;
  if (text.back() == 'M') factor = int64_t{1} << 20U;
  if (factor > 1) text.remove_suffix(1);
  return multiply(parse_int64(text), factor);
}

std::optional<int64_t> parse_steal_ticks(std::string_view stat, const std::vector<int64_t>& cpus) {
  constexpr size_t kSteal = 8;  // cpuN user nice system idle iowait irq softirq steal ...
  const std::set<int64_t> wanted(cpus.begin(), cpus.end());
  std::optional<int64_t> ticks;
  for (const std::string_view line : split(stat, '\n')) {
    if (line.substr(0, 3) != "cpu") continue;
    const std::vector<std::string_view> words = split(line, ' ');
    const auto cpu = parse_int64(words[0].substr(3));  // the first line, "cpu", is the total and has no number
    if (!cpu || wanted.count(*cpu) == 0 || words.size() <= kSteal) continue;
    if (const auto steal = parse_int64(words[kSteal])) ticks = ticks.value_or(0) + *steal;
  }
  return ticks;
}

std::vector<double> parse_load_average(std::string_view text) {
  std::vector<double> averages;
  for (const std::string_view word : split(trim(text), ' ')) {
    const std::optional<double> average = parse_double(word);
    if (averages.size() == 3 || !average) break;
    averages.push_back(*average);
  }
  return averages;
}

std::optional<double> parse_run_delay(std::string_view text) {
  const std::vector<std::string_view> words = split(trim(text), ' ');
  if (words.size() != 3) return std::nullopt;
  const std::optional<int64_t> nanoseconds = parse_int64(words[1]);
  return nanoseconds ? std::optional(1e-9 * static_cast<double>(*nanoseconds)) : std::nullopt;
}

Processor parse_cpuinfo(std::string_view text) {
  Processor processor;
  processor.vendor = line_value(text, "vendor_id");
  processor.model_name = line_value(text, "model name");
  processor.family = line_number(text, "cpu family");
  processor.model = line_number(text, "model\t");  // the tab distinguishes it from "model name"
  processor.stepping = line_number(text, "stepping");
  processor.microcode = line_value(text, "microcode");

  const auto siblings = line_number(text, "siblings");
  const auto cores = line_number(text, "cpu cores");
  if (siblings && cores) processor.smt = *siblings > *cores;

  std::set<int64_t> sockets;
  std::set<std::pair<int64_t, int64_t>> physical;
  std::optional<int64_t> socket;
  for (const std::string_view line : split(text, '\n')) {
    if (const auto id = value_of_line(line, "physical id")) {
      socket = parse_int64(*id);
      if (socket) sockets.insert(*socket);
    } else if (const auto core = value_of_line(line, "core id"); core && socket) {
      if (const auto number = parse_int64(*core)) physical.emplace(*socket, *number);
    }
  }
  if (!sockets.empty()) processor.sockets = static_cast<int64_t>(sockets.size());
  if (!physical.empty()) processor.physical_cores = static_cast<int64_t>(physical.size());
  if (const auto flags = line_value(text, "flags")) {
    for (const std::string_view flag : split(*flags, ' ')) processor.flags.emplace_back(flag);
  }
  return processor;
}

}  // namespace laptime
