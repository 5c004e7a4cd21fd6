// Rounds, names and fills.
#include "report/phrases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "config/machine.h"
#include "report/model_name.h"
#include "report/point_names.h"
#include "table/text.h"
#include "table/value_text.h"

namespace laptime {

std::string brief_seconds(double seconds) { return value_text(seconds, Unit::kSeconds); }
std::string brief_bytes(int64_t bytes) { return value_text(bytes, Unit::kBytes); }

std::string grouped(int64_t number) { return grouped_digits(fmt::to_string(number)); }

std::string long_time(double seconds) {
  constexpr double kMinute = 60;
  constexpr double kHour = 3600;
  constexpr double kDay = 24 * kHour;
  if (!std::isfinite(seconds) || seconds < 2 * kMinute) return brief_seconds(seconds);
  if (seconds < 2 * kHour) return fmt::format("{:.3g} min", seconds / kMinute);
  const bool is_hours = seconds < 3 * kDay;
  const double value = seconds / (is_hours ? kHour : kDay);
  const std::string_view unit = is_hours ? "h" : "days";
  return value < 100 ? fmt::format("{:.2g} {}", value, unit)
                     : fmt::format("{} {}", grouped_digits(fmt::format("{:.0f}", value)), unit);
}

std::string usable_words(const Finding& memory) {
  std::string bytes = brief_bytes(memory.integer("available_bytes"));
  if (memory.text("is_limit") == "true") return bytes + " (--memory-limit)";
  if (memory.has("whole_bytes"))
    return fmt::format("{} (95 % of {})", bytes, brief_bytes(memory.integer("whole_bytes")));
  return bytes;
}

std::string category_words(std::string_view key) {
  std::string text(key);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string place_words(const std::string& op, const std::string& scope) {
  return scope.empty() ? op : fmt::format("{} at {}", op, scope);
}

std::string spoken_name(const std::string& name) {
  std::string text;
  for (size_t begin = 0; begin < name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    std::string word = name.substr(begin, end - begin);
    for (const std::string_view tag : {"model:", "dtype:", "mode:", "device:roofline:", "device:"}) {
      if (word.starts_with(tag)) word.erase(0, tag.size());
    }
    std::replace(word.begin(), word.end(), ':', ' ');
    text += (text.empty() ? "" : " ") + word;
    begin = end + 1;
  }
  return text;
}

std::string spoken_name(const std::string& name, const std::string& left_out) {
  return spoken_name(without_words(name, left_out));
}

std::string point_line(const Record& record) {
  const JsonObject& config = record.config;
  const auto part = [&](const char* before, const char* key) {
    const std::string value = config.text(key);
    return value.empty() || value == "null" ? "" : fmt::format(", {}{}", before, value);
  };
  std::string text = model_text(record) + part("ctx ", "context_length") + part("batch ", "batch_size");
  text += fmt::format(", {} {} {}", config.text("pass"), config.text("dtype"), config.text("mode"));
  const std::string device = config.text("device");
  std::string machine = device;
  if (device.starts_with(kMachinePrefix)) {
    const auto& known = known_machines();
    const auto found = std::find_if(known.begin(), known.end(), [&](const DataSheet& one) {
      return one.name == device.substr(kMachinePrefix.size());
    });
    machine = fmt::format("{}, from its data sheet",
                          found == known.end() ? device.substr(kMachinePrefix.size()) : found->title);
  } else if (const auto cpu = record.machine.json().find("cpu_model"); cpu != nullptr && cpu->is_string()) {
    machine = cpu->get<std::string>();
  }
  if (!device.starts_with(kMachinePrefix)) {
    const std::string threads = config.text("threads");
    if (!threads.empty() && threads != "null")
      machine += fmt::format(", {} thread{}", threads, threads == "1" ? "" : "s");
  }
  return fmt::format("{} · {}", text, machine);
}

std::vector<std::string> filled(const std::vector<std::string>& parts, size_t width) {
  std::vector<std::string> lines;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    const bool fits = !lines.empty() && (width == 0 || display_width(lines.back()) + 3 + display_width(part) <= width);
    if (fits) {
      lines.back() += "   " + part;
    } else {
      lines.push_back("  " + part);
    }
  }
  return lines;
}

}  // namespace laptime
