// The tables of the program and of the source documents, column by column.
#include "report/columns.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "base/words.h"

namespace laptime {
namespace {

// The time of a phase, or of the pass that was asked for; null where there is none.
const TimeStats* time_of(const Record& record, std::string_view phase) {
  if (phase.empty()) return record.main_time();
  const auto found = record.time.find(std::string(phase));
  return found == record.time.end() ? nullptr : &found->second;
}

Json json_of(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

using Read = std::function<Json(const Row&, std::string_view)>;

// Reads from the time of the phase; null where there is no sample.
template <class Function>
Read from_time(Function function) {
  return [function](const Row& row, std::string_view phase) -> Json {
    const TimeStats* time = time_of(row.record(), phase);
    return time != nullptr && time->count > 0 ? function(*time) : Json(nullptr);
  };
}

Read mean_of_time() {
  return from_time([](const TimeStats& time) { return Json(time.mean); });
}
Read std_of_time() {
  return from_time([](const TimeStats& time) { return json_of(time.std_population); });
}

// A figure of the phase of this name, whatever pass was asked for.
Read from_phase(std::string_view phase, std::optional<double> (*figure)(const TimeStats&)) {
  return [phase, figure](const Row& row, std::string_view) -> Json {
    const TimeStats* time = time_of(row.record(), phase);
    return time != nullptr && time->count > 0 ? json_of(figure(*time)) : Json(nullptr);
  };
}

std::optional<double> mean(const TimeStats& time) { return time.mean; }
std::optional<double> median(const TimeStats& time) { return time.median; }
std::optional<double> std_of_sample(const TimeStats& time) { return time.std; }

Read named(std::string_view column) {
  return [name = std::string(column)](const Row& row, std::string_view) { return row.value(name); };
}

Read first_known(std::string_view column, std::string_view otherwise) {
  return [first = std::string(column), second = std::string(otherwise)](const Row& row, std::string_view) {
    const Json value = row.value(first);
    return value.is_null() ? row.value(second) : value;
  };
}

Read whether(bool (*holds)(const Record&)) {
  return [holds](const Row& row, std::string_view) -> Json { return holds(row.record()) ? "True" : "False"; };
}

bool is_forward_only(const Record& record) {
  const std::string pass = record.config.text("pass");
  return pass == "forward" || pass == "inference";
}
bool is_compiled(const Record& record) { return record.config.text("mode") == "compile"; }
bool profiles_memory(const Record& record) { return record.config.text("profile_memory") == "true"; }

Json label_or_name(const Row& row, std::string_view) {
  return row.record().label.empty() ? row.record().name : row.record().label;
}

// "compile", and what of it was lowered: "compile -scaled_dot_product_attention".
Json mode_and_lowered(const Row& row, std::string_view) {
  const std::string lowered = row.record().config.text("lower");
  const bool none = lowered.empty() || lowered == "none";
  return row.record().config.text("mode") + (none ? "" : " -" + lowered);
}

// What was asked for, or what the stopping rule came to.
Json warmup_of(const Row& row, std::string_view) {
  const auto& taken = row.record().stopping.warmup;
  return taken ? Json(*taken) : row.value("warmup");
}
Json steps_of(const Row& row, std::string_view) {
  const TimeStats* time = row.record().main_time();
  return time != nullptr ? Json(time->count) : row.value("steps");
}

Column words(std::string title, Read read, size_t width = 10) {
  return {.title = std::move(title), .text = true, .width = width, .read = std::move(read)};
}
Column figure(std::string title, Read read) { return {.title = std::move(title), .read = std::move(read)}; }

std::vector<Column> default_columns() {
  const auto mean_and_std = [](const TimeStats& time) {
    return Json(format_seconds(time.mean) + (time.std ? " ± " + format_seconds(*time.std) : ""));
  };
  const auto min_and_max = [](const TimeStats& time) {
    return Json(format_seconds(time.min) + " .. " + format_seconds(time.max));
  };
  const auto first_and_last_loss = [](const Row& row, std::string_view) -> Json {
    const Json first = row.value("loss_first");
    Json last = row.value("loss_last");
    if (row.record().loss.values.size() < 2 || first == last) return last;
    return format_value(first, Unit::kNats) + " → " + format_value(last, Unit::kNats);
  };
  return {
      {.title = "name", .text = true, .width = 24, .read = label_or_name},
      {.title = "status", .text = true, .then_reason = true, .drop = 1, .width = 6, .read = named("status")},
      {.title = "median",
       .unit = Unit::kSeconds,
       .of_phase = true,
       .width = 8,
       .read = from_time([](const TimeStats& time) { return Json(time.median); })},
      {.title = "mean ± std", .of_phase = true, .drop = 2, .width = 19, .read = from_time(mean_and_std)},
      {.title = "min .. max", .of_phase = true, .drop = 6, .width = 20, .read = from_time(min_and_max)},
      {.title = "n", .of_phase = true, .drop = 5, .width = 3, .read = from_time([](const TimeStats& time) {
                                                                return Json(time.count);
                                                              })},
      {.title = "tokens/s", .unit = Unit::kTokensPerSecond, .drop = 3, .width = 8, .read = named("tokens_per_second")},
      {.title = "peak",
       .unit = Unit::kBytes,
       .drop = 3,
       .width = 9,
       .read = first_known("peak_memory", "predicted_peak_memory")},
      {.title = "mfu",
       .unit = Unit::kFraction,
       .drop = 4,
       .width = 6,
       .read = first_known("mfu_measured", "mfu_datasheet")},
      {.title = "loss", .unit = Unit::kNats, .drop = 7, .width = 15, .read = first_and_last_loss},
      {.title = "verdict", .text = true, .drop = 5, .width = 8, .read = named("verdict")},
  };
}

std::vector<Column> columns_2024() {
  return {words("name", label_or_name, 40),
          words("computation", named("pass"), 16),
          words("times", from_time([](const TimeStats& time) { return Json(time.samples); })),
          figure("mean_time", mean_of_time()),
          figure("median_time", from_time([](const TimeStats& time) { return Json(time.median); })),
          figure("std_dev", std_of_time()),
          figure("min_time", from_time([](const TimeStats& time) { return Json(time.min); })),
          figure("max_time", from_time([](const TimeStats& time) { return Json(time.max); })),
          figure("total_time", from_time([](const TimeStats& time) { return Json(time.total); })),
          figure("profile_steps", steps_of)};
}

std::vector<Column> columns_2025_ab() {
  return {words("model", named("model")),    words("forward_only", whether(is_forward_only)),
          figure("warmup_steps", warmup_of), figure("benchmark_steps", steps_of),
          figure("avg", mean_of_time()),     figure("std", std_of_time())};
}

std::vector<Column> columns_2025_c() {
  return {words("Model", named("model")),
          words("Pass", named("pass"), 16),
          figure("Warmup", warmup_of),
          figure("Min (s)", from_time([](const TimeStats& time) { return Json(time.min); })),
          figure("Max (s)", from_time([](const TimeStats& time) { return Json(time.max); })),
          figure("Avg (s)", mean_of_time()),
          figure("Std (s)", std_of_time())};
}

// What the tables of that document have in common: the two phases and the whole of each sample.
std::vector<Column> times_2025_d() {
  return {figure("fwd avg (sec)", from_phase("forward", mean)),
          figure("fwd std (sec)", from_phase("forward", std_of_sample)),
          figure("back avg (sec)", from_phase("backward", mean)),
          figure("back std (sec)", from_phase("backward", std_of_sample)),
          figure("fws & back avg (sec)", from_phase("forward_backward", mean)),
          figure("fws & back std (sec)", from_phase("forward_backward", std_of_sample))};
}

std::vector<Column> conditions_2025_d() {
  return {words("status", named("status"), 13), words("dtype", named("dtype")), words("device", named("device")),
          figure("batch_size", named("batch")), words("compile", whether(is_compiled))};
}

std::vector<Column> joined(std::initializer_list<std::vector<Column>> groups) {
  std::vector<Column> columns;
  for (const std::vector<Column>& group : groups) columns.insert(columns.end(), group.begin(), group.end());
  return columns;
}

std::vector<Column> columns_2025_d() {
  return joined({{words("model", named("model")), figure("context_length", named("context"))},
                 times_2025_d(),
                 conditions_2025_d(),
                 {words("profile_memory", whether(profiles_memory))}});
}

std::vector<Column> columns_2025_d_attention() {
  return joined({{figure("context_length", named("context")), figure("d_model", named("config.d_model"))},
                 times_2025_d(),
                 {figure("model mem", named("memory.resident_bytes")),
                  figure("model+fwd mem", named("memory.after_forward_bytes")),
                  figure("model+fwd+back mem", named("memory.after_backward_bytes")),
                  figure("fwd mem", named("forward_memory")), figure("back mem", named("backward_memory"))},
                 conditions_2025_d()});
}

// Attention alone, for people: the median of each phase, the bytes of weights, inputs and mask, and what each phase
// adds.
std::vector<Column> columns_attention() {
  const auto median_of = [](std::string title, std::string_view phase) {
    return Column{.title = std::move(title), .unit = Unit::kSeconds, .width = 9, .read = from_phase(phase, median)};
  };
  const auto bytes_of = [](std::string title, std::string_view column, int drop) {
    return Column{.title = std::move(title), .unit = Unit::kBytes, .drop = drop, .width = 10, .read = named(column)};
  };
  return {{.title = "context", .width = 7, .read = named("context")},
          {.title = "d_model", .width = 7, .read = named("config.d_model")},
          {.title = "dtype", .text = true, .drop = 2, .width = 8, .read = named("dtype")},
          {.title = "mode", .text = true, .width = 7, .read = mode_and_lowered},
          {.title = "status", .text = true, .then_reason = true, .width = 6, .read = named("status")},
          median_of("forward", "forward"),
          median_of("backward", "backward"),
          bytes_of("model", "resident_memory", 4),
          bytes_of("+ forward", "forward_memory", 3),
          bytes_of("+ backward", "backward_memory", 5),
          {.title = "peak",
           .unit = Unit::kBytes,
           .drop = 1,
           .width = 9,
           .read = first_known("peak_memory", "predicted_peak_memory")},
          {.title = "verdict", .text = true, .drop = 6, .width = 8, .read = named("verdict")}};
}

using Preset = std::pair<std::string_view, std::vector<Column> (*)()>;
constexpr std::array kPresets{Preset{"default", default_columns},
                              Preset{"2024", columns_2024},
                              Preset{"2025a", columns_2025_ab},
                              Preset{"2025b", columns_2025_ab},
                              Preset{"2025c", columns_2025_c},
                              Preset{"2025d", columns_2025_d},
                              Preset{"2025d_attention", columns_2025_d_attention},
                              Preset{"attention", columns_attention}};
constexpr auto kPresetNames = [] {
  std::array<std::string_view, kPresets.size()> names;
  for (size_t i = 0; i < names.size(); ++i) names[i] = kPresets[i].first;
  return names;
}();
constexpr std::string_view kSpeedup = "speedup";
constexpr std::string_view kGain = "gain";
constexpr size_t kMaxColumns = 200;

using Ratio = std::optional<double> (Baselines::*)(const Record&, std::string_view) const;

Column ratio_column(const char* title, const Baselines& baselines, Ratio ratio) {
  return {.title = title,
          .unit = Unit::kRatio,
          .of_phase = true,
          .drop = 1,
          .width = 8,
          .read = [&baselines, ratio](const Row& row, std::string_view phase) {
            return json_of((baselines.*ratio)(row.record(), phase));
          }};
}

Column column_by_name(std::string_view name, std::span<const Row> rows) {
  std::vector<std::string_view> others(kPresetNames.begin(), kPresetNames.end());
  others.push_back(kSpeedup);
  others.push_back(kGain);
  check_column(name, rows, "columns", others);
  bool text = false;
  for (const Row& row : rows) text = text || row.value(name).is_string();
  return {.title = std::string(name), .unit = unit_of(name), .text = text, .width = 12, .read = named(name)};
}

}  // namespace

std::span<const std::string_view> column_presets() { return kPresetNames; }

std::vector<Column> columns_of(std::string_view list, const Baselines& baselines, std::span<const Row> rows) {
  std::vector<Column> columns;
  while (true) {
    const size_t comma = list.find(',');
    const std::string_view name = list.substr(0, comma);
    const auto* const preset =
        std::find_if(kPresets.begin(), kPresets.end(), [&](const Preset& entry) { return entry.first == name; });
    if (preset != kPresets.end()) {
      for (Column& column : preset->second()) columns.push_back(std::move(column));
    } else if (name == kSpeedup) {
      columns.push_back(ratio_column("speed-up", baselines, &Baselines::speedup));
    } else if (name == kGain) {
      columns.push_back(ratio_column("gain", baselines, &Baselines::gain));
    } else {
      columns.push_back(column_by_name(name, rows));
    }
    if (columns.size() > kMaxColumns) throw Error::format("columns: more than the limit of {}", kMaxColumns);
    if (comma == std::string_view::npos) return columns;
    list.remove_prefix(comma + 1);
  }
}

std::string reason_of(const Record& record) {
  if (record.status == Status::kOk) return "";
  std::string reason = record.reason.empty() ? "no reason stated" : record.reason;
  const bool has_arithmetic = reason.find("iB") != std::string::npos;
  if (record.bytes_requested && !has_arithmetic) reason += "; asked for " + format_bytes(*record.bytes_requested);
  if (record.bytes_available && !has_arithmetic) reason += "; available " + format_bytes(*record.bytes_available);
  if (!record.op.empty()) reason += fmt::format("; op {}", record.op);
  if (!record.scope.empty()) reason += fmt::format("; at {}", record.scope);
  return reason;
}

}  // namespace laptime
