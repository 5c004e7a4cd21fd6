// Runs the calibration sweep, and shows what is known of the device afterwards.
#include "cli/commands/calibrate.h"

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
#include "cli/store_path.h"
#include "cli/stored_knowledge.h"
#include "cli/sweep_words.h"
#include "cli/used_files.h"
#include "config/ready_sweeps.h"
#include "prepare/device.h"
#include "report/launch_costs_table.h"
#include "report/words.h"
#include "sweep/ablation.h"
#include "sweep/check_inputs.h"

namespace laptime {
namespace {

constexpr int64_t kTracedSteps = 3;

struct CalibrateCommand {
  Sweep sweep;
};

std::vector<OptionRow> calibrate_options() {
  const Sweep defaults = calibration_sweep();
  std::vector<OptionRow> rows = sweep_options();
  keep_options_of_answers(rows);
  leave_out(rows, {"sort"});
  for (OptionRow& row : rows) {
    for (const Axis& axis : defaults.axes) {
      if (axis.flag == row.option.flag) row.fallback = joined(axis.values, ",");
    }
  }
  return rows;
}

// Notes the points that did not run; the table of launch costs is read from the store when all are done.
class CalibrationOutput : public PointOutput {
 public:
  CalibrationOutput(const OutputConfig& config, const std::vector<SweepPoint>& points)
      : output_(config), knowledge_(stored_knowledge(config.store)), points_(points) {}

  void add(const PointResult& result) override {
    if (result.record.status == Status::kOk) return;
    notes_.push_back(
        fmt::format("{}: {}: {}", result.record.name, name_of(result.record.status), result.record.reason));
  }

  void finish() override {
    std::vector<std::string> devices;
    for (const SweepPoint& point : points_) {
      if (!point.invalid.empty()) continue;
      const std::string device = device_key(point.config);
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
  const std::vector<SweepPoint>& points_;
  std::vector<std::string> notes_;
};

CalibrateCommand parse_calibrate(const CommandWords& words) {
  reject_positionals(words);
  CalibrateCommand calibrate{starting_sweep(words, calibration_sweep())};
  set_given(calibrate.sweep, words);
  calibrate.sweep.name = kCalibrationSweep;
  return calibrate;
}

ExitCode run(const CalibrateCommand& command) {
  const OutputConfig& config = command.sweep.output;
  if (!store_path(config.store))
    throw Error("laptime calibrate: there is no store to keep the measurements in; name a file with --store");
  std::vector<SweepPoint> points = points_of(command.sweep);
  reject_overwriting(command.sweep, points, store_path(config.store));
  check_inputs(points);
  CalibrationOutput output(config, points);
  // Traced, because samples of short steps have no marks of launches.
  const TraceRequest trace{.wanted = true, .traced_steps = kTracedSteps};
  return run_watched(points, {store_for(config), config.resume, command.sweep.name, trace}, output);
}

CommandAction calibrate_action(const CommandWords& words) {
  return [command = parse_calibrate(words)] { return run(command); };
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
    .parse = calibrate_action,
};

}  // namespace laptime
