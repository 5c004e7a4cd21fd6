// The sweep of attention alone, and its options.
#include "cli/commands/attention.h"

#include <fmt/ranges.h>

#include <string>
#include <utility>

#include "base/error.h"
#include "base/words.h"
#include "cli/sweep_words.h"
#include "config/attention_sweep.h"
#include "config/model_presets.h"
#include "model/model_card.h"

namespace laptime {
namespace {

// The options that attention alone takes and its name does not decide, with the values that its sweep starts from.
std::vector<OptionRow> attention_options() {
  const Sweep defaults = attention_sweep();
  const ModelCard& card = card_of(kAttentionModel);
  std::vector<OptionRow> of_points;
  for (OptionRow& row : option_rows<RunConfig>()) {
    if (row.option.flag == "model" || row.option.flag == "edition" || !card.takes(row.option.flag)) continue;
    for (const Axis& axis : defaults.axes) {
      if (axis.flag == row.option.flag) row.fallback = fmt::format("{}", fmt::join(axis.values, ","));
    }
    of_points.push_back(std::move(row));
  }
  std::vector<OptionRow> rows = sweep_options(std::move(of_points));
  for (OptionRow& row : rows) {
    if (row.option.flag == "columns") row.fallback = defaults.output.columns;
  }
  return rows;
}

}  // namespace

BenchCommand parse_attention(const CommandWords& words) {
  reject_positionals(words);
  BenchCommand bench{starting_sweep(words, attention_sweep())};
  for (const Axis& axis : bench.sweep.axes) {
    if (axis.flag != "model" || axis.values == std::vector<std::string>{std::string(kAttentionModel)}) continue;
    throw Error::format("laptime attention: the file of --config is a sweep of model {}; run it with laptime bench",
                        fmt::join(axis.values, ", "));
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
        "does not fit is a row that says so before anything is tried, and the smallest one is worked out below the "
        "table. All else is as in laptime bench --model attention.",
    .options = attention_options,
    .parse = [](const CommandWords& words) -> CommandAction {
      return [command = parse_attention(words)] { return run(command); };
    },
};

}  // namespace laptime
