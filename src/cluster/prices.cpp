// Reads device prices.
#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/words.h"
#include "cluster/parallel_answer.h"
#include "config/flat_toml.h"
#include "config/synonyms.h"
#include "data/input_file.h"

namespace laptime {

std::string priced_name(std::string_view device) {
  const std::string_view machine = device.substr(kMachinePrefix.size());
  return is_machine_file(machine) ? std::filesystem::path(machine).stem().string() : std::string(machine);
}

Prices parse_prices(std::string_view text, std::string_view name, const std::set<std::string>& planned) {
  const toml::table table = parse_flat_toml(text, name);
  Prices prices;
  for (const TomlEntry& entry : in_file_order(table)) {
    const std::string where = fmt::format("{}:{}: {}", name, entry.position.line, entry.key);
    std::string machine(entry.key);
    // A machine may be written as for --device: in any letter case, with or without the prefix.
    if (const std::string device = meant_value("device", machine);
        !planned.contains(machine) && device.starts_with(kMachinePrefix))
      machine = priced_name(device);
    if (!planned.contains(machine) &&
        std::ranges::find(known_machines(), machine, &DataSheet::name) == known_machines().end())
      throw Error::format("{}: unknown machine{}; laptime list devices shows the known ones", where,
                          did_you_mean_machine(entry.key));
    const std::optional<double> price = entry.value->is_number() ? entry.value->value<double>() : std::nullopt;
    if (!price || !(*price > 0 && *price < 1e6))
      throw Error::format("{}: give the hourly price of one device, such as {} = 2.5", where, toml_key(entry.key));
    if (!prices.try_emplace(machine, *price).second)
      throw Error::format("{}: the file has two prices for {}; keep one", where, machine);
  }
  return prices;
}

Prices prices_of(const std::vector<std::string>& devices, const std::string& file, bool sorts) {
  if (file.empty() && sorts) throw Error("laptime plan: --by cost needs --price-file with the price of each device");
  if (file.empty()) return {};
  std::set<std::string> names;
  std::map<std::string, std::string> known;  // device by priced name
  for (const std::string& device : devices) {
    const std::string& other = known.try_emplace(*names.insert(priced_name(device)).first, device).first->second;
    if (other != device)
      throw Error::format("laptime plan: --price-file has one line for {} and {}; rename one of these machine files",
                          quote(other), quote(device));
  }
  const std::string text =
      InputFile(file, "price file")
          .read_all(kMaxMachineFileBytes, "a price file has one line per device, such as h100 = 2.5");
  Prices prices = parse_prices(text, file, names);
  std::erase_if(names, [&](const std::string& name) { return prices.contains(name); });
  if (sorts && !names.empty())
    throw Error::format("laptime plan: --by cost: {} has no price for {}; add a line for each, such as {} = 2.5",
                        quote(file), joined(names, ", "), toml_key(*names.begin()));
  return prices;
}

}  // namespace laptime
