// The tables of the source documents of 2025.
#include "report/column_sets/column_sets.h"
#include "report/column_sets/readers.h"

namespace laptime {

using namespace cells;

namespace {

std::optional<double> mean(const TimeStats& time) { return time.mean; }
std::optional<double> std_of(const TimeStats& time) { return time.std; }

// Of the sample; a predicted time has none.
Read std_of_phase(std::string_view phase) {
  return [of_any = from_phase(phase, std_of)](const Row& row, std::string_view) -> Json {
    return is_predicted(row.record()) ? Json(nullptr) : of_any(row, "");
  };
}

bool is_forward_only(const Record& record) {
  const std::string pass = record.config.text("pass");
  return pass == "forward" || pass == "inference";
}
bool is_compiled(const Record& record) { return record.config.text("mode") == "compile"; }
// No run that is timed is slowed down by recording allocations: memory is known from the plan.
bool profiles_memory(const Record&) { return false; }

// Shared by the tables of that document: the two phases and the whole of each sample.
std::vector<Column> times_2025_d() {
  return {figure("fwd avg (sec)", from_phase("forward", mean)),
          of_sample(figure("fwd std (sec)", std_of_phase("forward"))),
          figure("back avg (sec)", from_phase("backward", mean)),
          figure("back std (sec)", std_of_phase("backward")),
          figure("fws & back avg (sec)", from_phase("forward_backward", mean)),
          figure("fws & back std (sec)", std_of_phase("forward_backward"))};
}

std::vector<Column> conditions_2025_d() {
  return {words("status", named("status"), 13), setting(words("dtype", named("dtype"))),
          setting(words("device", named("device"))), setting(figure("batch_size", named("batch"))),
          setting(words("compile", whether(is_compiled)))};
}

std::vector<Column> joined(std::initializer_list<std::vector<Column>> groups) {
  std::vector<Column> columns;
  for (const std::vector<Column>& group : groups) columns.insert(columns.end(), group.begin(), group.end());
  return columns;
}

}  // namespace

std::vector<Column> columns_2025_ab() {
  return {setting(words("model", named("model"))),
          setting(words("forward_only", whether(is_forward_only))),
          figure("warmup_steps", warmup_of),
          figure("benchmark_steps", steps_of),
          quantity("avg", Unit::kSeconds, mean_of_time()),
          of_population(quantity("std", Unit::kSeconds, std_of_time()))};
}

std::vector<Column> columns_2025_c() {
  return {setting(words("Model", named("model"))),
          setting(words("Pass", named("pass"), 16)),
          figure("Warmup", warmup_of),
          figure("Min (s)", from_time([](const TimeStats& time) { return Json(time.min); })),
          figure("Max (s)", from_time([](const TimeStats& time) { return Json(time.max); })),
          figure("Avg (s)", mean_of_time()),
          of_population(figure("Std (s)", std_of_time()))};
}

std::vector<Column> columns_2025_d() {
  return joined({{setting(words("model", named("model"))), setting(figure("context_length", named("context")))},
                 times_2025_d(),
                 conditions_2025_d(),
                 {words("profile_memory", whether(profiles_memory))}});
}

std::vector<Column> columns_2025_d_attention() {
  return joined(
      {{setting(figure("context_length", named("context"))), setting(figure("d_model", named("config.d_model")))},
       times_2025_d(),
       {quantity("model mem", Unit::kBytes, named("memory.resident_bytes")),
        quantity("model+fwd mem", Unit::kBytes, named("memory.after_forward_bytes")),
        quantity("model+fwd+back mem", Unit::kBytes, named("memory.after_backward_bytes")),
        quantity("fwd mem", Unit::kBytes, named("forward_memory")),
        quantity("back mem", Unit::kBytes, named("backward_memory"))},
       conditions_2025_d()});
}

}  // namespace laptime
