// The table of listed fields, and a reader of their flat JSON that makes no tree of it.
#include "record/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "record/metrics.h"

namespace laptime {
namespace {

// Iterates over the elements of a JSON array, or over the names and values of a JSON object, as text. On malformed JSON
// the iteration ends early, or yields an element that no reader accepts.
class Elements {
 public:
  explicit Elements(std::string_view text) : rest_(text) {
    if (!rest_.empty() && (rest_.front() == '[' || rest_.front() == '{')) rest_.remove_prefix(1);
  }

  // Empty after the last one. Of a member first its name, then its value.
  std::string_view next() {
    while (!rest_.empty() && (rest_.front() == ',' || rest_.front() == ':' || rest_.front() == ' '))
      rest_.remove_prefix(1);
    const size_t end = end_of_element();
    const std::string_view element = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return element;
  }

 private:
  size_t end_of_element() const {
    size_t depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < rest_.size(); ++i) {
      const char c = rest_[i];
      if (quoted) {
        if (c == '\\') ++i;
        if (c == '"') quoted = false;
        continue;
      }
      if (c == '"') quoted = true;
      if (depth == 0 && (c == ',' || c == ':' || c == ']' || c == '}')) return i;
      if (c == '[' || c == '{') ++depth;
      if (c == ']' || c == '}') --depth;
    }
    return rest_.size();
  }

  std::string_view rest_;
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

struct ListedField {
  std::string_view path;
  bool (*read)(std::string_view element, Record& record);
};

// Reads a field of a record, or of a struct in it.
template <auto... Members>
bool field(std::string_view element, Record& record) {
  return read(element, (record.*....*Members));
}

// They come first, so that whoever needs no more reads a few bytes of a row.
constexpr std::array kNames{
    ListedField{"schema_version", field<&Record::schema_version>},
    ListedField{"name", field<&Record::name>},
    ListedField{"label", field<&Record::label>},
    ListedField{"status", field<&Record::status>},
    ListedField{"verdict.rating", field<&Record::verdict, &Verdict::rating>},
};

constexpr std::array kFields{
    ListedField{"reason", field<&Record::reason>},
    ListedField{"bytes_requested", field<&Record::bytes_requested>},
    ListedField{"bytes_available", field<&Record::bytes_available>},
    ListedField{"op", field<&Record::op>},
    ListedField{"scope", field<&Record::scope>},
    ListedField{"math_mode", field<&Record::math_mode>},
    ListedField{"phases", field<&Record::phases>},
    ListedField{"tokens_per_second", field<&Record::tokens_per_second>},
    ListedField{"flops.model_flops_per_second", field<&Record::flops, &FlopsUse::model_flops_per_second>},
    ListedField{"flops.mfu_measured", field<&Record::flops, &FlopsUse::mfu_measured>},
    ListedField{"flops.mfu_datasheet", field<&Record::flops, &FlopsUse::mfu_datasheet>},
    ListedField{"memory.predicted_peak_bytes", field<&Record::memory, &MemoryUse::predicted_peak_bytes>},
    ListedField{"memory.peak_bytes", field<&Record::memory, &MemoryUse::peak_bytes>},
    ListedField{"memory.peak_rss_bytes", field<&Record::memory, &MemoryUse::peak_rss_bytes>},
    ListedField{"memory.resident_bytes", field<&Record::memory, &MemoryUse::resident_bytes>},
    ListedField{"memory.after_forward_bytes", field<&Record::memory, &MemoryUse::after_forward_bytes>},
    ListedField{"memory.after_backward_bytes", field<&Record::memory, &MemoryUse::after_backward_bytes>},
    ListedField{"setup.plan", field<&Record::setup, &SetupTimes::plan>},
    ListedField{"setup.kernel_trial", field<&Record::setup, &SetupTimes::kernel_trial>},
    ListedField{"setup.memory", field<&Record::setup, &SetupTimes::memory>},
    ListedField{"setup.weights", field<&Record::setup, &SetupTimes::weights>},
    ListedField{"setup.data", field<&Record::setup, &SetupTimes::data>},
    ListedField{"setup.total", field<&Record::setup, &SetupTimes::total>},
    ListedField{"transient.excess", field<&Record::transient, &Transient::excess>},
    ListedField{"transient.page_faults", field<&Record::transient, &Transient::page_faults>},
    ListedField{"flops.above_peak", field<&Record::flops, &FlopsUse::above_peak>},
    ListedField{"transient.rest", field<&Record::transient, &Transient::rest>},
    ListedField{"stopping.rule", field<&Record::stopping, &Stopping::rule>},
    ListedField{"stopping.steps_per_sample", field<&Record::stopping, &Stopping::steps_per_sample>},
    ListedField{"verdict.reasons", field<&Record::verdict, &Verdict::reasons>},
    ListedField{"fingerprint", field<&Record::fingerprint>},
    ListedField{"binary.commit", field<&Record::binary, &Binary::commit>},
    ListedField{"sweep", field<&Record::sweep>},
    ListedField{"run", field<&Record::run>},
    ListedField{"created", field<&Record::created>},
};

constexpr std::array<const char*, 6> kPhases{"forward", "backward",         "optimizer",
                                             "step",    "forward_backward", "inference"};

struct ListedFigure {
  std::string_view key;
  bool (*read)(std::string_view element, TimeStats& time);
};

template <auto Member>
bool figure(std::string_view element, TimeStats& time) {
  return read(element, time.*Member);
}

constexpr std::array kFigures{
    ListedFigure{"mean", figure<&TimeStats::mean>}, ListedFigure{"median", figure<&TimeStats::median>},
    ListedFigure{"std", figure<&TimeStats::std>},   ListedFigure{"std_population", figure<&TimeStats::std_population>},
    ListedFigure{"min", figure<&TimeStats::min>},   ListedFigure{"max", figure<&TimeStats::max>}};

// Read from figures of a time that are not listed.
constexpr std::array<std::string_view, 6> kMetricsOfWholeRecords{"total", "mad", "p10", "p90", "ci_low", "ci_high"};

// Paths in the order of the array `fields`. The configuration is the longest, and few columns need more of it than the
// model and the pass.
std::vector<std::string> listed_paths() {
  std::vector<std::string> paths;
  for (const ListedField& listed : kNames) paths.emplace_back(listed.path);
  for (const char* const path : {"config.model", "config.pass", "loss.values[0]", "loss.values[#-1]"})
    paths.emplace_back(path);
  for (const ListedField& listed : kFields) paths.emplace_back(listed.path);
  for (const char* const phase : kPhases) {
    paths.push_back(fmt::format("time.{}.count", phase));
    for (const ListedFigure& listed : kFigures) paths.push_back(fmt::format("time.{}.{}", phase, listed.key));
  }
  paths.emplace_back("config");
  return paths;
}

bool read_model_and_pass(Elements& elements, JsonObject& config) {
  std::string model;
  std::string pass;
  if (!read(elements.next(), model) || !read(elements.next(), pass)) return false;
  config.json()["model"] = std::move(model);
  config.json()["pass"] = std::move(pass);
  return true;
}

bool read(std::string_view element, Json& value) {
  int64_t integer = 0;
  double number = 0;
  std::string text;
  if (!element.empty() && element.front() == '"') {
    if (!read(element, text)) return false;
    value = std::move(text);
  } else if (read_number(element, integer)) {
    value = integer;
  } else if (!is_null(element) && read_number(element, number)) {
    value = number;
  } else {
    value = Json::parse(element, nullptr, /*allow_exceptions=*/false);
  }
  return !value.is_discarded();
}

bool read_config(std::string_view element, JsonObject& config) {
  if (element.empty() || element.front() != '{') return false;
  config.json() = Json::object();
  Elements members(element);
  std::string key;
  for (std::string_view name = members.next(); !name.empty(); name = members.next()) {
    if (!read(name, key) || !read(members.next(), config.json()[key])) return false;
  }
  return true;
}

bool read_losses(Elements& elements, int64_t count, std::vector<double>& losses) {
  double first = 0;
  double last = 0;
  if (!read(elements.next(), first) || !read(elements.next(), last)) return false;
  losses.clear();
  if (count >= 1) losses.push_back(first);
  if (count >= 2) losses.push_back(last);
  return true;
}

bool read_times(Elements& elements, int64_t count, std::map<std::string, TimeStats>& times) {
  times.clear();
  for (const char* const phase : kPhases) {
    const std::string_view samples = elements.next();
    if (is_null(samples)) {
      for (size_t i = 0; i < kFigures.size(); ++i) elements.next();
      continue;
    }
    TimeStats& time = times[phase];
    if (!read(samples, time.count)) return false;
    for (const ListedFigure& listed : kFigures) {
      if (!listed.read(elements.next(), time)) return false;
    }
  }
  return static_cast<int64_t>(times.size()) == count;
}

}  // namespace

Extent extent_of(std::string_view column) {
  if (find_metric(column) != nullptr) {
    const bool is_whole =
        std::find(kMetricsOfWholeRecords.begin(), kMetricsOfWholeRecords.end(), column) != kMetricsOfWholeRecords.end();
    return is_whole ? Extent::kWhole : Extent::kListed;
  }
  const auto is_name = [&](const ListedField& listed) { return listed.path == column; };
  if (std::any_of(kNames.begin(), kNames.end(), is_name)) return Extent::kNames;
  if (column == "config.model" || column == "config.pass") return Extent::kListed;
  if (column.starts_with("config.")) return Extent::kWithConfig;
  const std::vector<std::string> paths = listed_paths();
  const auto found = std::find(paths.begin(), paths.end(), column);
  const bool is_listed =
      found != paths.end() && column != "config" && column != "phases" && column != "verdict.reasons";
  return is_listed ? Extent::kListed : Extent::kWhole;
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
  record = Record();
  bool ok = true;
  for (const ListedField& listed : kNames) ok = ok && listed.read(elements.next(), record);
  ok = ok && !record.name.empty() && record.schema_version >= 1 && record.schema_version <= Record::kSchemaVersion;
  if (!ok || extent == Extent::kNames) return ok;
  ok = read_model_and_pass(elements, record.config) && read_losses(elements, row.losses, record.loss.values);
  for (const ListedField& listed : kFields) ok = ok && listed.read(elements.next(), record);
  ok = ok && read_times(elements, row.times, record.time);
  return ok && (extent == Extent::kListed || read_config(elements.next(), record.config));
}

}  // namespace laptime
