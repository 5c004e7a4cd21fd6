// Reads machine files: the built-in ones, which are compiled in, and the user's.
#include "config/machine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <span>
#include <type_traits>

#include "base/error.h"
#include "base/ranges.h"
#include "base/words.h"
#include "config/flat_toml.h"
#include "config/run_config.h"
#include "config/toml_files.h"

namespace laptime {
namespace {

struct Field {
  std::string_view key;
  std::string_view example;  // example for a required key; empty for optional keys
  void (*set)(DataSheet& machine, const toml::node& value, const std::string& where);
};

std::string text_of_node(const toml::node& value, const std::string& where) {
  const auto* const text = value.as_string();
  if (text == nullptr || text->get().empty()) throw Error::format("{}: give non-empty text in quotes", where);
  return text->get();
}

// Unit of a figure and its possible range on any machine. A value outside the range was probably written in another
// unit.
struct Figure {
  std::string_view unit;
  std::string_view example;
  double least = 0, most = 0;
  bool is_whole = false;
};
constexpr Figure kFlopRate{"FLOP/s", "35.6e12", 1e8, 1e19};
constexpr Figure kByteRate{"bytes/s", "936e9", 1e8, 1e19};
constexpr Figure kLaunch{"seconds", "8e-6", 1e-12, 0.1};
constexpr Figure kCount{"count", "132", 1, 1e6, /*is_whole=*/true};
constexpr Figure kShare{"fraction of the data sheet's figure", "0.8", 0.01, 1};
constexpr Figure kRatio{"ratio", "0.9", 0, 100};

double number_of(const Figure& figure, const toml::node& value, const std::string& where) {
  const std::optional<double> number = value.is_number() ? value.value<double>() : std::nullopt;
  if (!number)
    throw Error::format("{}: give a number without quotes, such as {} ({})", where, figure.example, figure.unit);
  const bool is_possible = *number >= figure.least && *number <= figure.most;
  if (!is_possible || (figure.is_whole && *number != std::floor(*number))) {
    throw Error::format("{}: {:g} ({}) is impossible; give a {}number such as {}", where, *number, figure.unit,
                        figure.is_whole ? "whole " : "", figure.example);
  }
  return *number;
}

template <auto Member>
constexpr auto kText = [](DataSheet& machine, const toml::node& value, const std::string& where) {
  machine.*Member = text_of_node(value, where);
};
template <auto Member, const Figure& figure>
constexpr auto kNumber = [](DataSheet& machine, const toml::node& value, const std::string& where) {
  machine.*Member = static_cast<std::remove_cvref_t<decltype(machine.*Member)>>(number_of(figure, value, where));
};

constexpr auto kKind = [](DataSheet& machine, const toml::node& value, const std::string& where) {
  parse_value(Option{.flag = "kind of machine"}, where, text_of_node(value, where), machine.kind);
};

template <auto Member>
constexpr auto kBytes = [](DataSheet& machine, const toml::node& value, const std::string& where) {
  if (!value.is_string()) throw Error::format("{}: give a size in quotes, such as \"24GiB\"", where);
  machine.*Member = parse_bytes(where, text_of_node(value, where));
};

constexpr std::array kFields{
    Field{"title", "\"NVIDIA GeForce RTX 3090\"", kText<&DataSheet::title>},
    Field{"source", "\"manufacturer's data sheet\"", kText<&DataSheet::source>},
    Field{"memory", "\"24GiB\"", kBytes<&DataSheet::memory>},
    Field{"bandwidth", kByteRate.example, kNumber<&DataSheet::bandwidth, kByteRate>},
    Field{"launch", kLaunch.example, kNumber<&DataSheet::launch, kLaunch>},
    Field{"float32", kFlopRate.example, kNumber<&DataSheet::float32, kFlopRate>},
    Field{"kind", "", kKind},
    Field{"tf32", "", kNumber<&DataSheet::tf32, kFlopRate>},
    Field{"bfloat16", "", kNumber<&DataSheet::bfloat16, kFlopRate>},
    Field{"float8", "", kNumber<&DataSheet::float8, kFlopRate>},
    Field{"float4", "", kNumber<&DataSheet::float4, kFlopRate>},
    Field{"driver_name", "", kText<&DataSheet::driver_name>},
    Field{"measured_float32", "", kNumber<&DataSheet::measured_float32, kFlopRate>},
    Field{"measured_tf32", "", kNumber<&DataSheet::measured_tf32, kFlopRate>},
    Field{"measured_bfloat16", "", kNumber<&DataSheet::measured_bfloat16, kFlopRate>},
    Field{"measured_bandwidth", "", kNumber<&DataSheet::measured_bandwidth, kByteRate>},
    Field{"measured_source", "", kText<&DataSheet::measured_source>},
    Field{"processors", "", kNumber<&DataSheet::processors, kCount>},
    Field{"cache", "", kBytes<&DataSheet::cache>},
    Field{"reached_float32", "", kNumber<&DataSheet::reached_float32, kShare>},
    Field{"reached_tf32", "", kNumber<&DataSheet::reached_tf32, kShare>},
    Field{"reached_tensor", "", kNumber<&DataSheet::reached_tensor, kShare>},
    Field{"reached_bandwidth", "", kNumber<&DataSheet::reached_bandwidth, kShare>},
    Field{"reached_attention", "", kNumber<&DataSheet::reached_attention, kShare>},
    Field{"host_forward", "", kNumber<&DataSheet::host_forward, kLaunch>},
    Field{"host_compiled", "", kNumber<&DataSheet::host_compiled, kLaunch>},
    Field{"reached_source", "", kText<&DataSheet::reached_source>},
    Field{"link_bandwidth", "", kNumber<&DataSheet::link_bandwidth, kByteRate>},
    Field{"link_devices", "", kNumber<&DataSheet::link_devices, kCount>},
    Field{"network_bandwidth", "", kNumber<&DataSheet::network_bandwidth, kByteRate>},
    Field{"link_latency", "", kNumber<&DataSheet::link_latency, kLaunch>},
    Field{"reached_link", "", kNumber<&DataSheet::reached_link, kShare>},
    Field{"link_source", "", kText<&DataSheet::link_source>},
};

// Groups of keys that must be given together: the fractions of peak that programs reach, and the links.
constexpr std::array<std::string_view, 10> kReachedKeys{
    "processors",        "cache",        "reached_float32", "reached_tf32",  "reached_tensor", "reached_bandwidth",
    "reached_attention", "host_forward", "host_compiled",   "reached_source"};
constexpr std::array<std::string_view, 6> kLinkKeys{"link_bandwidth", "link_devices", "network_bandwidth",
                                                    "link_latency",   "reached_link", "link_source"};

// The keys of known runs, which must be given together, and the runs that they describe.
struct RunsField {
  std::array<std::string_view, 4> keys;
  KnownRuns DataSheet::*runs;
};
constexpr std::array kRunsFields{
    RunsField{{"eager_figures", "eager_error", "eager_low", "eager_high"}, &DataSheet::eager},
    RunsField{{"compile_figures", "compile_error", "compile_low", "compile_high"}, &DataSheet::compile},
    RunsField{{"parallel_figures", "parallel_error", "parallel_low", "parallel_high"}, &DataSheet::parallel},
    RunsField{{"laptime_eager_figures", "laptime_eager_error", "laptime_eager_low", "laptime_eager_high"},
              &DataSheet::laptime_eager},
    RunsField{{"laptime_compile_figures", "laptime_compile_error", "laptime_compile_low", "laptime_compile_high"},
              &DataSheet::laptime_compile}};

// Sets a value of known runs; returns false if the key belongs to none.
bool set_runs(DataSheet& machine, std::string_view key, const toml::node& value, const std::string& where) {
  for (const RunsField& field : kRunsFields) {
    KnownRuns& runs = machine.*field.runs;
    const auto [figures, error, low, high] = field.keys;
    if (key == figures) {
      runs.figures = static_cast<int64_t>(number_of(kCount, value, where));
    } else if (key == error || key == low || key == high) {
      (key == error ? runs.error : key == low ? runs.low : runs.high) = number_of(kRatio, value, where);
    } else {
      continue;
    }
    return true;
  }
  return false;
}

void check_together(const toml::table& table, std::span<const std::string_view> keys, std::string_view name) {
  const auto is_given = [&](std::string_view key) { return table.contains(key); };
  const auto given = std::ranges::find_if(keys, is_given);
  const auto missing = std::ranges::find_if_not(keys, is_given);
  if (given != keys.end() && missing != keys.end())
    throw Error::format("{}: {} is given without {}; give all of {}, or none", name, *given, *missing,
                        joined(keys, ", "));
}

void check_runs(const toml::table& table, const DataSheet& machine, std::string_view name) {
  for (const RunsField& field : kRunsFields) {
    check_together(table, field.keys, name);
    const KnownRuns& runs = machine.*field.runs;
    const auto [figures, error, low, high] = field.keys;
    if (runs.figures > 0 && !(runs.low > 0 && runs.low <= runs.high))
      throw Error::format("{}: {} = {:g} and {} = {:g} are not a range; give ratios above 0, the smaller one as {}",
                          name, low, runs.low, high, runs.high, low);
  }
}

void check_ceilings(const DataSheet& machine, std::string_view name) {
  const auto check = [&](const std::optional<double>& measured, double stated, std::string_view what) {
    if (!measured) return;
    if (machine.measured_source.empty())
      throw Error::format("{}: measured_{} is given without measured_source; name the source of the measurement", name,
                          what);
    if (*measured > stated)
      throw Error::format("{}: measured_{} is above {}, the limit of the machine; correct one of them", name, what,
                          what);
  };
  check(machine.measured_float32, machine.float32, "float32");
  check(machine.measured_tf32, machine.tf32, "tf32");
  check(machine.measured_bfloat16, machine.bfloat16, "bfloat16");
  check(machine.measured_bandwidth, machine.bandwidth, "bandwidth");
}

std::string read_machine_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxMachineFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad() || std::filesystem::is_directory(path)) {
    throw Error::format("machine file {} {}", quote(path),
                        std::filesystem::exists(path)
                            ? "cannot be read; give a readable TOML file"
                            : "does not exist; laptime list devices shows the known machines, and "
                              "docs/adding_a_machine.md describes machine files");
  }
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

}  // namespace

DataSheet parse_machine(std::string_view text, std::string_view name) {
  if (text.size() > kMaxMachineFileBytes)
    throw Error::format("{}: larger than {} bytes; give a machine file, which has one line per figure", name,
                        kMaxMachineFileBytes);
  const toml::table table = parse_flat_toml(text, name);
  DataSheet machine;
  for (const TomlEntry& entry : in_file_order(table)) {
    const std::string where = fmt::format("{}:{}: {}", name, entry.position.line, entry.key);
    if (set_runs(machine, entry.key, *entry.value, where)) continue;
    const Field* const field = find_in(kFields, entry.key, &Field::key);
    if (field == nullptr) {
      std::vector<std::string_view> keys = mapped(kFields, &Field::key);
      for (const RunsField& runs : kRunsFields) keys.insert(keys.end(), runs.keys.begin(), runs.keys.end());
      throw Error::format("{}:{}: unknown key {}{} (keys: {})", name, entry.position.line, quote(entry.key),
                          did_you_mean(entry.key, keys), joined(keys, ", "));
    }
    field->set(machine, *entry.value, where);
  }
  for (const Field& field : kFields) {
    if (!field.example.empty() && !table.contains(field.key))
      throw Error::format("{}: the key '{}' is missing; write a line such as {} = {}", name, field.key, field.key,
                          field.example);
  }
  check_ceilings(machine, name);
  check_together(table, kReachedKeys, name);
  check_together(table, kLinkKeys, name);
  check_runs(table, machine, name);
  machine.name = std::filesystem::path(name).stem().string();
  return machine;
}

const std::vector<DataSheet>& known_machines() {
  static const std::vector<DataSheet> kMachines = [] {
    std::vector<DataSheet> machines;
    for (const TomlFile& file : machine_files()) machines.push_back(parse_machine(file.text, file.name));
    return machines;
  }();
  return kMachines;
}

const DataSheet* machine_of_driver(std::string_view driver_name) {
  return driver_name.empty() ? nullptr : find_in(known_machines(), driver_name, &DataSheet::driver_name);
}

std::string did_you_mean_machine(std::string_view word) {
  constexpr size_t kLeastCommon = 3;
  const auto in_common = [&](std::string_view name) {
    size_t count = 0;
    while (count < word.size() && count < name.size() && lower(word[count]) == name[count]) ++count;
    return count;
  };
  size_t most = kLeastCommon;
  std::vector<std::string_view> names;
  for (const DataSheet& machine : known_machines()) {
    names.emplace_back(machine.name);
    // Variants of a machine share the part before the hyphen. A word that matches this part matches all of them.
    const size_t stem = machine.name.substr(0, machine.name.find('-')).size();
    most = std::max(most, std::min(in_common(machine.name), stem));
  }
  const std::string_view nearest = nearest_name(word, names);
  std::string text;
  for (const DataSheet& machine : known_machines()) {
    if (in_common(machine.name) < most && machine.name != nearest) continue;
    text += fmt::format("{}{}{} ({})", text.empty() ? "; did you mean " : " or ", kMachinePrefix, machine.name,
                        machine.title);
  }
  return text.empty() ? "" : text + "?";
}

DataSheet find_machine(std::string_view name) {
  if (is_machine_file(name)) return parse_machine(read_machine_file(std::string(name)), name);
  if (const DataSheet* const known = find_in(known_machines(), name, &DataSheet::name)) return *known;
  const std::string file = std::string(name) + ".toml";
  if (std::filesystem::exists(file)) {
    throw Error::format("unknown machine '{}{}'; {} is a file here; refer to it as {}{}", kMachinePrefix, name,
                        quote(file), kMachinePrefix, file);
  }
  throw Error::format(
      "unknown machine '{}{}'{}; laptime list devices shows the known ones; describe another one in a file "
      "(docs/adding_a_machine.md)",
      kMachinePrefix, name, did_you_mean_machine(name));
}

}  // namespace laptime
