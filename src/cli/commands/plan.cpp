// Plans each point and shows what it would take and hold.
#include "cli/commands/plan.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>
#include <vector>

#include "cli/grid_output.h"
#include "cli/store_path.h"
#include "cli/stored_choices.h"
#include "cli/sweep_words.h"
#include "cli/used_files.h"
#include "config/sweep.h"
#include "measure/forecast_point.h"
#include "report/memory/memory_report.h"
#include "report/plan_table.h"
#include "report/profile/profile_report.h"
#include "sweep/ablation.h"
#include "sweep/check_inputs.h"

namespace laptime {
namespace {

constexpr int64_t kLargestBatch = 65'536;
constexpr int64_t kLargestContext = 1'048'576;

struct PlanOptions {
  ProfileView view = ProfileView::kSummary;
  bool largest = false;
  bool framework = false;

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    constexpr std::string_view kGroup = "Plan";
    visit(Option{.flag = "view",
                 .key = "view",
                 .group = kGroup,
                 .help = "table of predicted times, where there is a single point",
                 .axis = false},
          self.view);
    visit(Option{.flag = "largest",
                 .key = "largest",
                 .group = kGroup,
                 .help = "also the largest batch and the largest context that fit",
                 .axis = false},
          self.largest);
    visit(Option{.flag = "framework",
                 .key = "framework",
                 .group = kGroup,
                 .help = "also the peak of the same point in eager mode without recomputation, as a framework runs it",
                 .axis = false},
          self.framework);
  }
};

std::vector<OptionRow> plan_options() {
  std::vector<OptionRow> rows = option_rows<PlanOptions>();
  for (OptionRow& row : sweep_options()) rows.push_back(std::move(row));
  std::erase_if(rows, [](const OptionRow& row) { return row.option.flag == "columns" || row.option.flag == "resume"; });
  return rows;
}

struct PlanCommand {
  Sweep sweep;
  PlanOptions options;
};

PlanCommand parse_plan(const CommandWords& words) {
  reject_positionals(words);
  PlanOptions options;
  for (const GivenFlag& given : words.flags) assign_given(options, given);
  PlanCommand plan{starting_sweep(words, {}), options};
  set_given(plan.sweep, words);
  return plan;
}

// The answers about one point, and its trace for the tables of a single one.
class PlanRun {
 public:
  PlanRun(const PlanOptions& options, KnowledgeOf knowledge) : options_(options), knowledge_(std::move(knowledge)) {}

  PointResult add(const SweepPoint& point) {
    const MachineKnowledge known = knowledge_(device_key_of(point));
    PointResult result = forecast_point(point, known);
    PlannedPoint planned{result.record};
    const bool has_plan = result.trace.has_value();
    if (has_plan && result.record.status == Status::kOutOfMemory && point.config.recompute != "auto") {
      const Record lean = forecast_point(recomputing(point, "auto"), known).record;
      planned.fitting_recompute = lean.status == Status::kOk ? lean.memory.recompute : "nothing fits";
    }
    if (has_plan && options_.largest) {
      planned.largest_batch = largest_that_fits(point.config, known, Enlarged::kBatch, kLargestBatch);
      planned.largest_context = largest_that_fits(point.config, known, Enlarged::kContext, kLargestContext);
    }
    if (has_plan && options_.framework) {
      SweepPoint eager = recomputing(point, "none");
      eager.config.mode = Mode::kEager;
      planned.eager_bytes = forecast_point(eager, known).record.memory.predicted_peak_bytes;
    }
    planned_.push_back(std::move(planned));
    return result;
  }

  Grid table() const { return plan_grid(planned_); }

 private:
  static std::string device_key_of(const SweepPoint& point) {
    return point.invalid.empty() ? device_key(point.config) : std::string();
  }
  static SweepPoint recomputing(SweepPoint point, const char* rule) {
    point.config.recompute = rule;
    return point;
  }

  const PlanOptions& options_;
  KnowledgeOf knowledge_;
  std::vector<PlannedPoint> planned_;
};

// The sentences and tables of a single point.
PointReport report_of(const PointResult& result, ProfileView view) {
  const Record& record = result.record;
  PointReport report{record.name, {prediction_sentence(record)}, {}};
  if (!result.trace) return report;
  PointReport memory = memory_report(record, *result.trace, {.view = MemoryView::kCategories});
  report.lines.insert(report.lines.end(), memory.lines.begin(), memory.lines.end());
  if (!result.trace->steps.empty()) {
    PointReport times = profile_report(record, *result.trace, {.view = view});
    std::move(times.grids.begin(), times.grids.end(), std::back_inserter(report.grids));
  }
  for (Grid& grid : memory.grids) {
    grid.name = "memory_" + grid.name;  // both reports have a table of phases
    report.grids.push_back(std::move(grid));
  }
  return report;
}

ExitCode run(const PlanCommand& command) {
  const OutputConfig& config = command.sweep.output;
  std::vector<SweepPoint> points = points_of(command.sweep);
  reject_overwriting(command.sweep, points, store_path(config.store));
  check_inputs(points);
  GridOutput output(config);
  PlanRun plan(command.options, stored_knowledge(config.store));
  PointResult last;
  for (const SweepPoint& point : points) last = plan.add(point);
  PointReport report = points.size() == 1 ? report_of(last, command.options.view) : PointReport{"plan", {}, {}};
  report.grids.insert(report.grids.begin(), plan.table());
  output.add(std::move(report));
  output.finish();
  return ExitCode::kOk;
}

CommandAction plan_action(const CommandWords& words) {
  return [command = parse_plan(words)] { return run(command); };
}

}  // namespace

constinit const Command kPlan{
    .name = "plan",
    .arguments = "[OPTIONS]",
    .summary = "time and bytes of a step before it runs, here or on another machine; what fits",
    .details =
        "Takes the options of bench and runs nothing. On this machine times come from launches that were measured, by "
        "laptime calibrate and by every earlier run, and for other sizes from the nearest ones; on a machine that is "
        "described (--device roofline:NAME) they are bounds of its data sheet. Bytes are those of the plan. Several "
        "points are one table; a single one is shown by phase, class, layer or op (--view) and with what its memory is "
        "held for.",
    .options = plan_options,
    .parse = plan_action,
};

}  // namespace laptime
