// The commands selfcheck (checks the machine), verify (checks the engine against PyTorch) and demo (shows effects of
// float16 and bfloat16).
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/host_clock.h"
#include "base/json.h"
#include "base/words.h"
#include "cli/command.h"
#include "cli/inputs.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/rounds.h"
#include "config/ready_sweeps.h"
#include "data/golden.h"
#include "demo/demo.h"
#include "distribution/paired_ratio.h"
#include "exec/self_check.h"
#include "prepare/device.h"
#include "report/comparison.h"
#include "report/verification_text.h"
#include "report/words.h"
#include "table/text.h"
#include "verify/verify.h"

namespace laptime {
namespace {

constexpr double kSame = 0.01;  // the smallest difference to test
constexpr std::array kDifferences{0.01, 0.03, 0.10};
constexpr double kTimeIsRight = 0.02;  // relative tolerance of the time for ten times the work
constexpr double kMostLost = 0.25;     // tolerated share of the loops' time lost to interruptions

struct Check {
  std::string name;
  std::string found;
  bool is_good = true;
};

std::vector<Check> timing_checks(const ResolvedPoint& point) {
  const ClockQuality clock = measure_host_clock();
  const std::unique_ptr<Backend> backend = point.device->open(0);
  const BusyLoops loops = time_busy_loops();
  const bool is_right = std::abs(loops.tenfold / 10 - 1) <= kTimeIsRight;
  return {{"clock", fmt::format("resolution {}; read cost {}", format_seconds(clock.resolution.count()),
                                format_seconds(clock.overhead.count()))},
          {"empty step",
           fmt::format("{}, included in every step's time", format_seconds(time_of_empty_step(*backend).count()))},
          {"known work",
           fmt::format("ten times the work takes {:.2f} times as long{}", loops.tenfold,
                       is_right ? "" : ": other programs interrupt, or the processor's clock rate changes"),
           is_right},
          {"disturbance",
           fmt::format("{} loops, median {}: the slowest tenth takes at least {:.1f} % longer; {:.2f} % of the time is "
                       "lost",
                       loops.loops, format_seconds(loops.median.count()),
                       100 * (loops.slowest_tenth / loops.median - 1), 100 * loops.lost),
           loops.lost <= kMostLost}};
}

// The rounds needed to detect each difference. `finding` states the smallest difference that can be detected within the
// budget; if there is none, it states the largest difference.
struct Powers {
  Table table{.name = "differences",
              .columns = {{.key = "difference", .title = "difference", .unit = Unit::kFraction},
                          {.key = "rounds", .title = "rounds needed"},
                          {.key = "time_s", .title = "time", .unit = Unit::kSeconds}}};
  Finding finding{.kind = "detectable_difference", .subject = {}, .values = Json{}};
};

Powers powers_of(const Rounds& rounds, Seconds budget) {
  const RoundTimes times = times_of(rounds.rounds);
  const Seconds round = rounds.elapsed / static_cast<double>(rounds.rounds.size());
  Powers powers;
  bool is_within = false;
  for (const double difference : kDifferences) {
    const int64_t needed = rounds_to_show(difference, times.a, times.b);
    const Seconds time = round * static_cast<double>(needed);
    powers.table.add({difference, needed, time.count()});
    if (is_within) continue;
    is_within = time <= budget;
    powers.finding.values = Json{{"difference", difference},
                                 {"rounds", needed},
                                 {"time_s", time.count()},
                                 {"budget_s", budget.count()},
                                 {"is_within_budget", is_within}};
  }
  return powers;
}

ExitCode run_selfcheck(const Sweep& sweep) {
  const OutputConfig& config = sweep.output;
  const std::vector<ResolvedPoint> points = checked_points(sweep);
  if (points.size() != 1) throw Error("laptime selfcheck: only one point can be checked; give each option one value");
  if (points.front().is_predicted())
    throw Error("laptime selfcheck: predicted times have no noise; leave --device out");
  AnswerOutput output(config);
  const Seconds budget{points.front().config.budget};
  const RoundsRequest request{.a = points.front(),
                              .b = points.front(),
                              .names = {"the point", "the same point", points.front().name},
                              .margin = kSame / 10,
                              .budget = budget,
                              .store = store_for(config),
                              .run_name = std::string(kSelfcheckSweep)};
  const Rounds rounds = measure_rounds(request);
  PointAnswer answer{.name = points.front().name};
  if (rounds.code != ExitCode::kOk) {
    answer.say(rounds.failure);
    output.end(std::move(answer));
    return rounds.code;
  }
  const PairedRatio ratio = ratio_of(rounds.rounds);
  const Difference difference = ratio.difference(kSame);
  const bool is_even = difference == Difference::kSame || difference == Difference::kUndecided;
  std::vector<Check> checks = timing_checks(points.front());
  checks.push_back({"compared with itself",
                    fmt::format("{} rounds: ratio {:.4f} (99 % interval {:.4f} to {:.4f})", ratio.rounds, ratio.ratio,
                                ratio.interval->low, ratio.interval->high),
                    is_even});
  Powers powers = powers_of(rounds, budget);
  answer.say(words(powers.finding));
  answer.findings.push_back(std::move(powers.finding));
  answer.say(rounds.failure);
  Table table{.name = "checks",
              .columns = {text_of_rows("check", "check"), text_of_rows("found", ""), text_of_rows("ok", "ok")}};
  std::vector<std::string> failed;
  for (const Check& check : checks) {
    table.add({check.name, check.found, check.is_good ? "yes" : "NO"});
    if (!check.is_good) failed.push_back(check.name);
  }
  answer.show(std::move(table));
  answer.show(std::move(powers.table));
  if (!failed.empty()) answer.say(fmt::format("! times are not reliable now; failed checks: {}", joined(failed, ", ")));
  output.end(std::move(answer));
  return failed.empty() ? ExitCode::kOk : ExitCode::kFailed;
}

Sweep parse_selfcheck(const CommandWords& words) { return given_sweep(words, selfcheck_sweep()); }

// Escapes each line for a terminal, because a file may contain tensor names with arbitrary bytes.
std::string safe(const std::string& text) {
  return joined(mapped(fields_of(text, '\n'), [](std::string_view line) { return printable(line); }), "\n");
}

struct VerifyOptions {
  bool verbose = false;
  bool tf32 = false;

  static void visit_fields(auto& self, auto&& visit) {
    const auto own = own_options("Output", visit);
    const auto of_arithmetic = own_options("Arithmetic", visit);
    own("verbose", "show every comparison", self.verbose);
    of_arithmetic("tf32",
                  "check only TF32 products (on a GPU), with TF32 tolerances, instead of the number types in the file",
                  self.tf32);
  }
};

std::vector<OptionRow> verify_options() {
  std::vector<OptionRow> engine = option_rows<RunConfig>();
  std::erase_if(engine, [](const OptionRow& row) { return !row.option.configures_engine; });
  for (OptionRow& row : engine) row.option.axis = false;
  return together(std::move(engine), output_options("store"), option_rows<VerifyOptions>());
}

struct VerifyCommand {
  std::vector<std::string> files;
  RunConfig machine{};  // only engine options (Option::configures_engine) are set by the user
  VerifyOptions options{};
  OutputConfig output{};  // names the store with the kernel choices
};

VerifyCommand parse_verify(const CommandWords& words) {
  if (words.positionals.empty())
    throw Error(
        "laptime verify: no file given; name FILE.safetensors, or the folder of a model with stored PyTorch values");
  VerifyCommand verify{words.positionals};
  read_options(words, verify.options, verify.machine, verify.output);
  return verify;
}

ExitCode run_verify(const VerifyCommand& command) {
  // Rejects bad files, and options that do not suit a file, before anything runs.
  for (const std::string& file : command.files)
    require_possible(read_golden(file), command.machine, command.options.tf32);
  const VerifyKernels kernels{.known = stored_knowledge(command.output.store), .tf32 = command.options.tf32};
  ProgressLine line(standard_error());
  bool pass = true;
  for (size_t i = 0; i < command.files.size(); ++i) {
    const GoldenCase golden = read_golden(command.files[i]);
    const VerifyProgress progress = [&](const std::string& stage, Seconds elapsed) {
      line.show(i, fmt::format("[{}/{}] {}: {}", i + 1, command.files.size(), command.files[i], stage), elapsed);
    };
    const VerifiedFile verified = verify_golden(golden, command.machine, progress, find_device, kernels);
    line.clear();
    until_reader_goes([&] { write_output(safe(command.options.verbose ? print(verified) : summary_line(verified))); });
    pass = pass && verified.pass();
  }
  return pass ? ExitCode::kOk : ExitCode::kFailed;
}

std::vector<WordHelp> demo_choices() { return words_of(demos(), &Demo::name, &Demo::summary); }

CommandAction parse_demo(const CommandWords& words) {
  const Demo& demo = demos()[chosen(words, "demonstration", demo_choices())];
  reject_positionals(words, 1);
  return [&demo, config = given_options<OutputConfig>(words)](const RankPipes&) {
    AnswerOutput(config).end(demo.run());
    return ExitCode::kOk;
  };
}

}  // namespace

constinit const Command kSelfcheck{
    .name = "selfcheck",
    .summary = "check how far this machine's times can be trusted: clock, known work, a step compared with itself",
    .details =
        "Times the clock, an empty step and loops of known work, and compares a small step with itself as laptime "
        "compare does. Shows which differences can be detected now, and how long that takes. Takes the options of "
        "bench, so you can check your own step. The exit code is 1 if a step differs from itself, if ten times "
        "the work does not take ten times as long, or if more than a quarter of the time is lost to interruptions.",
    .options = [] { return with_defaults(answer_options({}, "sort resume ablate label verbose"), selfcheck_sweep()); },
    .parse = action_of<parse_selfcheck, run_selfcheck>,
};

constinit const Command kVerify{
    .name = "verify",
    .arguments = "FILE.safetensors|FOLDER... [OPTIONS]",
    .summary = "check the engine against stored PyTorch values",
    .details =
        "Prints a line for each file, followed by the comparisons that failed. --verbose shows every comparison with "
        "its tolerance.",
    .options = verify_options,
    .parse = action_of<parse_verify, run_verify>,
};

constinit const Command kDemo{
    .name = "demo",
    .arguments = "accumulate|autocast|layernorm [OPTIONS]",
    .summary = "show the effects of float16 and bfloat16 on sums, autocast and layer norm",
    .details = "Runs small graphs with the engine's ops and prints the results next to float64.",
    .options = [] { return with_formats(output_options("output output-file")); },
    .parse = parse_demo,
    .choices = demo_choices,
};

}  // namespace laptime
