// The table of listed fields, and a reader of their flat JSON that makes no tree of it.
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
#include <span>
#include <vector>

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
    while (at_ != end_ && (*at_ == ',' || *at_ == ':' || *at_ == ' ')) ++at_;
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

 private:
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
  numbers.clear();
  if (is_null(element)) return true;
  if (element.empty() || element.front() != '{') return false;
  Elements members(element);
  std::string key;
  for (std::string_view name = members.next(); !name.empty(); name = members.next()) {
    if (!read(name, key) || !read(members.next(), numbers[key])) return false;
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
  Extent extent = Extent::kListed;  // the least that has the field
};

// Reads a field of a record, or of a struct in it.
template <auto... Members>
bool field(std::string_view element, Record& record) {
  return read(element, (record.*....*Members));
}

// They come first, so that whoever needs no more reads a few bytes of a row.
constexpr std::array kNames{
    ListedField{"schema_version", field<&Record::schema_version>, Extent::kNames},
    ListedField{"name", field<&Record::name>, Extent::kNames},
    ListedField{"label", field<&Record::label>, Extent::kNames},
    ListedField{"status", field<&Record::status>, Extent::kNames},
    ListedField{"verdict.rating", field<&Record::verdict, &Verdict::rating>, Extent::kNames},
};

constexpr std::array kFields{
    ListedField{"reason", field<&Record::reason>, Extent::kRow},
    ListedField{"bytes_requested", field<&Record::bytes_requested>, Extent::kRow},
    ListedField{"bytes_available", field<&Record::bytes_available>, Extent::kRow},
    ListedField{"op", field<&Record::op>, Extent::kRow},
    ListedField{"scope", field<&Record::scope>, Extent::kRow},
    ListedField{"math_mode", field<&Record::math_mode>, Extent::kNames},
    ListedField{"phases", field<&Record::phases>},
    ListedField{"tokens_per_second", field<&Record::tokens_per_second>, Extent::kRow},
    ListedField{"flops.model_flops_per_second", field<&Record::flops, &FlopsUse::model_flops_per_second>, Extent::kRow},
    ListedField{"flops.mfu_measured", field<&Record::flops, &FlopsUse::mfu_measured>, Extent::kRow},
    ListedField{"flops.mfu_datasheet", field<&Record::flops, &FlopsUse::mfu_datasheet>, Extent::kRow},
    ListedField{"memory.predicted_peak_bytes", field<&Record::memory, &MemoryUse::predicted_peak_bytes>, Extent::kRow},
    ListedField{"memory.peak_bytes", field<&Record::memory, &MemoryUse::peak_bytes>, Extent::kRow},
    ListedField{"memory.peak_rss_bytes", field<&Record::memory, &MemoryUse::peak_rss_bytes>, Extent::kRow},
    ListedField{"memory.resident_bytes", field<&Record::memory, &MemoryUse::resident_bytes>, Extent::kRow},
    ListedField{"memory.after_forward_bytes", field<&Record::memory, &MemoryUse::after_forward_bytes>, Extent::kRow},
    ListedField{"memory.after_backward_bytes", field<&Record::memory, &MemoryUse::after_backward_bytes>, Extent::kRow},
    ListedField{"prediction.time", field<&Record::prediction, &Prediction::time>, Extent::kRow},
    ListedField{"setup.plan", field<&Record::setup, &SetupTimes::plan>},
    ListedField{"setup.kernel_trial", field<&Record::setup, &SetupTimes::kernel_trial>},
    ListedField{"setup.memory", field<&Record::setup, &SetupTimes::memory>},
    ListedField{"setup.weights", field<&Record::setup, &SetupTimes::weights>},
    ListedField{"setup.data", field<&Record::setup, &SetupTimes::data>},
    ListedField{"setup.total", field<&Record::setup, &SetupTimes::total>},
    ListedField{"transient.excess", field<&Record::transient, &Transient::excess>},
    ListedField{"transient.page_faults", field<&Record::transient, &Transient::page_faults>},
    ListedField{"flops.above_peak", field<&Record::flops, &FlopsUse::above_peak>, Extent::kRow},
    ListedField{"transient.rest", field<&Record::transient, &Transient::rest>},
    ListedField{"stopping.rule", field<&Record::stopping, &Stopping::rule>},
    ListedField{"stopping.steps_per_sample", field<&Record::stopping, &Stopping::steps_per_sample>},
    ListedField{"verdict.reasons", field<&Record::verdict, &Verdict::reasons>},
    ListedField{"fingerprint", field<&Record::fingerprint>, Extent::kRow},
    ListedField{"binary.commit", field<&Record::binary, &Binary::commit>, Extent::kRow},
    ListedField{"sweep", field<&Record::sweep>},
    ListedField{"run", field<&Record::run>, Extent::kRow},
    ListedField{"created", field<&Record::created>, Extent::kRow},
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

constexpr std::array kFigures{ListedFigure{"mean", figure<&TimeStats::mean>},
                              ListedFigure{"median", figure<&TimeStats::median>},
                              ListedFigure{"std", figure<&TimeStats::std>},
                              ListedFigure{"std_population", figure<&TimeStats::std_population>},
                              ListedFigure{"min", figure<&TimeStats::min>},
                              ListedFigure{"max", figure<&TimeStats::max>},
                              ListedFigure{"ci_low", figure<&TimeStats::ci_low>},
                              ListedFigure{"ci_high", figure<&TimeStats::ci_high>}};

// Read from more than the time of the pass and what Extent::kRow has beside it.
constexpr std::array<std::string_view, 6> kMetricsOfListing{"forward_time", "backward_time", "optimizer_time",
                                                            "residue",      "setup_time",    "transient_excess"};
// Read from fields that are not listed.
constexpr std::array<std::string_view, 6> kMetricsOfWholeRecords{"total",           "mad",          "p10", "p90",
                                                                 "loss_scale_last", "skipped_steps"};

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

bool read_model_and_pass(Elements& elements, JsonObject& config, std::string& pass) {
  std::string model;
  if (!read(elements.next(), model) || !read(elements.next(), pass)) return false;
  config.json()["model"] = std::move(model);
  config.json()["pass"] = pass;
  return true;
}

bool read(std::string_view element, Json& value) {
  int64_t integer = 0;
  double number = 0;
  std::string text;
  if (!element.empty() && element.front() == '"') {
    if (!read(element, text)) return false;
    value = std::move(text);
  } else if (is_null(element)) {
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

bool read_config(std::string_view element, JsonObject& config) {
  if (element.empty() || element.front() != '{') return false;
  config.json() = Json::object();
  auto& object = config.json().get_ref<Json::object_t&>();
  object.reserve(64);
  Elements members(element);
  std::string key;
  for (std::string_view name = members.next(); !name.empty(); name = members.next()) {
    if (!read(name, key)) return false;
    // Appended as to a list: a search for the key would compare it with all that come before it.
    object.push_back({key, Json()});
    if (!read(members.next(), object.back().second)) return false;
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

// Reads the time of one phase, or of all if `only` is empty. `count` is how many the record has.
bool read_times(Elements& elements, int64_t count, std::string_view only, std::map<std::string, TimeStats>& times) {
  int64_t found = 0;
  for (const char* const phase : kPhases) {
    const std::string_view samples = elements.next();
    if (!is_null(samples)) ++found;
    if (is_null(samples) || !(only.empty() || only == phase)) {
      for (size_t i = 0; i < kFigures.size(); ++i) elements.next();
      continue;
    }
    TimeStats& time = times[phase];
    if (!read(samples, time.count)) return false;
    for (const ListedFigure& listed : kFigures) {
      if (!listed.read(elements.next(), time)) return false;
    }
  }
  return found == count;
}

bool read_fields(Elements& elements, Extent extent, Record& record) {
  for (const ListedField& listed : kFields) {
    const std::string_view element = elements.next();
    if (listed.extent <= extent && !listed.read(element, record)) return false;
    // Most rows are read for their names alone, which are the first elements.
    if (extent == Extent::kNames && listed.extent == Extent::kNames) break;
  }
  return true;
}

}  // namespace

Extent extent_of(std::string_view column) {
  if (find_metric(column) != nullptr) {
    const auto is_among = [&](const auto& tags) { return std::find(tags.begin(), tags.end(), column) != tags.end(); };
    if (is_among(kMetricsOfWholeRecords)) return Extent::kWhole;
    return is_among(kMetricsOfListing) ? Extent::kListed : Extent::kRow;
  }
  if (column == "config.model" || column == "config.pass") return Extent::kNames;
  if (column.starts_with("config.")) return Extent::kWithConfig;
  for (const std::span<const ListedField> fields :
       {std::span<const ListedField>(kNames), std::span<const ListedField>(kFields)}) {
    const auto found =
        std::find_if(fields.begin(), fields.end(), [&](const ListedField& field) { return field.path == column; });
    if (found != fields.end() && column != "phases" && column != "verdict.reasons") return found->extent;
  }
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
  record = Record();
  for (const ListedField& listed : kNames) {
    if (!listed.read(elements.next(), record)) return false;
  }
  if (record.name.empty() || record.schema_version < 1 || record.schema_version > Record::kSchemaVersion) return false;
  std::string pass;
  if (!read_model_and_pass(elements, record.config, pass)) return false;
  if (!read_losses(elements, row.losses, record.loss.values)) return false;
  if (!read_fields(elements, extent, record)) return false;
  if (extent == Extent::kNames) return true;
  // A record with a single time shows it whatever its name is (Record::main_time).
  const bool only_main_time = extent == Extent::kRow && row.times > 1;
  const bool has_times = read_times(elements, row.times, only_main_time ? pass : "", record.time);
  const std::string_view config = elements.next();
  if (!has_times || config.empty() || config.front() != '{') return false;
  return extent < Extent::kWithConfig || read_config(config, record.config);
}

}  // namespace laptime
