// Runs the calibration sweep, and shows what is known of the device afterwards.
#include "cli/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/words.h"
#include "cli/answer_output.h"
#include "cli/run_watched.h"
#include "cli/sweep_words.h"
#include "cli/user_store.h"
#include "config/ready_sweeps.h"
#include "prepare/device.h"
#include "report/names.h"
#include "report/plan_answer.h"
#include "report/words.h"

namespace laptime {
namespace {

constexpr int64_t kTracedSteps = 3;

std::vector<OptionRow> calibrate_options() {
  std::vector<OptionRow> rows = sweep_options();
  keep_options_of_answers(rows);
  leave_out(rows, {"sort"});
  show_defaults(rows, calibration_sweep());
  return rows;
}

// Notes the points that did not run; the table of launch costs is read from the store when all are done.
class CalibrationOutput : public PointOutput {
 public:
  CalibrationOutput(const OutputConfig& config, const std::vector<ResolvedPoint>& points)
      : output_(config), knowledge_(stored_knowledge(config.store)), points_(points) {}

  void add(const PointResult& result) override {
    if (result.record.status == Status::kOk) return;
    notes_.push_back(fmt::format("{}: {}: {}", spoken_name(result.record.name), name_of(result.record.status),
                                 result.record.reason));
  }

  void finish() override {
    std::vector<std::string> devices;
    for (const ResolvedPoint& point : points_) {
      const std::string& device = point.device_key;
      if (!device.empty() && std::find(devices.begin(), devices.end(), device) == devices.end())
        devices.push_back(device);
    }
    std::vector<LaunchCost> costs;
    for (const std::string& device : devices) {
      const std::vector<LaunchCost> of_device = knowledge_(device).launch_costs;
      costs.insert(costs.end(), of_device.begin(), of_device.end());
    }
    const auto disturbed =
        std::count_if(costs.begin(), costs.end(), [](const LaunchCost& cost) { return !cost.disturbance.empty(); });
    PointAnswer answer{.name = "calibration"};
    answer.findings.push_back({.kind = "calibration",
                               .subject = {},
                               .values = Json{{"launches", costs.size()}, {"disturbed_launches", disturbed}}});
    answer.say(words(answer.findings.front()));
    answer.say(std::move(notes_));
    answer.show(launch_costs_table(costs));
    if (disturbed > 0) answer.say("! the machine was disturbed: calibrate again when it is quiet");
    output_.add(std::move(answer));
    output_.finish();
  }

 private:
  AnswerOutput output_;
  KnowledgeOf knowledge_;
  const std::vector<ResolvedPoint>& points_;
  std::vector<std::string> notes_;
};

Sweep parse_calibrate(const CommandWords& words) {
  reject_positionals(words);
  Sweep sweep = given_sweep(words, calibration_sweep());
  sweep.name = kCalibrationSweep;
  return sweep;
}

ExitCode run(const Sweep& sweep) {
  const OutputConfig& config = sweep.output;
  if (!store_path(config.store))
    throw Error("laptime calibrate: there is no store to keep the measurements in; name a file with --store");
  const std::vector<ResolvedPoint> points = checked_points(sweep);
  CalibrationOutput output(config, points);
  // Traced, because samples of short steps have no marks of launches.
  const TraceRequest trace{.wanted = true, .traced_steps = kTracedSteps};
  return run_watched(points, {store_for(config), config.resume, sweep.name, trace}, output);
}

}  // namespace

constinit const Command kCalibrate{
    .name = "calibrate",
    .arguments = "[OPTIONS]",
    .summary = "measure the launches that laptime plan predicts times from, once for a machine",
    .details =
        "Runs short steps of two layers and stores the time of each launch, by kernel, shape and number of threads, "
        "with "
        "its date. Every run of bench and profile adds to it. Its records are left out of --last, export and report, "
        "unless a filter names their sweep or run. Takes the options of bench: --model gpt2-124M adds the "
        "ops of that model, --threads those of another number of threads.",
    .options = calibrate_options,
    .parse = action_of<parse_calibrate, run>,
};

}  // namespace laptime
