// Keys, rows and order of each view.
#include "report/profile/views.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "analysis/trace_findings.h"
#include "base/units.h"
#include "record/scope_path.h"
#include "report/bars.h"
#include "report/grid_order.h"
#include "report/profile/sum_columns.h"

namespace laptime {
namespace {

constexpr char kSeparator = '\x1f';  // between the parts of a key

std::vector<std::string> parts_of(const std::string& key) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t end = key.find(kSeparator); end != std::string::npos; end = key.find(kSeparator, begin)) {
    parts.push_back(key.substr(begin, end - begin));
    begin = end + 1;
  }
  parts.push_back(key.substr(begin));
  return parts;
}

std::vector<SumRow> rows_by_total(std::vector<LaunchSum> sums) {
  std::stable_sort(sums.begin(), sums.end(), [](const LaunchSum& a, const LaunchSum& b) { return a.total > b.total; });
  std::vector<SumRow> rows;
  rows.reserve(sums.size());
  for (LaunchSum& sum : sums) rows.push_back({parts_of(sum.key), std::move(sum)});
  return rows;
}

// What part of the step no shown row contains, in seconds. A row is not counted beside one that contains it.
double seconds_not_shown(const std::vector<SumRow>& rows, const std::vector<bool>& is_shown) {
  const auto is_within_shown = [&](std::optional<size_t> row) {
    for (; row; row = rows[*row].inside) {
      if (is_shown[*row]) return true;
    }
    return false;
  };
  double seconds = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].inside) seconds += rows[i].sum.total;
    if (is_shown[i] && !is_within_shown(rows[i].inside)) seconds -= rows[i].sum.total;
  }
  return std::max(0.0, seconds);
}

// Orders the rows as asked and keeps `top` of them: the first of an asked order, otherwise those that take most time,
// which in a tree includes the rows that contain them. `rows` are those that the grid was made of.
void order_and_cut(Grid& grid, const std::vector<SumRow>& rows, const ProfileQuery& query, const StepTrace& trace) {
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (!query.sort.empty())
    order = row_order(grid, grid_order(grid.name, grid.columns, query.sort, Direction::kDescending));
  const auto top = query.top <= 0 ? rows.size() : std::min(rows.size(), static_cast<size_t>(query.top));
  std::vector<size_t> first = order;
  if (query.sort.empty()) {
    std::stable_sort(first.begin(), first.end(),
                     [&](size_t a, size_t b) { return rows[a].sum.total > rows[b].sum.total; });
  }
  std::vector<bool> is_shown(rows.size(), false);
  for (size_t i = 0; i < top; ++i) is_shown[first[i]] = true;
  std::vector<std::vector<Json>> kept;
  for (const size_t row : order) {
    if (is_shown[row]) kept.push_back(std::move(grid.rows[row]));
  }
  grid.rows = std::move(kept);
  if (top < rows.size()) {
    const bool is_tree = std::any_of(rows.begin(), rows.end(), [](const SumRow& row) { return row.inside; });
    grid.notes.push_back(fmt::format("and {} more row{} with {:.1f} % of the {}{} (--top 0 shows all)",
                                     rows.size() - top, rows.size() - top == 1 ? "" : "s",
                                     100 * seconds_not_shown(rows, is_shown) / totals_of(trace).step, pass_of(trace),
                                     is_tree ? " that no row above contains" : ""));
  }
  explain_above_bound(grid);
}

std::string phase_and_class(const TraceLaunch& launch) {
  return fmt::format("{}{}{}", launch.phase, kSeparator, launch.work_class);
}

// What a name is followed by where rows are split: " layers.3" by layer.
std::string layer_suffix(const TraceLaunch& launch, const ProfileQuery& query) {
  return query.by == ProfileBy::kLayer && launch.layer >= 0 ? fmt::format(" layers.{}", launch.layer) : "";
}

// Whose launches a table adds up: "forward", or "forward and backward together (--by phase splits them)".
std::string phases_text(const StepTrace& trace, const ProfileQuery& query) {
  std::vector<std::string> phases = phases_of(trace, query.test);
  if (phases.empty()) return "no launch";
  std::string last = phases.back();
  phases.pop_back();
  if (phases.empty()) return last;
  return fmt::format("{} and {}{}", fmt::join(phases, ", "), last,
                     query.by == ProfileBy::kPhase ? "" : " together (--by phase splits them)");
}

Grid kernels_view(const StepTrace& trace, const ProfileQuery& query, double step) {
  const bool by_phase = query.by == ProfileBy::kPhase;
  const auto key = [&](const TraceLaunch& launch) {
    std::string name = fmt::format("{}:{}{}", launch.op, launch.kernel, layer_suffix(launch, query));
    if (query.by == ProfileBy::kShape) name += fmt::format(" {}", launch.signature.substr(launch.signature.find('(')));
    return by_phase ? fmt::format("{}{}{}", launch.phase, kSeparator, name) : name;
  };
  const std::vector<SumRow> rows = rows_by_total(sum_launches(trace, key, query.test));
  std::vector<GridColumn> texts{text_column("kernel", "Name")};
  if (by_phase) texts.insert(texts.begin(), text_column("phase", "Phase"));
  Grid grid = sum_grid("kernels", fmt::format("kernels of {}, per {}", phases_text(trace, query), pass_of(trace)),
                       texts, rows, SumColumns::kKernels, step);
  order_and_cut(grid, rows, query, trace);
  return grid;
}

Grid ops_view(const StepTrace& trace, const ProfileQuery& query, double step) {
  const auto key = [&query](const TraceLaunch& launch) {
    const std::string_view op = query.by == ProfileBy::kShape ? launch.signature : launch.op;
    return fmt::format("{}{}{}{}", launch.phase, kSeparator, op, layer_suffix(launch, query));
  };
  const std::vector<SumRow> rows = rows_by_total(sum_launches(trace, key, query.test));
  Grid grid = sum_grid("ops", "ops, per " + pass_of(trace), {text_column("phase", "Phase"), text_column("op", "Op")},
                       rows, SumColumns::kAll, step);
  order_and_cut(grid, rows, query, trace);
  return grid;
}

Grid classes_view(const StepTrace& trace, const ProfileQuery& query, double step) {
  const auto key = [&query](const TraceLaunch& launch) {
    return phase_and_class(launch) + layer_suffix(launch, query);
  };
  std::vector<SumRow> rows = rows_by_total(sum_launches(trace, key, query.test));
  const std::vector<std::string> phases = phases_of(trace);
  const auto rank = [&](const SumRow& row) {
    return std::find(phases.begin(), phases.end(), row.texts.front()) - phases.begin();
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const SumRow& a, const SumRow& b) { return rank(a) < rank(b); });
  Grid grid = sum_grid("classes", "classes of work, per " + pass_of(trace),
                       {text_column("phase", "Phase"), text_column("class", "Class")}, rows, SumColumns::kAll, step);
  order_and_cut(grid, rows, query, trace);
  return grid;
}

// Total seconds of one scope in each layer.
using LayerTotals = std::map<int64_t, double>;

// A node of the tree of scopes: sums of everything inside it.
struct ScopeNode {
  std::string name;  // of its module
  LaunchSum sum;
  LayerTotals layers;
  std::vector<std::string> children;  // in the order of the model
};

void merge(LaunchSum& into, const LaunchSum& from) {
  into.calls += from.calls;
  into.total += from.total;
  into.flops += from.flops;
  into.bytes += from.bytes;
  into.uncached_bytes += from.uncached_bytes;
  into.compute_floor += from.compute_floor;
  into.memory_floor += from.memory_floor;
  into.floor += from.floor;
  into.instances.insert(into.instances.end(), from.instances.begin(), from.instances.end());
}

// Whether the launches of a selection lie in one layer of the stack.
bool has_single_layer(const StepTrace& trace, const LaunchTest& test) {
  std::set<int64_t> layers;
  for (size_t i = 0; i < trace.launch_count(); ++i) {
    const TraceLaunch launch = trace.launch(i);
    if (launch.layer >= 0 && (!test || test(launch))) layers.insert(launch.layer);
  }
  return layers.size() == 1;
}

class ScopeTree {
 public:
  // `each_layer`: layers stay apart; otherwise equal ones are one node. `by_phase`: each phase is a tree of its own.
  ScopeTree(const StepTrace& trace, const LaunchTest& test, bool each_layer, bool by_phase) {
    const auto key = [each_layer, by_phase](const TraceLaunch& launch) {
      std::string modules = by_phase ? kSeparator + std::string(launch.phase) : "";
      for (const std::string_view module : modules_of(launch.scope))
        modules += kSeparator + (each_layer ? std::string(module) : any_layer(module));
      return std::to_string(launch.layer) + (modules.empty() ? kSeparator + std::string("(no scope)") : modules);
    };
    for (const LaunchSum& sum : sum_launches(trace, key, test)) {
      const std::vector<std::string> parts = parts_of(sum.key);
      add({parts.begin() + 1, parts.end()}, std::stoll(parts.front()), sum);
    }
  }

  std::vector<SumRow> rows() const {
    std::vector<SumRow> rows;
    for (const std::string& child : nodes_.at("").children) add_rows(child, 0, std::nullopt, rows);
    return rows;
  }
  bool empty() const { return nodes_.empty(); }

 private:
  void add_rows(const std::string& path, size_t depth, std::optional<size_t> parent, std::vector<SumRow>& rows) const {
    const ScopeNode& node = nodes_.at(path);
    const size_t index = rows.size();
    rows.push_back({{std::string(2 * depth, ' ') + node.name, layers_text(node.layers)}, node.sum, parent});
    for (const std::string& child : node.children) add_rows(child, depth + 1, index, rows);
  }

  static std::string layers_text(const LayerTotals& layers) {
    if (layers.empty()) return "";
    if (layers.size() == 1) return fmt::format("layer {}", layers.begin()->first);
    const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
    const auto low = std::min_element(layers.begin(), layers.end(), less);
    const auto high = std::max_element(layers.begin(), layers.end(), less);
    return fmt::format("{} x {} ... {}", layers.size(), format_seconds(low->second), format_seconds(high->second));
  }

  void add(const std::vector<std::string>& modules, int64_t layer, const LaunchSum& sum) {
    std::string path;
    for (const std::string& module : modules) {
      const std::string parent = path;
      path += kSeparator + module;
      std::vector<std::string>& siblings = nodes_[parent].children;
      if (std::find(siblings.begin(), siblings.end(), path) == siblings.end()) siblings.push_back(path);
      ScopeNode& node = nodes_[path];
      node.name = module;
      merge(node.sum, sum);
      if (layer >= 0) node.layers[layer] += sum.total;
    }
  }

  std::map<std::string, ScopeNode> nodes_;  // by path; "" contains the outermost modules
};

Grid layers_view(const StepTrace& trace, const ProfileQuery& query, double step) {
  const bool each_layer = query.by == ProfileBy::kLayer || has_single_layer(trace, query.test);
  const ScopeTree tree(trace, query.test, each_layer, query.by == ProfileBy::kPhase);
  const std::vector<SumRow> rows = tree.empty() ? std::vector<SumRow>() : tree.rows();
  Grid grid =
      sum_grid("layers",
               fmt::format("scopes of {}, {}", phases_text(trace, query),
                           each_layer ? "layer by layer" : "equal layers in one row"),
               {text_column("scope", "Scope"), text_column("layers", "Layers")}, rows, SumColumns::kShort, step);
  order_and_cut(grid, rows, query, trace);
  return grid;
}

// The innermost range of a launch, or its op where it has none inside `attention`.
std::string part_of_attention(const TraceLaunch& launch) {
  const size_t slash = launch.range.find('/');
  if (slash == std::string_view::npos) return fmt::format("{} (one kernel)", launch.op);
  return std::string(launch.range.substr(slash + 1));
}

Grid attention_view(const StepTrace& trace, const ProfileQuery& query, double step) {
  const LaunchTest in_attention = [&](const TraceLaunch& launch) {
    return !launch.range.empty() && (!query.test || query.test(launch));
  };
  const auto key = [](const TraceLaunch& launch) {
    return fmt::format("{0}{1}{2}{1}{3}", launch.phase, kSeparator, part_of_attention(launch), launch.work_class);
  };
  std::vector<SumRow> rows;
  for (LaunchSum& sum : sum_launches(trace, key, in_attention)) rows.push_back({parts_of(sum.key), std::move(sum)});
  const size_t parts = rows.size();
  for (LaunchSum& sum : sum_launches(
           trace, [](const TraceLaunch& launch) { return std::string(launch.phase); }, in_attention)) {
    for (size_t i = 0; i < parts; ++i) {
      if (rows[i].texts.front() == sum.key) rows[i].inside = rows.size();
    }
    rows.push_back({{sum.key, "scaled dot product attention", "all"}, std::move(sum)});
  }
  Grid grid = sum_grid("attention", "scaled dot product attention, all layers, per " + pass_of(trace),
                       {text_column("phase", "Phase"), text_column("part", "Part"), text_column("class", "Class")},
                       rows, SumColumns::kShort, step);
  order_and_cut(grid, rows, query, trace);
  if (grid.rows.empty()) grid.notes.emplace_back("no launch of this selection belongs to attention");
  return grid;
}

}  // namespace

Grid classes_by_phase(const StepTrace& trace, const LaunchTest& test) {
  const StepTotals totals = totals_of(trace);
  const std::vector<std::string> phases = phases_of(trace, test);
  std::map<std::string, double> phase_total;
  std::map<std::pair<std::string, std::string>, double> seconds;  // class, phase
  std::map<std::string, double> class_total;
  for (const LaunchSum& sum : sum_launches(trace, phase_and_class, test)) {
    const std::vector<std::string> parts = parts_of(sum.key);
    phase_total[parts[0]] += sum.total;
    class_total[parts[1]] += sum.total;
    seconds[{parts[1], parts[0]}] = sum.total;
  }
  Grid grid{.name = "shares", .title = "share of each class in each phase", .columns = {}, .rows = {}, .notes = {}};
  grid.columns.push_back(text_column("class", "Class"));
  const bool has_backward = phase_total.contains("forward") && phase_total.contains("backward");
  for (const std::string& phase : phases) {
    // An optimizer has one class of work, whose share says nothing.
    grid.columns.push_back({phase + "_s", phase, Unit::kSeconds, false, 2});
    grid.columns.push_back({phase + "_share", "of " + phase, Unit::kFraction, false, phase == "optimizer" ? 1 : 0});
  }
  if (has_backward) grid.columns.push_back({"forward_backward_share", "of fwd+bwd", Unit::kFraction, false});
  const std::string whole = pass_of(trace) == "step" ? "step" : "pass";
  grid.columns.push_back({"step_s", whole, Unit::kSeconds, false});
  grid.columns.push_back({"step_share", "of " + whole, Unit::kFraction, false});
  std::vector<std::pair<std::string, double>> order(class_total.begin(), class_total.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  const auto share = [](double part, double whole) { return whole > 0 ? Json(part / whole) : Json(nullptr); };
  for (const auto& [name, total] : order) {
    std::vector<Json> row{name};
    double both = 0;
    for (const std::string& phase : phases) {
      const double part = seconds[{name, phase}];
      if (phase != "optimizer") both += part;
      row.emplace_back(part);
      row.push_back(share(part, phase_total[phase]));
    }
    if (has_backward) row.push_back(share(both, phase_total["forward"] + phase_total["backward"]));
    row.emplace_back(total);
    row.push_back(share(total, totals.step));
    grid.rows.push_back(std::move(row));
  }
  if (!test) {
    std::vector<Json> row(grid.columns.size());
    row.front() = "residue";
    row.rbegin()[1] = totals.residue();
    row.back() = share(totals.residue(), totals.step);
    grid.rows.push_back(std::move(row));
  }
  return grid;
}

Grid class_bars(const StepTrace& trace, const LaunchTest& test) {
  constexpr double kLeast = 0.01;  // of the step: thinner bars show nothing
  const double step = totals_of(trace).step;
  const std::vector<SumRow> sums = rows_by_total(sum_launches(trace, phase_and_class, test));
  Grid grid{.name = "class_bars",
            .title = "time of each class in each phase",
            .columns = {text_column("phase", "Phase"),
                        text_column("class", "Class"),
                        {"total_s", "Total", Unit::kSeconds, false},
                        {"time_share", "Time", Unit::kFraction, false}},
            .rows = {},
            .notes = {}};
  std::vector<Bar> bars;
  for (const std::string& phase : phases_of(trace, test)) {
    std::string label = phase;
    for (const SumRow& row : sums) {
      if (row.texts[0] != phase) continue;
      const double share = row.sum.total / step;
      grid.rows.push_back({phase, row.texts[1], row.sum.total, share});
      if (share < kLeast) continue;
      bars.push_back({{label, row.texts[1]}, share, fmt::format("{:.1f} %", 100 * share)});
      label.clear();
    }
  }
  grid.picture = [bars = std::move(bars)](const TableStyle& style) { return bars_text(bars, style); };
  return grid;
}

std::vector<Grid> view_tables(const StepTrace& trace, const ProfileQuery& query) {
  const double step = totals_of(trace).step;
  switch (query.view) {
    case ProfileView::kSummary:
      return {class_bars(trace, query.test), classes_by_phase(trace, query.test), kernels_view(trace, query, step)};
    case ProfileView::kKernels: return {kernels_view(trace, query, step)};
    case ProfileView::kOps: return {ops_view(trace, query, step)};
    case ProfileView::kClasses: return {classes_view(trace, query, step), classes_by_phase(trace, query.test)};
    case ProfileView::kLayers: return {layers_view(trace, query, step)};
    case ProfileView::kAttention: return {attention_view(trace, query, step)};
  }
  return {};
}

}  // namespace laptime
