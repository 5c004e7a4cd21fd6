// Reads machine files: those of the program, which are compiled in, and the user's.
#include "config/machine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/words.h"
#include "config/flat_toml.h"
#include "config/machine_files.h"
#include "config/run_config.h"

namespace laptime {
namespace {

struct Field {
  std::string_view key;
  bool required;
  void (*set)(DataSheet& machine, const toml::node& value, const std::string& where);
};

std::string text_of_node(const toml::node& value, const std::string& where) {
  const auto* const text = value.as_string();
  if (text == nullptr || text->get().empty()) throw Error::format("{}: give a text in quotes", where);
  return text->get();
}

double positive(const toml::node& value, const std::string& where) {
  const std::optional<double> number = value.value<double>();
  if (!number || !std::isfinite(*number) || *number <= 0) throw Error::format("{}: give a number above 0", where);
  return *number;
}

template <auto Member>
constexpr auto kText = [](DataSheet& machine, const toml::node& value, const std::string& where) {
  machine.*Member = text_of_node(value, where);
};
template <auto Member>
constexpr auto kRate = [](DataSheet& machine, const toml::node& value, const std::string& where) {
  machine.*Member = positive(value, where);
};

void set_memory(DataSheet& machine, const toml::node& value, const std::string& where) {
  machine.memory = parse_bytes(where, text_of_node(value, where));
}

constexpr std::array kFields{
    Field{"title", true, kText<&DataSheet::title>},
    Field{"source", true, kText<&DataSheet::source>},
    Field{"memory", true, set_memory},
    Field{"bandwidth", true, kRate<&DataSheet::bandwidth>},
    Field{"launch", true, kRate<&DataSheet::launch>},
    Field{"float32", true, kRate<&DataSheet::float32>},
    Field{"tf32", false, kRate<&DataSheet::tf32>},
    Field{"bfloat16", false, kRate<&DataSheet::bfloat16>},
    Field{"measured_float32", false, kRate<&DataSheet::measured_float32>},
    Field{"measured_tf32", false, kRate<&DataSheet::measured_tf32>},
    Field{"measured_bfloat16", false, kRate<&DataSheet::measured_bfloat16>},
    Field{"measured_bandwidth", false, kRate<&DataSheet::measured_bandwidth>},
    Field{"measured_source", false, kText<&DataSheet::measured_source>},
};

void check_ceilings(const DataSheet& machine, std::string_view name) {
  const auto check = [&](const std::optional<double>& measured, double stated, std::string_view what) {
    if (!measured) return;
    if (machine.measured_source.empty())
      throw Error::format("{}: measured_{} is given without measured_source; say who measured it", name, what);
    if (*measured > stated)
      throw Error::format("{}: measured_{} is above {}, which is the limit of the machine", name, what, what);
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
                        std::filesystem::exists(path) ? "cannot be read" : "does not exist");
  }
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

}  // namespace

DataSheet parse_machine(std::string_view text, std::string_view name) {
  if (text.size() > kMaxMachineFileBytes)
    throw Error::format("{}: larger than {} bytes; a machine file has a line for each figure", name,
                        kMaxMachineFileBytes);
  const toml::table table = parse_flat_toml(text, name);
  DataSheet machine;
  for (const TomlEntry& entry : in_file_order(table)) {
    const std::string where = fmt::format("{}:{}: {}", name, entry.position.line, entry.key);
    const auto field =
        std::find_if(kFields.begin(), kFields.end(), [&](const Field& one) { return one.key == entry.key; });
    if (field == kFields.end()) {
      std::vector<std::string_view> keys;
      for (const Field& one : kFields) keys.push_back(one.key);
      throw Error::format("{}:{}: unknown key {}{}", name, entry.position.line, quote(entry.key),
                          did_you_mean(entry.key, keys));
    }
    field->set(machine, *entry.value, where);
  }
  for (const Field& field : kFields) {
    if (field.required && !table.contains(field.key))
      throw Error::format("{}: the key '{}' is missing (docs/adding_a_machine.md)", name, field.key);
  }
  check_ceilings(machine, name);
  machine.name = std::filesystem::path(name).stem().string();
  return machine;
}

const std::vector<DataSheet>& known_machines() {
  static const std::vector<DataSheet> kMachines = [] {
    std::vector<DataSheet> machines;
    for (const MachineFile& file : machine_files()) machines.push_back(parse_machine(file.text, file.name));
    return machines;
  }();
  return kMachines;
}

DataSheet find_machine(std::string_view name) {
  if (name.ends_with(".toml")) return parse_machine(read_machine_file(std::string(name)), name);
  std::vector<std::string_view> names;
  for (const DataSheet& machine : known_machines()) {
    if (name == machine.name) return machine;
    names.emplace_back(machine.name);
  }
  throw Error::format("unknown machine '{}{}'{}; laptime list devices shows the known ones", kMachinePrefix, name,
                      did_you_mean(name, names));
}

}  // namespace laptime
