// Reads device prices.
#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/words.h"
#include "cluster/parallel_answer.h"
#include "config/flat_toml.h"
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
    if (!planned.contains(std::string(entry.key)) &&
        std::ranges::find(known_machines(), entry.key, &DataSheet::name) == known_machines().end())
      throw Error::format("{}: unknown machine{}; laptime list devices shows the known ones", where,
                          did_you_mean_machine(entry.key));
    const std::optional<double> price = entry.value->is_number() ? entry.value->value<double>() : std::nullopt;
    if (!price || !(*price > 0 && *price < 1e6))
      throw Error::format("{}: give the hourly price of one device, such as {} = 2.5", where, toml_key(entry.key));
    prices[std::string(entry.key)] = *price;
  }
  return prices;
}

Prices read_prices(const std::string& path, const std::set<std::string>& planned) {
  const std::string text =
      InputFile(path, "price file")
          .read_all(kMaxMachineFileBytes, "a price file has one line per device, such as h100 = 2.5");
  return parse_prices(text, path, planned);
}

}  // namespace laptime
