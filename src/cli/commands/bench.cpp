// The sweep of bench, and what becomes of its records.
#include "cli/commands/bench.h"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/record_output.h"
#include "cli/run_watched.h"
#include "cli/sweep_words.h"
#include "cli/terminal.h"
#include "report/names.h"
#include "report/plan_answer.h"

namespace laptime {
namespace {

struct StrictOption {
  bool strict = false;

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit(own_option(kOutput, "strict", "exit code 1 unless every point is ok, out of memory and unsupported included"),
          self.strict);
  }
};

std::vector<OptionRow> bench_options() {
  std::vector<OptionRow> rows = sweep_options();
  for (OptionRow& row : option_rows<StrictOption>()) rows.push_back(std::move(row));
  return rows;
}

// Writes the records as they come, as a table on standard error where standard output gets another format.
class BenchOutput : public PointOutput {
 public:
  BenchOutput(const OutputConfig& config, const std::vector<Record>& planned)
      : output_(config, planned, &stored_runs_), explains_(config.explain) {
    // Beside a file or a pipe the terminal shows the rows as they come; one that gets them anyway needs them once.
    if (!output_.is_live_table() && !(standard_output().is_terminal && config.output_file.empty())) {
      TableStyle style = table_style(standard_error(), config.verbose);
      style.quiet = config.quiet;
      style.stored_runs = &stored_runs_;
      table_.emplace(style, config.columns, planned);
    }
  }

  void add(const PointResult& result) override {
    output_.add(result.record);
    not_ok_ += result.record.status == Status::kOk ? 0 : 1;
    if (explains_) explanations_ += explanation_of(result.record);
  }
  void begin_stored(const Record& record) override { stored_runs_.insert(record.run); }
  std::string progress(const PointResult& result) override { return table_ ? table_->add(result.record) : ""; }
  void finish() override {
    output_.finish();
    if (table_) print_error_text(table_->end());
    print_error_text(explanations_);
  }
  int64_t not_ok() const { return not_ok_; }

 private:
  static std::string explanation_of(const Record& record) {
    std::string text = fmt::format("\n{}\n", spoken_name(record.name));
    const std::optional<Table> table = prediction_table(record);
    if (!table) return text + basis_words(record.prediction) + "\n";
    const OutputStream stream = standard_error();
    return text + prediction_words(record) + "\n" + text_of(*table, {.unicode = stream.unicode, .width = stream.width});
  }

  std::set<std::string> stored_runs_;
  RecordOutput output_;
  std::optional<TableStream> table_;
  bool explains_;
  std::string explanations_;
  int64_t not_ok_ = 0;  // points
};

}  // namespace

BenchCommand parse_bench(const CommandWords& words) {
  reject_positionals(words);
  return {given_sweep(words), given_options<StrictOption>(words).strict};
}

ExitCode run(const BenchCommand& command) {
  OutputConfig config = command.sweep.output;
  if (config.ablate && config.columns == OutputConfig().columns) config.columns += ",gain";
  const std::vector<ResolvedPoint> points = checked_points(command.sweep);
  BenchOutput output(config, planned_records(points));
  const ExitCode code = run_watched(points, {store_for(config), config.resume, command.sweep.name, {}}, output);
  if (code != ExitCode::kOk || !command.strict || output.not_ok() == 0) return code;
  print_message(fmt::format("--strict: {} of {} points are not ok", output.not_ok(), points.size()));
  return ExitCode::kFailed;
}

constinit const Command kBench{
    .name = "bench",
    .arguments = "[OPTIONS]",
    .summary = "measure training steps: one row per point of a sweep",
    .details =
        "Options written with ',...' take a list, and the sweep is the product of the lists. Each point runs in a "
        "process of its own and is stored before the next one starts.",
    .options = bench_options,
    .parse = action_of<parse_bench, run>,
    .examples =
        "  laptime bench --model small --pass inference,forward_backward,step\n"
        "  laptime bench --model small --pass forward_backward --warmup 5 --steps 10 --columns mean_std\n"
        "  laptime bench --model small --mode eager,compile --columns default,speedup\n"
        "  laptime bench --model small --pass forward_backward --warmup 0,1,2,5 --steps 10 --columns mean_std\n",
};

}  // namespace laptime
