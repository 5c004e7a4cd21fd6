// Commands that break a step down: laptime profile by launch time, laptime memory by bytes.
#include <algorithm>
#include <utility>

#include "analysis/speedup.h"
#include "base/error.h"
#include "base/words.h"
#include "cli/command.h"
#include "cli/inputs.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "config/label.h"
#include "distribution/bootstrap.h"
#include "measure/forecast_point.h"
#include "report/filter.h"
#include "report/memory_answer.h"
#include "report/profile_answer.h"
#include "report/words.h"

namespace laptime {
namespace {

constexpr int64_t kProfileWarmup = 2;
constexpr int64_t kProfileSteps = 5;
constexpr int64_t kMaxTracedSteps = 1000;
constexpr int64_t kDefaultTop = 20;
constexpr int64_t kSummaryTop = 4;

enum class ShownPhase : uint8_t { kAll, kForward, kBackward, kOptimizer };
constexpr auto choices_of(ShownPhase) { return choices<ShownPhase>("all", "forward", "backward", "optimizer"); }

struct ProfileOptions {
  ProfileView view = ProfileView::kSummary;
  ShownPhase phase = ShownPhase::kAll;
  ProfileBy by = ProfileBy::kName;
  std::optional<int64_t> top;
  int64_t traced_steps = kFewestForInterval;
  bool compare_modes = false;
  bool compare_dtypes = false;

  static void visit_fields(auto& self, auto&& visit) {
    const auto own = own_options("Profile", visit);
    own("view", "table to show", self.view);
    own("phase", "only launches of this phase; shares are of the whole step", self.phase);
    own("by", "split each kernel, op, class or scope by shape, layer or phase", self.by);
    own("top", "rows per table; 0 shows all", self.top,
        {.otherwise = "4 in the summary, else 20; all in csv and json"});
    own("traced-steps", "time the launches of this many steps, alternating with as many untraced ones",
        self.traced_steps, {.min = 1, .max = kMaxTracedSteps});
    own("compare-modes", "compare eager with compile, row by row, the largest saving first", self.compare_modes);
    own("compare-dtypes", "compare float32 with bfloat16, row by row, the largest saving first", self.compare_dtypes);
  }
};

struct ProfileCommand : SweepCommand<ProfileOptions> {
  std::string filter;  // selects launches
};

// Gives every point this warm-up and number of steps, unless the sweep sets either.
void set_steps_unless_given(Sweep& sweep, std::string_view command, int64_t warmup, int64_t steps) {
  if (find_axis(sweep, "warmup") != nullptr || find_axis(sweep, "steps") != nullptr) return;
  set_option(sweep, "warmup", command, {std::to_string(warmup)});
  set_option(sweep, "steps", command, {std::to_string(steps)});
}

// Whether the command shows points side by side: two modes, two number types, or the passes of one point.
bool stands_beside(const ProfileCommand& command) {
  const bool only_pass_varies = std::ranges::all_of(
      command.sweep.axes, [](const Axis& axis) { return (axis.values.size() > 1) == (axis.flag == "pass"); });
  const bool has_pass = find_axis(command.sweep, "pass") != nullptr;
  return command.options.compare_modes || command.options.compare_dtypes || (has_pass && only_pass_varies);
}

bool differ_only_in(const std::string& key, const Record& a, const Record& b) {
  const std::vector<std::string_view> left_out{key, "warmup", "steps"};  // records state the steps that ran, which vary
  return point_without(a, left_out) == point_without(b, left_out) && a.config.text(key) != b.config.text(key);
}

// Compares each pair of points that differ only in `key`.
void compare(const std::vector<PointResult>& profiled, const std::string& key, const ProfileQuery& query,
             AnswerOutput& output) {
  std::vector<std::pair<ComparedProfile, ComparedProfile>> pairs;
  for (size_t a = 0; a < profiled.size(); ++a) {
    for (size_t b = a + 1; b < profiled.size(); ++b) {
      const Record& first = profiled[a].record;
      const Record& second = profiled[b].record;
      if (!differ_only_in(key, first, second)) continue;
      pairs.emplace_back(ComparedProfile{first.config.text(key), &*profiled[a].trace, first.name},
                         ComparedProfile{second.config.text(key), &*profiled[b].trace, second.name});
    }
  }
  if (key == "dtype" && !pairs.empty()) {
    PointAnswer casts{.name = "casts"};
    casts.show(cast_table(pairs));
    for (const auto& [left, right] : pairs) casts.findings.push_back(cast_cost(left, right));
    output.add(std::move(casts));
  }
  for (const auto& [left, right] : pairs) output.add(compared_answer(left, right, query));
}

void share_of_passes(const std::vector<PointResult>& profiled, const ProfileQuery& query, AnswerOutput& output) {
  if (profiled.size() < 2) return;
  std::vector<ComparedProfile> passes;
  for (const PointResult& point : profiled) {
    if (!differ_only_in("pass", profiled.front().record, point.record) && &point != &profiled.front()) return;
    passes.push_back({point.record.config.text("pass"), &*point.trace});
  }
  PointAnswer answer{.name = "passes side by side"};
  for (const ComparedProfile& pass : passes) {
    if (std::optional<Finding> top = top_kernel(pass.title, *pass.trace)) {
      answer.say(words(*top));
      answer.findings.push_back(std::move(*top));
    }
  }
  answer.show(class_share_table(passes, query));
  answer.say(disturbed_line(passes));
  output.add(std::move(answer));
}

void set_axis_unless_given(Sweep& sweep, const std::string& flag, const std::vector<std::string>& values,
                           const std::string& by) {
  if (find_axis(sweep, flag) != nullptr)
    throw Error::format("{} sets --{} {}; leave out --{}", by, flag, joined(values, ","), flag);
  set_option(sweep, flag, by, values);
}

// Rejects a --by that does not apply to the view: the rows would not be split as requested.
void reject_by_without_effect(const ProfileOptions& options) {
  if (splits(options.view, options.by)) return;
  std::vector<std::string_view> others;
  for (const Choice<ProfileView>& view : choices_of(ProfileView{})) {
    if (view.value != ProfileView::kSummary && view.value != ProfileView::kAll && splits(view.value, options.by))
      others.push_back(view.name);
  }
  throw Error::format("laptime profile: --by {} does not apply to --view {}; use --view {}", name_of(options.by),
                      name_of(options.view), joined(others, " or "));
}

ProfileCommand parse_profile(const CommandWords& words) {
  const auto options = given_options<ProfileOptions>(words);
  reject_by_without_effect(options);
  ProfileCommand profile{{given_sweep(words), options}, joined(words.positionals, " ")};
  for (const std::string& column : Filter(profile.filter).columns()) launch_column({}, column);
  if (options.phase != ShownPhase::kAll) {
    const std::string more = profile.filter.empty() ? "" : fmt::format(" and ({})", profile.filter);
    profile.filter = fmt::format("phase = {}{}", name_of(options.phase), more);
  }
  if (options.compare_modes) set_axis_unless_given(profile.sweep, "mode", {"eager", "compile"}, "--compare-modes");
  if (options.compare_dtypes)
    set_axis_unless_given(profile.sweep, "dtype", {"float32", "bfloat16"}, "--compare-dtypes");
  set_steps_unless_given(profile.sweep, words.command, kProfileWarmup, kProfileSteps);
  return profile;
}

bool has_phase(Pass pass, ShownPhase phase) {
  const bool is_forward_alone = pass == Pass::kForward || pass == Pass::kInference;
  if (phase == ShownPhase::kBackward) return !is_forward_alone;
  return phase != ShownPhase::kOptimizer || pass == Pass::kStep;
}

// Rejects a phase that no point has: every table would be empty.
void reject_phase_of_no_point(const std::vector<ResolvedPoint>& points, ShownPhase phase) {
  const bool is_known =
      std::ranges::any_of(points, [&](const ResolvedPoint& point) { return has_phase(point.config.pass, phase); });
  if (is_known || points.empty()) return;
  throw Error::format("laptime profile: --phase {}: --pass {} has no such phase; use --pass {}", name_of(phase),
                      name_of(points.front().config.pass),
                      phase == ShownPhase::kOptimizer ? "step" : "forward_backward or --pass step");
}

// Shows each point when it has finished. If points are shown side by side, everything is shown at the end: the
// comparison first, then each point.
ExitCode run_profile(const ProfileCommand& command, const RankPipes& ranks) {
  const OutputConfig& config = command.sweep.output;
  const ProfileOptions& options = command.options;
  const std::vector<ResolvedPoint> points = checked_points(command.sweep);
  reject_phase_of_no_point(points, options.phase);
  const bool is_single = points.size() == 1;
  const bool are_beside = stands_beside(command);
  const bool is_summary = options.view == ProfileView::kSummary;
  const Filter filter(command.filter);
  ProfileQuery query{.view = options.view,
                     .by = options.by,
                     .top = options.top.value_or(!is_table(config.output) ? 0
                                                 : is_summary             ? kSummaryTop
                                                                          : kDefaultTop),
                     .sort = config.sort,
                     .selection = command.filter.empty() ? "" : quote(command.filter),
                     .selection_columns = filter.columns(),
                     .verbose = config.verbose};
  AnswerOutput answers(config);
  if (!command.filter.empty()) {
    query.test = [&](const TraceLaunch& launch) {
      return filter.keeps([&](std::string_view column) { return launch_column(launch, column); });
    };
  } else if (is_summary && is_single) {
    answers.hint("more: --view kernels, ops, classes, layers, attention, all");
  }
  std::vector<PointAnswer> held_back;
  std::vector<PointResult> profiled;
  PointOutput output;
  output.add = [&](const PointResult& result) {
    const bool has_profile = result.trace && !result.trace->steps.empty();
    PointAnswer answer =
        has_profile ? profile_answer(result.record, *result.trace, query) : answer_without_result(result.record);
    if (has_profile) profiled.push_back(result);
    if (!is_single) answer.title = spoken_name(result.record.name);
    are_beside ? held_back.push_back(std::move(answer)) : answers.add(std::move(answer));
  };
  output.finish = [&] {
    if (options.compare_modes) compare(profiled, "mode", query, answers);
    if (options.compare_dtypes) compare(profiled, "dtype", query, answers);
    if (are_beside) share_of_passes(profiled, query, answers);
    for (PointAnswer& answer : held_back) answers.add(std::move(answer));
    answers.finish();
  };
  return run_watched(points, command.sweep, options.traced_steps, output, ranks);
}

struct MemoryOptions {
  std::optional<MemoryView> view;
  int64_t top = MemoryQuery().top;
  bool run = false;

  static void visit_fields(auto& self, auto&& visit) {
    const auto own = own_options("Memory", visit);
    own("view", "what to show for each point; without --view, several points share one table of peaks", self.view,
        {.otherwise = "summary"});
    own("top", "rows in the table of largest allocations; 0 shows all", self.top, {.max = 1e6});
    own("run", "run a few steps of each point that fits, measure its memory, and store the record", self.run);
  }
};

using MemoryCommand = SweepCommand<MemoryOptions>;

MemoryCommand parse_memory(const CommandWords& words) {
  auto memory = given_command<MemoryOptions>(words);
  if (memory.sweep.output.resume && !memory.options.run)
    throw Error(
        "laptime memory: --resume needs --run; without --run every point is planned again, which takes seconds");
  set_steps_unless_given(memory.sweep, words.command, /*warmup=*/1, /*steps=*/1);
  return memory;
}

// If there is only one point or a view is given, shows each point as soon as it is ready. If there are several, shows
// their peaks at the end.
ExitCode run_memory(const MemoryCommand& command, const RankPipes& ranks) {
  const OutputConfig& config = command.sweep.output;
  const std::optional<MemoryView> view = command.options.view;
  const std::vector<ResolvedPoint> points = checked_points(command.sweep);
  const bool is_single = points.size() == 1;
  // Without --view, machine-readable formats contain every table of a single point.
  const MemoryQuery query{.view = view.value_or(is_table(config.output) ? MemoryView::kSummary : MemoryView::kAll),
                          .top = command.options.top,
                          .verbose = config.verbose};
  AnswerOutput answers(config);
  if (!view && is_single) answers.hint("more: --view phases, accounts, saved, largest, timeline, all");
  MemoryPeaks peaks(config.sort);
  PointOutput output;
  output.add = [&](const PointResult& result) {
    peaks.add(result.record, result.trace);
    if (!is_single && !view) return;
    PointAnswer answer =
        result.trace ? memory_answer(result.record, *result.trace, query) : answer_without_result(result.record);
    if (!is_single) answer.title = spoken_name(result.record.name);
    answers.add(std::move(answer));
  };
  output.finish = [&] {
    if (!is_single) answers.add(peaks.answer());
    answers.finish();
  };
  if (command.options.run) return run_watched(points, command.sweep, /*traced_steps=*/1, output, ranks);
  const KnowledgeOf knowledge = stored_knowledge(config.store);
  const PlannedCount planned = plan_each(
      points, [&](const ResolvedPoint& point, const ShowStage&) { return forecast_point(point, knowledge); },
      output.add);
  if (planned.points > 0) output.finish();
  return planning_exit(planned, points);
}

}  // namespace

constinit const Command kProfile{
    .name = "profile",
    .arguments = "[FILTER] [OPTIONS]",
    .summary = "show where the time of a step goes: by kernel, op, class of work, layer and part of attention",
    .details =
        "Takes the options of bench. After the samples, laptime alternates traced and untraced steps. A traced step "
        "takes a timestamp after each launch, or uses the GPU's own records. Times are means over the traced steps. "
        "'Of bound' is the minimum time for the FLOPs or bytes at the measured peak or bandwidth, divided by the "
        "actual time. --resume shows a stored profile with at least as many traced steps, also with another view or "
        "filter, without running. FILTER selects launches, as in laptime show, by "
        "phase, scope, layer, part, op, class, kernel, signature, flops or bytes: laptime profile \"op = matmul and "
        "part = ffn\"",
    .options = [] { return answer_options(option_rows<ProfileOptions>()); },
    .parse = action_of<parse_profile, run_profile>,
    .filter_columns = [] { return words_of(launch_columns()); },
    .examples =
        "  laptime profile --model small --pass inference,step\n"
        "  laptime profile --model small --view kernels --by phase\n"
        "  laptime profile --model small --view attention --traced-steps 20\n"
        "  laptime profile --model small --compare-dtypes\n",
};

constinit const Command kMemory{
    .name = "memory",
    .summary = "show what a step uses memory for: peak, categories, saved activations, timeline",
    .details =
        "Takes the options of bench. The bytes come from the plan, which is exact, so a model of any size takes "
        "seconds and nothing runs. With --run each point that fits runs a few steps: its memory is allocated and "
        "measured, and its record and trace are stored. For a point that does not fit, the excess is shown.",
    .options = [] { return answer_options(option_rows<MemoryOptions>()); },
    .parse = action_of<parse_memory, run_memory>,
    .examples =
        "  laptime memory --model small --pass forward,step\n"
        "  laptime memory --model 2.7B --dtype bfloat16 --view saved\n"
        "  laptime memory --model small --context 128,256 --run\n",
};

}  // namespace laptime
