// Builds tables of predicted and published figures.
#include "cluster/published_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <utility>

#include "base/words.h"
#include "distribution/median.h"
#include "measure/describe.h"
#include "table/value_text.h"

namespace laptime {
namespace {

using Figures = std::vector<const PredictedRun*>;

// The absolute values of the relative errors, ascending.
std::vector<double> sizes_of(const Figures& figures) {
  std::vector<double> sizes = mapped(figures, [](const PredictedRun* figure) { return std::abs(figure->error()); });
  std::ranges::sort(sizes);
  return sizes;
}

std::string size_words(double parameters) {
  constexpr std::array<std::pair<double, std::string_view>, 4> kSizes{
      {{1e9, "below 1B"},
       {1e10, "1B to 10B"},
       {1e11, "10B to 100B"},
       {std::numeric_limits<double>::infinity(), "100B and more"}}};
  const auto* const size = std::ranges::find_if(kSizes, [&](const auto& one) { return parameters < one.first; });
  return std::string(size->second);
}

struct Grouping {
  std::string_view title;
  std::function<std::string(const PredictedRun&)> of;
};

void add_groups(Table& table, const Grouping& grouping, const Figures& figures) {
  std::map<std::string, Figures> groups;
  for (const PredictedRun* figure : figures) groups[grouping.of(*figure)].push_back(figure);
  bool is_first = true;
  for (const auto& [name, members] : groups) {
    const std::vector<double> sizes = sizes_of(members);
    const auto ratio = [](const PredictedRun* figure) { return *figure->predicted / figure->value(); };
    std::vector<double> ratios = mapped(members, ratio);
    std::ranges::sort(ratios);
    TableRow row{.cells = {name, static_cast<int64_t>(members.size()), percentile_of_sorted(sizes, 0.5),
                           percentile_of_sorted(sizes, 0.9),
                           TableCell(Json(percentile_of_sorted(ratios, 0.5)),
                                     fixed_text(percentile_of_sorted(ratios, 0.5), 2))}};
    if (std::exchange(is_first, false)) row.heading = std::string(grouping.title);
    table.rows.push_back(std::move(row));
  }
}

Table rows_of(const PredictedRuns& predicted, bool flagged, std::string name) {
  Table table{.name = std::move(name),
              .title = flagged ? "Doubted by the person who collected them:" : "Figures:",
              .columns = columns_from("<id=id; <quantity=quantity; value=published; predicted=predicted; low=low@2; "
                                      "high=high@2; error=error; <reason=not predicted because@1")};
  for (TableColumn& column : table.columns) {
    if (column.key == "error") column.unit = Unit::kFraction;
  }
  for (const PredictedRun& one : predicted.runs) {
    if (one.run.is_flagged() != flagged) continue;
    const bool has_prediction = one.predicted.has_value();
    table.add({one.run.id, one.run.quantity, one.value(), one.predicted, one.low, one.high,
               has_prediction ? TableCell(Json(one.error()), change_text(one.error())) : TableCell(),
               one.refusal.empty() ? TableCell() : TableCell(one.refusal)});
  }
  return table;
}

Figures predicted_figures(const PredictedRuns& predicted, bool flagged) {
  Figures figures;
  figures.reserve(predicted.runs.size());
  for (const PredictedRun& one : predicted.runs) {
    if (one.predicted && one.run.is_flagged() == flagged) figures.push_back(&one);
  }
  return figures;
}

// For example "pytorch-eager, one GPU".
std::string program_words(const DescribedRun& run) {
  const ParallelLayout& layout = run.step.layout;
  const bool divides = layout.tensor * layout.pipeline * layout.context > 1;
  return fmt::format("{}, {}", name_of(run.program),
                     layout.ranks == 1 ? "one GPU"
                     : divides         ? "model over GPUs"
                                       : "data parallel");
}

// For example "914 of 1120 figures predicted: median error 4.7 %, 90 % within 15 %". Excludes flagged figures.
std::string published_conclusion(const PredictedRuns& predicted) {
  const Figures figures = predicted_figures(predicted, false);
  const auto counted_figures =
      std::ranges::count_if(predicted.runs, [](const auto& one) { return !one.run.is_flagged(); });
  if (figures.empty()) return fmt::format("none of {} figures can be predicted", counted_figures);
  const std::vector<double> sizes = sizes_of(figures);
  std::string line =
      fmt::format("{} of {} figures predicted: median error {}, 90 % within {}", figures.size(), counted_figures,
                  percent_text(percentile_of_sorted(sizes, 0.5)), percent_text(percentile_of_sorted(sizes, 0.9)));
  int64_t inside = 0;
  int64_t ranged = 0;
  for (const PredictedRun* figure : figures) {
    if (!figure->low) continue;
    ++ranged;
    if (figure->value() >= *figure->low && figure->value() <= *figure->high) ++inside;
  }
  if (ranged > 0)
    line += fmt::format("; {} inside their 90 % interval",
                        whole_percent_text(static_cast<double>(inside) / static_cast<double>(ranged)));
  return line;
}

}  // namespace

PointAnswer published_answer(const PredictedRuns& predicted, const std::string& name, bool verbose) {
  PointAnswer answer{.name = name};
  const Figures figures = predicted_figures(predicted, false);
  answer.say(published_conclusion(predicted));
  if (const Figures flagged = predicted_figures(predicted, true); !flagged.empty())
    answer.say(fmt::format("not included: {} flagged as doubtful in the data, median error {}",
                           counted(flagged.size(), "figure"),
                           percent_text(percentile_of_sorted(sizes_of(flagged), 0.5))));
  std::map<std::string, int64_t> reasons;
  for (const PredictedRun& one : predicted.runs) {
    if (!one.refusal.empty()) ++reasons[one.refusal];
  }
  for (const auto& [reason, count] : reasons) answer.say(fmt::format("  {} not predicted: {}", count, reason));

  Table groups{.name = "groups",
               .columns = columns_from("<group=; figures=figures; median_error=median error; error_90=90 % within; "
                                       "ratio=predicted / published")};
  for (TableColumn& column : groups.columns) {
    if (column.key == "median_error" || column.key == "error_90") column.unit = Unit::kFraction;
  }
  const std::array<Grouping, 4> groupings{
      {{"hardware", [](const PredictedRun& one) { return one.described.config.device.substr(kMachinePrefix.size()); }},
       {"program", [](const PredictedRun& one) { return program_words(one.described); }},
       {"parameters", [](const PredictedRun& one) { return size_words(one.described.step.parameters); }},
       {"source", [](const PredictedRun& one) { return one.run.source; }}}};
  for (const Grouping& grouping : groupings) add_groups(groups, grouping, figures);
  answer.parts.push_back({.table = std::move(groups), .for_data = false});
  std::array rows{rows_of(predicted, false, "published"), rows_of(predicted, true, "flagged")};
  for (Table& table : rows) {
    const bool for_people = verbose && !table.rows.empty();  // without rows, only the title would show
    answer.parts.push_back({.table = std::move(table), .for_people = for_people});
  }
  return answer;
}

Json published_page(const PredictedRuns& predicted, const std::string& name) {
  constexpr double kGibibyte = 1 << 30;
  Json points = Json::array();
  for (const PredictedRun* one : predicted_figures(predicted, false)) {
    const RunConfig& config = one->described.config;
    const double published = one->time ? one->published_seconds : one->value() * kGibibyte;
    const double predicted_value = one->time ? one->predicted_seconds : *one->predicted * kGibibyte;
    points.push_back({{"id", one->run.id},
                      {"model", one->run.model_name},
                      {"machine", config.device.substr(kMachinePrefix.size())},
                      {"program", program_words(one->described)},
                      {"arithmetic", name_of(config.dtype)},
                      {"quantity", one->run.quantity},
                      {"source", one->run.source},
                      {"kind", one->time ? "time" : "memory"},
                      {"published", published},
                      {"predicted", predicted_value},
                      {"error", predicted_value / published - 1}});
  }
  const Binary binary = this_binary();
  return {{"title", fmt::format("predictions of {}", name)},
          {"headline", published_conclusion(predicted)},
          {"points", std::move(points)},
          {"program", fmt::format("{} {}", binary.version, binary.commit)}};
}

PointAnswer published_work_answer(const PredictedRuns& predicted, const std::string& name) {
  PointAnswer answer{.name = name};
  Table runs{.name = "runs",
             .columns = columns_from(
                 "<id; <source; <note; <quantity; share; <machine; <hardware; <program; <arithmetic; published_s; "
                 "predicted_s; ranks; tensor; pipeline; context; chunks; fills_bubbles; <shard; "
                 "in_node; offloads; <checkpointing; layers; micro_batches; micro_tokens; d_model; "
                 "parameters; network; recorded; grouped; kv_width")};
  for (const PredictedRun& one : predicted.runs) {
    if (!one.time || !one.predicted) continue;
    const ParallelStep& step = one.described.step;
    const ParallelLayout& layout = step.layout;
    runs.add({one.run.id,
              one.run.source,
              one.run.note,
              one.run.quantity,
              static_cast<int64_t>(one.share),
              one.described.config.device.substr(kMachinePrefix.size()),
              one.run.hardware,
              std::string(name_of(one.described.program)),
              std::string(name_of(one.described.config.dtype)),
              one.published_seconds,
              one.predicted_seconds,
              layout.ranks,
              layout.tensor,
              layout.pipeline,
              layout.context,
              layout.chunks,
              layout.fills_bubbles,
              std::string(name_of(layout.shard)),
              layout.shards_in_node,
              layout.offloads,
              std::string(name_of(step.checkpointing)),
              step.layers,
              step.micro_batches,
              step.tokens,
              step.d_model,
              step.parameters,
              step.network_bandwidth,
              one.described.is_recorded,
              groups_updates(one.described.program, one.described.config.optimizer),
              step.kv_width});
  }
  Table launches{
      .name = "launches",
      .columns = columns_from(
          "share; <phase; in_layer; in_attention; <kind; count; later; matrices; rows; columns; work; moved; "
          "speedup; unaligned")};
  for (size_t share = 0; share < predicted.shares.size(); ++share) {
    for (const ShareLaunch& launch : predicted.shares[share]) {
      const LaunchWork& work = launch.work;
      const char* const kind = work.kind == LaunchWork::Kind::kProduct     ? "product"
                               : work.kind == LaunchWork::Kind::kAttention ? "attention"
                                                                           : "other";
      launches.add({static_cast<int64_t>(share), std::string(name_of(launch.phase)), launch.in_layer,
                    launch.in_attention, std::string(kind), launch.count, launch.later, work.written.count,
                    work.written.rows, work.written.columns, work.flops, work.bytes, work.speedup, work.unaligned});
    }
  }
  answer.keep(std::move(runs));
  answer.keep(std::move(launches));
  answer.say("with --published, --view kernels gives data for tools/fit_machines; add --output json");
  return answer;
}

}  // namespace laptime
