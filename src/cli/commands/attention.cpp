// The sweep of attention alone, and its options.
#include "cli/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/words.h"
#include "cli/commands/bench.h"
#include "cli/destination.h"
#include "cli/progress.h"
#include "cli/record_output.h"
#include "cli/sweep_words.h"
#include "cli/terminal.h"
#include "cli/user_store.h"
#include "config/model_presets.h"
#include "config/ready_sweeps.h"
#include "measure/describe.h"
#include "measure/forecast_point.h"
#include "model/model_card.h"
#include "prepare/resolved_point.h"
#include "sweep/sweep_points.h"
#include "table/value_text.h"

namespace laptime {
namespace {

// The options that attention alone takes and its name does not decide, with the values that its sweep starts from.
std::vector<OptionRow> attention_options() {
  const Sweep defaults = attention_sweep();
  const ModelCard& card = card_of(kAttentionModel);
  std::vector<OptionRow> of_points;
  for (OptionRow& row : option_rows<RunConfig>()) {
    if (row.option.flag == "model" || row.option.flag == "edition" || !card.takes(row.option.flag)) continue;
    of_points.push_back(std::move(row));
  }
  std::vector<OptionRow> rows = sweep_options(std::move(of_points));
  show_defaults(rows, defaults);
  for (OptionRow& row : rows) {
    if (row.option.flag == "columns") row.fallback = defaults.output.columns;
  }
  return rows;
}

// The values of the options with several, but for the context: "d_model 16 eager".
std::string conditions_of(const Sweep& sweep, const SweepPoint& point) {
  const JsonObject config = describe_planned(point).config;
  std::vector<std::string> words;
  for (const OptionRow& row : option_rows<RunConfig>()) {
    const bool has_values = std::any_of(sweep.axes.begin(), sweep.axes.end(), [&](const Axis& axis) {
      return axis.flag == row.option.flag && axis.values.size() > 1;
    });
    if (row.option.flag == "context" || !has_values) continue;
    const std::string key(row.option.key);
    words.push_back(key == "mode" || key == "dtype" ? config.text(key) : fmt::format("{} {}", key, config.text(key)));
  }
  return joined(words, " ");
}

// One line: the largest context that the memory holds, for each combination of the other options.
std::string largest_contexts(const Sweep& sweep) {
  const KnowledgeOf knowledge = stored_knowledge(sweep.output.store);
  const std::vector<SweepPoint> points = points_of(sweep);
  PlanningLine line(standard_error(), points.size());
  std::set<std::string> seen;
  std::vector<std::string> texts;
  for (size_t i = 0; i < points.size(); ++i) {
    const SweepPoint& point = points[i];
    if (!ResolvedPoint(point).device) continue;
    const std::string conditions = conditions_of(sweep, point);
    if (!seen.insert(conditions).second) continue;
    line.show(i, conditions, "largest context that fits");
    const int64_t largest = largest_that_fits(point.config, knowledge, Enlarged::kContext, kLargestContext);
    texts.push_back(fmt::format("{}{}{}{}", conditions, conditions.empty() ? "" : " ",
                                grouped_digits(std::to_string(largest)), largest == kLargestContext ? " or more" : ""));
  }
  if (texts.empty()) return "";
  const OutputStream output = standard_output();
  return broken_at_spaces(fmt::format("largest context that fits: {}", joined(texts, "; ")), output.width, 2) + "\n";
}

ExitCode run_attention(const BenchCommand& command) {
  const ExitCode code = run(command);
  if (code != ExitCode::kInterrupted && shows_table(command.sweep.output) && !command.sweep.output.quiet)
    write_all(standard_output().descriptor, largest_contexts(command.sweep), kStandardOutput);
  return code;
}

}  // namespace

BenchCommand parse_attention(const CommandWords& words) {
  reject_positionals(words);
  BenchCommand bench{starting_sweep(words, attention_sweep())};
  for (const Axis& axis : bench.sweep.axes) {
    if (axis.flag != "model" || axis.values == std::vector<std::string>{std::string(kAttentionModel)}) continue;
    throw Error::format("laptime attention: the file of --config is a sweep of model {}; run it with laptime bench",
                        joined(axis.values, ", "));
  }
  set_option(bench.sweep, "model", words.command, {std::string(kAttentionModel)});
  set_given(bench.sweep, words);
  return bench;
}

constinit const Command kAttention{
    .name = "attention",
    .arguments = "[OPTIONS]",
    .summary = "attention alone: time and memory of forward and backward, for any width and length",
    .details =
        "Softmax(q k^T / sqrt(d)) v of one head, q, k, v [batch, 1, context, d-model]; backward starts from a gradient "
        "of ones. --mode eager runs one primitive at a time and holds the scores and their softmax; --mode compile is "
        "one blocked kernel that holds neither; --mode compile --lower scaled_dot_product_attention lies between them: "
        "two products with a fused softmax, its weights held. Memory is that of the plan, in exact bytes: a point that "
        "does not fit is a row that says so before anything is tried. The largest context "
        "that fits stands below the table; --verbose adds up the memory of the smallest point that does not fit. "
        "Everything else is as in laptime bench --model attention.",
    .options = attention_options,
    .parse = action_of<parse_attention, run_attention>,
    .examples = "  laptime attention --d-model 64 --context 1024,4096 --mode eager,compile\n",
};

}  // namespace laptime
