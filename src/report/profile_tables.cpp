// The tables of a profile: rows and order for each view.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "base/words.h"
#include "distribution/median.h"
#include "distribution/moments.h"
#include "record/step_trace.h"
#include "report/columns.h"
#include "report/profile_answer.h"
#include "report/words.h"

namespace laptime {
namespace {

struct SumRow {
  std::vector<TableCell> texts;
  LaunchSum sum;
  std::optional<size_t> inside = {};  // index of the row whose sum includes this row
};

// The text cells of a launch's row. Launches with equal texts share a row.
using RowTexts = std::function<std::vector<std::string>(const TraceLaunch& launch)>;

// Rows in the order of their first launches.
std::vector<SumRow> rows_of(const RowTexts& texts, const StepTrace& trace, const LaunchTest& test) {
  const auto key = [&](const TraceLaunch& launch) { return joined(texts(launch), "\n"); };
  std::vector<SumRow> rows;
  for (LaunchSum& sum : sum_launches(trace, key, test)) {
    const std::vector<std::string> words = texts(sum.first);
    rows.push_back({{words.begin(), words.end()}, std::move(sum)});
  }
  return rows;
}

// Share, time, calls and the fraction of the bound; the other columns are only for programs if `is_short`.
std::vector<TableColumn> sum_columns(bool is_short) {
  constexpr size_t kShort = 4;
  std::vector<TableColumn> columns = columns_from(
      "time_share=share; total_s=time; calls=calls@2; of_roofline=of bound@1; <bound=bound@3; mean_s=avg@4; "
      "median_s=med@5; min_s=min@6; max_s=max@6; std_s=std@7; flops=FLOPs@8; bytes=bytes@8; "
      "flops_per_second=FLOP/s@9; bytes_per_second=bytes/s@9");
  for (size_t i = kShort; is_short && i < columns.size(); ++i) columns[i].for_people = false;
  return columns;
}

std::vector<TableCell> sum_cells(const LaunchSum& s, double whole) {
  const auto rate = [&](double amount) { return amount > 0 ? share_of(amount, s.total) : Json(nullptr); };
  TableCell of_bound(s.of_roofline());
  if (s.of_roofline().value_or(0) > 1 + 1e-6) of_bound.text = ">100 %";
  std::vector<double> sorted = s.instances;
  std::ranges::sort(sorted);
  const Moments moments = moments_of_sorted(sorted);
  return {share_of(s.total, whole),
          s.total,
          s.calls,
          std::move(of_bound),
          s.bound().empty() ? Json(nullptr) : Json(s.bound()),
          moments.mean,
          median_of_sorted(sorted),
          sorted.front(),
          sorted.back(),
          moments.std_sample,
          s.flops,
          static_cast<int64_t>(s.bytes),
          rate(s.flops),
          rate(s.bytes)};
}

// The seconds of all rows that no shown row covers. A row inside a shown row is not counted again.
double seconds_not_shown(const std::vector<SumRow>& rows, const std::vector<bool>& is_shown) {
  const auto is_within_shown = [&](std::optional<size_t> row) {
    while (row && !is_shown[*row]) row = rows[*row].inside;
    return row.has_value();
  };
  double seconds = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].inside) seconds += rows[i].sum.total;
    if (is_shown[i] && !is_within_shown(rows[i].inside)) seconds -= rows[i].sum.total;
  }
  return std::max(0.0, seconds);
}

// A table of sums, cut to `top` rows: the first ones in the order that the query requests or, if it requests none, the
// slowest. The slowest rows of a tree include their parents, because a parent takes at least as long as its children.
Table sum_table(const std::string& name, std::string_view text_columns, const std::vector<SumRow>& rows,
                const StepTrace& trace, const ProfileQuery& query) {
  const double step = totals_of(trace).step;
  Table table{.name = name, .columns = columns_from(text_columns)};
  for (TableColumn& column : sum_columns(query.view == ProfileView::kSummary))
    table.columns.push_back(std::move(column));
  for (const SumRow& row : rows) {
    std::vector<TableCell> cells = row.texts;
    if (query.view == ProfileView::kSummary) cells.front().text = "  " + cells.front().value.text();
    for (TableCell& cell : sum_cells(row.sum, step)) cells.push_back(std::move(cell));
    table.add(std::move(cells));
  }
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (!query.sort.empty()) order = row_order(table, query.sort, /*is_descending_by_default=*/true);
  const auto top = query.top <= 0 ? rows.size() : std::min(rows.size(), static_cast<size_t>(query.top));
  std::vector<size_t> first = order;
  if (query.sort.empty())
    std::ranges::stable_sort(first, std::greater{}, [&](size_t row) { return rows[row].sum.total; });
  std::vector<bool> is_shown(rows.size(), false);
  for (size_t i = 0; i < top; ++i) is_shown[first[i]] = true;
  std::vector<TableRow> kept;
  for (const size_t row : order) {
    if (is_shown[row]) kept.push_back(std::move(table.rows[row]));
  }
  table.rows = std::move(kept);
  if (top < rows.size()) {
    constexpr double kRounding = 1e-9;  // relative rounding error of sums of seconds
    const double share = step > 0 ? seconds_not_shown(rows, is_shown) / step : 0;
    table.notes.push_back(
        fmt::format("  ... {} more, {}", rows.size() - top, percent_text(share < kRounding ? 0 : share)));
  }
  return table;
}

// Sorts rows by time, longest first. With `by_phase`, groups rows by phase in execution order, and sorts within each
// phase.
std::vector<SumRow> longest_first(std::vector<SumRow> rows, const StepTrace& trace, bool by_phase) {
  std::ranges::stable_sort(rows, std::greater{}, [](const SumRow& row) { return row.sum.total; });
  if (!by_phase) return rows;
  const std::vector<LaunchSum> phases = sum_launches(trace, phase_of);
  std::ranges::stable_sort(rows, {}, [&](const SumRow& row) {
    return std::ranges::find(phases, row.sum.first.phase, &LaunchSum::key) - phases.begin();
  });
  return rows;
}

// Classes as rows, with their seconds and shares in each phase and in the whole step, and their share in forward +
// backward. If launches are selected, only their classes and phases are shown, but shares are still of whole phases.
// The last row is the time between launches, unless launches are selected.
Table shares_table(const StepTrace& trace, const LaunchTest& test) {
  const StepTotals totals = totals_of(trace);
  const std::vector<LaunchSum> phases = sum_launches(trace, phase_of, test);
  std::map<std::string, std::map<std::string, double>> seconds;  // seconds[class][phase]
  for (const LaunchSum& sum : sum_launches(trace, class_key, test))
    seconds[class_of(sum.first)][phase_of(sum.first)] = sum.total;
  std::map<std::string, double> whole_phases;
  for (const LaunchSum& phase : sum_launches(trace, phase_of)) whole_phases[phase.key] = phase.total;
  std::string columns = "<class=class; ";
  for (const LaunchSum& phase : phases) columns += fmt::format("{0}_s={0}@2; {0}_share=of {0}@1; ", phase.key);
  const auto has = [&](const char* phase) { return find_in(phases, phase, &LaunchSum::key) != nullptr; };
  const bool has_both = has("forward") && has("backward");
  if (has_both) columns += "forward_backward_share=of fwd+bwd@3; ";
  columns += fmt::format("step_s={0}; step_share=of {0}", pass_of(trace) == "step" ? "step" : "pass");
  Table table{.name = "shares", .columns = columns_from(columns)};
  const auto without_optimizer = [](const std::map<std::string, double>& by_phase) {
    double sum = 0;
    for (const auto& [phase, time] : by_phase) sum += phase == "optimizer" ? 0 : time;
    return sum;
  };
  for (const LaunchSum& row : largest_first(sum_launches(trace, class_of, test))) {
    std::vector<TableCell> cells{row.key};
    std::map<std::string, double>& of_row = seconds[row.key];
    for (const LaunchSum& phase : phases) {
      cells.emplace_back(of_row[phase.key]);
      cells.emplace_back(share_of(of_row[phase.key], whole_phases[phase.key]));
    }
    if (has_both) cells.emplace_back(share_of(without_optimizer(of_row), without_optimizer(whole_phases)));
    cells.emplace_back(row.total);
    cells.emplace_back(share_of(row.total, totals.step));
    table.add(std::move(cells));
  }
  if (!test) {
    std::vector<TableCell> cells(table.columns.size());
    cells.front() = "residue";
    cells.rbegin()[1] = totals.residue();
    cells.back() = share_of(totals.residue(), totals.step);
    table.add(std::move(cells));
  }
  return table;
}

bool has_single_layer(const StepTrace& trace, const LaunchTest& test) {
  const auto layer = [](const TraceLaunch& launch) { return std::to_string(launch.layer); };
  return std::ranges::count_if(sum_launches(trace, layer, test),
                               [](const LaunchSum& sum) { return sum.first.layer >= 0; }) == 1;
}

// The tree of scopes, level by level: each node sums everything inside it.
class ScopeTree {
 public:
  // `each_layer`: layers are separate nodes; otherwise equal layers share a node. `by_phase`: each phase has its own
  // tree.
  ScopeTree(const StepTrace& trace, const LaunchTest& test, bool each_layer, bool by_phase) {
    for (size_t depth = 0;; ++depth) {
      const auto path = [=](const TraceLaunch& launch) { return path_of(launch, depth, each_layer, by_phase); };
      const auto is_here = [&](const TraceLaunch& launch) { return (!test || test(launch)) && !path(launch).empty(); };
      std::vector<LaunchSum> level = sum_launches(trace, path, is_here);
      if (level.empty()) break;
      levels_.push_back(std::move(level));
      const auto path_and_layer = [&](const TraceLaunch& launch) {
        return fmt::format("{}{}", path(launch), launch.layer);
      };
      for (const LaunchSum& sum : sum_launches(trace, path_and_layer, is_here)) {
        if (sum.first.layer >= 0) layers_[path(sum.first)].emplace_back(sum.first.layer, sum.total);
      }
    }
  }

  std::vector<SumRow> rows() const {
    std::vector<SumRow> rows;
    if (!levels_.empty()) add_rows("", 0, std::nullopt, rows);
    return rows;
  }

 private:
  // The names of the enclosing modules down to `depth`, outermost first, one per line; empty for a launch that is not
  // nested that deep.
  static std::string path_of(const TraceLaunch& launch, size_t depth, bool each_layer, bool by_phase) {
    std::vector<std::string> modules;
    if (by_phase) modules.emplace_back(launch.phase);
    for (const std::string_view module : modules_of(launch.scope))
      modules.push_back(each_layer ? std::string(module) : any_layer(module));
    if (modules.empty()) modules.emplace_back("(no scope)");
    if (depth >= modules.size()) return "";
    std::string path;
    for (size_t i = 0; i <= depth; ++i) path += modules[i] + "\n";
    return path;
  }

  // Adds rows for the nodes inside `outer`, each followed by its children.
  void add_rows(const std::string& outer, size_t depth, std::optional<size_t> parent, std::vector<SumRow>& rows) const {
    if (depth == levels_.size()) return;
    for (const LaunchSum& sum : levels_[depth]) {
      if (!sum.key.starts_with(outer)) continue;
      const std::string name = sum.key.substr(outer.size(), sum.key.size() - outer.size() - 1);
      std::vector<TableCell> texts{std::string(2 * depth, ' ') + name};
      texts.resize(5);
      if (const auto found = layers_.find(sum.key); found != layers_.end()) {
        const auto& layers = found->second;
        const auto [low, high] =
            std::ranges::minmax_element(layers, [](const auto& a, const auto& b) { return a.second < b.second; });
        texts[1].text = layers.size() == 1 ? fmt::format("layer {}", layers.front().first)
                                           : fmt::format("{} x {} to {}", layers.size(), brief_seconds(low->second),
                                                         brief_seconds(high->second));
        texts[2] = layers.size();
        texts[3] = low->second;
        texts[4] = high->second;
      }
      const size_t index = rows.size();
      rows.push_back({std::move(texts), sum, parent});
      add_rows(sum.key, depth + 1, index, rows);
    }
  }

  std::vector<std::vector<LaunchSum>> levels_;                             // a sum's key is its node's path
  std::map<std::string, std::vector<std::pair<int64_t, double>>> layers_;  // for each path: total seconds in each layer
};

Table layers_table(const StepTrace& trace, const ProfileQuery& query) {
  const bool each_layer = query.by == ProfileBy::kLayer || has_single_layer(trace, query.test);
  const ScopeTree tree(trace, query.test, each_layer, query.by == ProfileBy::kPhase);
  Table table = sum_table("layers", "<scope=scope; <layers=layers@3; layer_count; layer_low_s; layer_high_s",
                          tree.rows(), trace, query);
  table.columns[1].for_data = false;
  return table;
}

// The launch's range within attention; for a launch without an inner range, its op.
std::string part_of_attention(const TraceLaunch& launch) {
  const size_t slash = launch.range.find('/');
  if (slash == std::string_view::npos) return fmt::format("{} (one kernel)", launch.op);
  return std::string(launch.range.substr(slash + 1));
}

Table attention_table(const StepTrace& trace, const ProfileQuery& query) {
  const LaunchTest in_attention = [&](const TraceLaunch& launch) {
    return !launch.range.empty() && (!query.test || query.test(launch));
  };
  const RowTexts part = [](const TraceLaunch& launch) {
    return std::vector{phase_of(launch), part_of_attention(launch), class_of(launch)};
  };
  const RowTexts whole = [](const TraceLaunch& launch) {
    return std::vector<std::string>{phase_of(launch), "scaled dot product attention", "all"};
  };
  std::vector<SumRow> rows = rows_of(part, trace, in_attention);
  const size_t parts = rows.size();
  for (SumRow& row : rows_of(whole, trace, in_attention)) {
    for (size_t i = 0; i < parts; ++i) {
      if (rows[i].sum.first.phase == row.sum.first.phase) rows[i].inside = rows.size();
    }
    rows.push_back(std::move(row));
  }
  Table table = sum_table("attention", "<phase=phase; <part=part; <class=class", rows, trace, query);
  if (rows.empty()) table.notes.emplace_back("no selected launch belongs to attention");
  return table;
}

}  // namespace

std::vector<Table> profile_tables(const StepTrace& trace, const ProfileQuery& query) {
  std::vector<Table> tables;
  const bool is_summary = query.view == ProfileView::kSummary;
  const bool by_shape = query.by == ProfileBy::kShape;
  const bool by_phase = query.by == ProfileBy::kPhase;
  const auto shows = [&](ProfileView view) { return query.view == view || query.view == ProfileView::kAll; };
  const auto add = [&](const char* name, const char* columns, const RowTexts& texts, bool in_phases = false) {
    const std::vector<SumRow> rows = longest_first(rows_of(texts, trace, query.test), trace, in_phases);
    tables.push_back(sum_table(name, columns, rows, trace, query));
  };
  const auto of_layer = [&](std::string name, const TraceLaunch& launch) {
    const bool is_split = query.by == ProfileBy::kLayer && launch.layer >= 0;
    return is_split ? fmt::format("{} layers.{}", name, launch.layer) : name;
  };
  const RowTexts kernel = [&](const TraceLaunch& launch) {
    std::string name = of_layer(kernel_of(launch), launch);
    const std::string_view shapes =
        launch.signature.substr(std::min(launch.signature.find('('), launch.signature.size()));
    if (by_shape && !shapes.empty()) name += fmt::format(" {}", shapes);
    return by_phase ? std::vector{phase_of(launch), name} : std::vector{name};
  };
  const RowTexts op = [&](const TraceLaunch& launch) {
    return std::vector{phase_of(launch), of_layer(std::string(by_shape ? launch.signature : launch.op), launch)};
  };
  const RowTexts work_class = [&](const TraceLaunch& launch) {
    return std::vector{phase_of(launch), of_layer(class_of(launch), launch)};
  };
  if (shows(ProfileView::kKernels) || is_summary)
    add("kernels", by_phase ? "<phase=phase; <kernel=kernel" : "<kernel=kernel", kernel);
  if (shows(ProfileView::kOps)) add("ops", "<phase=phase; <op=op", op);
  if (shows(ProfileView::kClasses)) add("classes", "<phase=phase; <class=class", work_class, /*in_phases=*/true);
  if (shows(ProfileView::kClasses) || is_summary) tables.push_back(shares_table(trace, query.test));
  if (shows(ProfileView::kLayers)) tables.push_back(layers_table(trace, query));
  if (shows(ProfileView::kAttention)) tables.push_back(attention_table(trace, query));
  return tables;
}

}  // namespace laptime
