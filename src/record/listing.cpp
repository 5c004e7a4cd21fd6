// The SQL of the listing, and a reader of its flat JSON that makes no tree of it.
#include "record/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "record/listed_fields.h"
#include "record/metrics.h"

namespace laptime {
namespace {

// Iterates over the elements of a JSON array, or over the names and values of a JSON object, as text. On malformed JSON
// the iteration ends early, or yields an element that no reader accepts.
class Elements {
 public:
  explicit Elements(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {
    if (at_ != end_ && (*at_ == '[' || *at_ == '{')) ++at_;
  }

  // Empty after the last one. Of a member first its name, then its value.
  std::string_view next() {
    while (at_ != end_ && is_separator(*at_)) ++at_;
    const char* const begin = at_;
    if (at_ != end_ && *at_ == '"') {
      at_ = after_text(at_);
    } else if (at_ != end_ && (*at_ == '[' || *at_ == '{')) {
      at_ = after_group(at_);
    }
    // What follows an element without a comma belongs to it, so that its reader refuses it.
    while (at_ != end_ && !kEndsElement[static_cast<unsigned char>(*at_)]) ++at_;
    return {begin, static_cast<size_t>(at_ - begin)};
  }

  // The same of a list whose last element is a group, so that a comma follows numbers and words.
  std::string_view next_field() {
    while (at_ != end_ && is_separator(*at_)) ++at_;
    if (at_ == end_ || kChangesDepth[static_cast<unsigned char>(*at_)]) return next();
    const char* const begin = at_;
    const void* const comma = std::memchr(at_, ',', static_cast<size_t>(end_ - at_));
    at_ = comma == nullptr ? end_ : static_cast<const char*>(comma);
    return {begin, static_cast<size_t>(at_ - begin)};
  }

  void skip_fields(size_t count) {
    for (; count > 0; --count) next_field();
  }

  // The next element with everything behind it.
  std::string_view rest() {
    while (at_ != end_ && is_separator(*at_)) ++at_;
    return {at_, static_cast<size_t>(end_ - at_)};
  }

 private:
  static bool is_separator(char c) { return c == ',' || c == ':' || c == ' '; }
  static constexpr std::array<bool, 256> kEndsElement = [] {
    std::array<bool, 256> ends{};
    for (const unsigned char c : {',', ':', ']', '}'}) ends[c] = true;
    return ends;
  }();
  static constexpr std::array<bool, 256> kChangesDepth = [] {
    std::array<bool, 256> changes{};
    for (const unsigned char c : {'"', '[', ']', '{', '}'}) changes[c] = true;
    return changes;
  }();

  // `quote` is the opening one.
  const char* after_text(const char* quote) const {
    for (const char* from = quote + 1; from < end_; ++from) {
      from = static_cast<const char*>(std::memchr(from, '"', static_cast<size_t>(end_ - from)));
      if (from == nullptr) return end_;
      const char* before = from;
      while (before[-1] == '\\') --before;
      if ((from - before) % 2 == 0) return from + 1;
    }
    return end_;
  }

  // `at` is the opening bracket of an array or an object.
  const char* after_group(const char* at) const {
    size_t depth = 0;
    while (at != end_) {
      const char c = *at;
      if (!kChangesDepth[static_cast<unsigned char>(c)]) {
        ++at;
      } else if (c == '"') {
        at = after_text(at);
      } else {
        ++at;
        if (c == '[' || c == '{') {
          ++depth;
        } else if (--depth == 0) {
          return at;
        }
      }
    }
    return end_;
  }

  const char* at_;
  const char* end_;
};

bool is_null(std::string_view element) { return element == "null"; }

template <class T>
bool read_number(std::string_view element, T& number) {
  const char* const end = element.data() + element.size();
  const auto [stop, error] = std::from_chars(element.data(), end, number);
  return stop == end && error == std::errc();
}

bool read(std::string_view element, double& number) {
  number = std::numeric_limits<double>::quiet_NaN();
  return is_null(element) || read_number(element, number);
}

bool read(std::string_view element, int64_t& number) { return read_number(element, number); }

template <class T>
bool read(std::string_view element, std::optional<T>& value) {
  value.reset();
  return is_null(element) || read(element, value.emplace());
}

bool read(std::string_view element, std::string& text) {
  text.clear();
  if (is_null(element)) return true;
  if (element.size() < 2 || element.front() != '"' || element.back() != '"') return false;
  if (element.find('\\') == std::string_view::npos) {
    text = element.substr(1, element.size() - 2);
    return true;
  }
  const Json json = Json::parse(element, nullptr, /*allow_exceptions=*/false);
  if (!json.is_string()) return false;
  text = json.get<std::string>();
  return true;
}

bool read(std::string_view element, Status& status) {
  for (const auto& choice : choices_of(Status{})) {
    if (element.size() != choice.name.size() + 2 || element.substr(1, choice.name.size()) != choice.name) continue;
    status = choice.value;
    return true;
  }
  return false;
}

// The entry of a map for this key, made from that of a map that is no longer needed where it has one.
template <class T>
T& entry_of(const std::string& key, std::map<std::string, T>& entries, std::map<std::string, T>& unneeded) {
  auto node = unneeded.extract(key);
  return node ? entries.insert(std::move(node)).position->second : entries[key];
}

bool read(std::string_view element, std::vector<std::string>& texts) {
  texts.clear();
  if (is_null(element)) return true;
  if (element.empty() || element.front() != '[') return false;
  Elements elements(element);
  for (std::string_view next = elements.next(); !next.empty(); next = elements.next()) {
    if (!read(next, texts.emplace_back())) return false;
  }
  return true;
}

bool read(std::string_view element, std::map<std::string, double>& numbers) {
  std::map<std::string, double> before;
  before.swap(numbers);
  if (is_null(element)) return true;
  if (element.empty() || element.front() != '{') return false;
  Elements members(element);
  std::string key;
  for (std::string_view name = members.next(); !name.empty(); name = members.next()) {
    if (!read(name, key) || !read(members.next(), entry_of(key, numbers, before))) return false;
  }
  return true;
}

bool read(std::string_view element, std::vector<PhaseShare>& phases) {
  phases.clear();
  if (is_null(element)) return true;
  if (element.empty() || element.front() != '[') return false;
  Elements objects(element);
  for (std::string_view object = objects.next(); !object.empty(); object = objects.next()) {
    if (object.front() != '{') return false;
    PhaseShare& phase = phases.emplace_back();
    Elements members(object);
    for (std::string_view name = members.next(); !name.empty(); name = members.next()) {
      const std::string_view value = members.next();
      const bool ok = name == "\"phase\""     ? read(value, phase.phase)
                      : name == "\"seconds\"" ? read(value, phase.seconds)
                      : name == "\"share\""   ? read(value, phase.share)
                                              : true;
      if (!ok) return false;
    }
  }
  return true;
}

// Read from more than the time of the pass and what Extent::kRow has beside it.
constexpr std::array<std::string_view, 6> kMetricsOfListing{"forward_time", "backward_time", "optimizer_time",
                                                            "residue",      "setup_time",    "transient_excess"};
// Read from fields that are not listed.
constexpr std::array<std::string_view, 10> kMetricsOfWholeRecords{"total",
                                                                  "mad",
                                                                  "p10",
                                                                  "p90",
                                                                  "loss_scale_last",
                                                                  "skipped_steps",
                                                                  "host_time",
                                                                  "host_difference",
                                                                  "requested_memory",
                                                                  "reserved_memory"};

// Paths in the order of the array `fields`.
std::vector<std::string> listed_paths() {
  std::vector<std::string> paths;
  const auto add = [&](const char* path, auto, const auto&) { paths.emplace_back(path); };
  const Record record;
  listed_fields::visit_names(record, add);
  for (const char* const path : {"config.model", "config.pass", "loss.values[0]", "loss.values[#-1]"})
    paths.emplace_back(path);
  listed_fields::visit_fields(record, add);
  const TimeStats time;
  for (const char* const phase : listed_fields::kPhases) {
    listed_fields::visit_figures(
        time, [&](const char* name, const auto&) { paths.push_back(fmt::format("time.{}.{}", phase, name)); });
  }
  paths.emplace_back("config");
  return paths;
}

// The least extent of a listed field; none for another path.
std::optional<Extent> extent_of_field(std::string_view path) {
  std::optional<Extent> extent;
  const auto compare = [&](const char* own, auto own_extent, const auto&) {
    if (own == path) extent = own_extent();
  };
  const Record record;
  listed_fields::visit_names(record, compare);
  listed_fields::visit_fields(record, compare);
  return extent;
}

bool read(std::string_view element, Json& value) {
  int64_t integer = 0;
  double number = 0;
  if (!element.empty() && element.front() == '"') {
    if (!value.is_string()) value = std::string();
    return read(element, value.get_ref<std::string&>());
  }
  if (is_null(element)) {
    value = nullptr;
  } else if (element == "true" || element == "false") {
    value = element == "true";
  } else if (read_number(element, integer)) {
    value = integer;
  } else if (read_number(element, number)) {
    value = number;
  } else {
    value = Json::parse(element, nullptr, /*allow_exceptions=*/false);
  }
  return !value.is_discarded();
}

// Reads a word of the configuration; an empty one is null.
bool read_config_word(std::string_view element, const char* key, JsonObject& config) {
  Json& word = config.json()[key];
  if (is_null(element) || element == "\"\"") {
    word = nullptr;
    return true;
  }
  return !element.empty() && element.front() == '"' && read(element, word);
}

// From the whole configuration its device alone.
bool read_device(std::string_view whole, JsonObject& config) {
  Elements members(whole);
  for (std::string_view name = members.next_field(); !name.empty(); name = members.next_field()) {
    const std::string_view value = members.next_field();
    if (name.substr(1, name.size() - 2) == listed_fields::kDeviceKey)
      return read_config_word(value, listed_fields::kDeviceKey, config);
  }
  return read_config_word("null", listed_fields::kDeviceKey, config);
}

bool read_config(std::string_view element, JsonObject& config) {
  auto& object = config.json().get_ref<Json::object_t&>();
  object.reserve(64);
  Elements members(element);
  std::string key;
  size_t count = 0;
  for (std::string_view name = members.next(); !name.empty(); name = members.next(), ++count) {
    if (!read(name, key)) return false;
    if (count == object.size() || object.data()[count].first != key) {
      // The configuration of the record before has other keys from here on.
      while (object.size() > count) object.pop_back();
      // Appended as to a list: a search for the key would compare it with all that come before it.
      object.push_back({key, Json()});
    }
    if (!read(members.next(), object.data()[count].second)) return false;
  }
  while (object.size() > count) object.pop_back();
  return true;
}

bool read_losses(Elements& elements, int64_t count, std::vector<double>& losses) {
  double first = 0;
  double last = 0;
  if (!read(elements.next_field(), first) || !read(elements.next_field(), last)) return false;
  losses.clear();
  if (count >= 1) losses.push_back(first);
  if (count >= 2) losses.push_back(last);
  return true;
}

// Reads the time of one phase, or of all if `only` has no value. `count` is how many the record has.
bool read_times(Elements& elements, int64_t count, const std::optional<std::string>& only,
                std::map<std::string, TimeStats>& times) {
  std::map<std::string, TimeStats> before;  // what is not listed of a time has its default there, too
  before.swap(times);
  int64_t found = 0;
  bool ok = true;
  for (const char* const phase : listed_fields::kPhases) {
    const std::string_view first = elements.next_field();
    if (!is_null(first)) ++found;
    if (is_null(first) || (only && *only != phase)) {
      elements.skip_fields(listed_fields::kFigureCount - 1);
      continue;
    }
    bool is_first = true;
    listed_fields::visit_figures(entry_of(phase, times, before), [&](const char*, auto& figure) {
      ok = read(is_first ? first : elements.next_field(), figure) && ok;
      is_first = false;
    });
  }
  return ok && found == count;
}

bool read_names(Elements& elements, Record& record) {
  bool ok = true;
  listed_fields::visit_names(record,
                             [&](const char*, auto, auto& field) { ok = ok && read(elements.next_field(), field); });
  return ok && !record.name.empty() && record.schema_version >= 1 && record.schema_version <= Record::kSchemaVersion;
}

bool read_fields(Elements& elements, Extent extent, Record& record) {
  bool ok = true;
  bool ends = false;
  listed_fields::visit_fields(record, [&](const char*, auto own, auto& field) {
    if (!ok || ends) return;
    const std::string_view element = elements.next_field();
    if (own() <= extent) ok = read(element, field);
    // Most rows are read for their names alone, which are the first elements.
    ends = extent == Extent::kNames && own() == Extent::kNames;
  });
  return ok;
}

}  // namespace

Extent extent_of(std::string_view column) {
  if (find_metric(column) != nullptr) {
    const auto is_among = [&](const auto& tags) { return std::find(tags.begin(), tags.end(), column) != tags.end(); };
    if (is_among(kMetricsOfWholeRecords)) return Extent::kWhole;
    return is_among(kMetricsOfListing) ? Extent::kListed : Extent::kRow;
  }
  if (column == "config.model" || column == "config.pass") return Extent::kNames;
  if (column == fmt::format("config.{}", listed_fields::kDeviceKey)) return Extent::kRow;
  if (column.starts_with("config.")) return Extent::kWithConfig;
  const std::optional<Extent> of_field = extent_of_field(column);
  if (of_field && column != "phases" && column != "verdict.reasons") return *of_field;
  const std::vector<std::string> paths = listed_paths();
  const auto found = std::find(paths.begin(), paths.end(), column);
  const bool is_time = found != paths.end() && column.starts_with("time.");
  return is_time ? Extent::kListed : Extent::kWhole;
}

std::string listing_columns() { return "losses INTEGER, times INTEGER, fields TEXT"; }

std::string listing_values(std::string_view json) {
  std::string values = fmt::format(
      "json_array_length({0}, '$.loss.values'), (SELECT count(*) FROM json_each({0}, '$.time')), json_extract({0}",
      json);
  for (const std::string& path : listed_paths()) values += fmt::format(", '$.{}'", path);
  return values + ")";
}

bool read_listed(const ListedRow& row, Extent extent, Record& record) {
  Elements elements(row.fields);
  if (!read_names(elements, record)) return false;
  const std::string_view model = elements.next_field();
  const std::string_view pass = elements.next_field();
  if (extent < Extent::kWithConfig &&
      !(read_config_word(model, "model", record.config) && read_config_word(pass, "pass", record.config))) {
    return false;
  }
  if (!read_losses(elements, row.losses, record.loss.values)) return false;
  if (!read_fields(elements, extent, record)) return false;
  if (extent == Extent::kNames) return true;
  // A record with a single time shows it whatever its name is (Record::main_time).
  std::optional<std::string> only;
  if (extent == Extent::kRow && row.times > 1 && !read(pass, only.emplace())) return false;
  if (!read_times(elements, row.times, only, record.time)) return false;
  const std::string_view config = elements.rest();
  if (config.empty() || config.front() != '{') return false;
  return extent < Extent::kWithConfig ? read_device(config, record.config) : read_config(config, record.config);
}

}  // namespace laptime
