// Keys, rows and order of each view.
#include "report/profile/views.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/units.h"
#include "record/scope_path.h"
#include "report/bars.h"
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
  for (LaunchSum& sum : sums) rows.push_back({parts_of(sum.key), std::move(sum)});
  return rows;
}

// Orders the rows as asked and keeps the first ones; the rest is added up in a note.
void order_and_cut(Grid& grid, const ProfileQuery& query) {
  if (!query.sort.empty()) sort_grid(grid, query.sort);
  const auto top = static_cast<size_t>(query.top);
  if (query.top <= 0 || grid.rows.size() <= top) return;
  double rest = 0;
  const auto total = std::find_if(grid.columns.begin(), grid.columns.end(),
                                  [](const GridColumn& column) { return column.key == "time_share"; });
  for (size_t i = top; i < grid.rows.size(); ++i)
    rest += grid.rows[i][static_cast<size_t>(total - grid.columns.begin())].get<double>();
  grid.notes.push_back(fmt::format("and {} more rows with {:.1f} % of the step (--top 0 shows all)",
                                   grid.rows.size() - top, 100 * rest));
  grid.rows.resize(top);
}

std::string phase_and_class(const TraceLaunch& launch) {
  return fmt::format("{}{}{}", launch.phase, kSeparator, launch.work_class);
}

Grid kernels_view(const StepTrace& trace, const ProfileQuery& query, double step) {
  const bool by_shape = query.by_shape;
  const auto key = [by_shape](const TraceLaunch& launch) {
    std::string name = fmt::format("{}:{}", launch.op, launch.kernel);
    return by_shape ? fmt::format("{} {}", name, launch.signature.substr(launch.signature.find('('))) : name;
  };
  Grid grid = sum_grid("kernels", "kernels, per step", {text_column("kernel", "Name")},
                       rows_by_total(sum_launches(trace, key, query.test)), SumColumns::kKernels, step);
  order_and_cut(grid, query);
  return grid;
}

Grid ops_view(const StepTrace& trace, const ProfileQuery& query, double step) {
  const bool by_shape = query.by_shape;
  const auto key = [by_shape](const TraceLaunch& launch) {
    const std::string_view op = by_shape ? launch.signature : launch.op;
    return fmt::format("{}{}{}", launch.phase, kSeparator, op);
  };
  Grid grid = sum_grid("ops", "ops, per step", {text_column("phase", "Phase"), text_column("op", "Op")},
                       rows_by_total(sum_launches(trace, key, query.test)), SumColumns::kAll, step);
  order_and_cut(grid, query);
  return grid;
}

Grid classes_view(const StepTrace& trace, const ProfileQuery& query, double step) {
  Grid grid =
      sum_grid("classes", "classes of work, per step", {text_column("phase", "Phase"), text_column("class", "Class")},
               rows_by_total(sum_launches(trace, phase_and_class, query.test)), SumColumns::kAll, step);
  const std::vector<std::string> phases = phases_of(trace);
  std::stable_sort(grid.rows.begin(), grid.rows.end(), [&](const std::vector<Json>& a, const std::vector<Json>& b) {
    const auto rank = [&](const Json& phase) {
      return std::find(phases.begin(), phases.end(), phase.get<std::string>()) - phases.begin();
    };
    return rank(a[0]) < rank(b[0]);
  });
  order_and_cut(grid, query);
  return grid;
}

// Total seconds of one scope in each layer.
using LayerTotals = std::map<int64_t, double>;

// A node of the tree of scopes: sums of everything inside it.
struct ScopeNode {
  LaunchSum sum;
  LayerTotals layers;
  std::vector<std::string> children;  // in the order of the model
};

void merge(LaunchSum& into, const LaunchSum& from) {
  into.calls += from.calls;
  into.total += from.total;
  into.flops += from.flops;
  into.bytes += from.bytes;
  into.compute_floor += from.compute_floor;
  into.memory_floor += from.memory_floor;
  into.floor += from.floor;
  into.instances.insert(into.instances.end(), from.instances.begin(), from.instances.end());
}

class ScopeTree {
 public:
  ScopeTree(const StepTrace& trace, const ProfileQuery& query) {
    const auto key = [](const TraceLaunch& launch) {
      return fmt::format("{}{}{}", any_layer(launch.scope), kSeparator, launch.layer);
    };
    for (const LaunchSum& sum : sum_launches(trace, key, query.test)) {
      const std::vector<std::string> parts = parts_of(sum.key);
      add(parts[0].empty() ? "(no scope)" : parts[0], std::stoll(parts[1]), sum);
    }
  }

  void rows(const std::string& path, int depth, std::vector<SumRow>& out) const {
    const ScopeNode& node = nodes_.at(path);
    if (!path.empty()) {
      const size_t dot = path.rfind('.');
      const bool is_layer = path.ends_with("*");
      const std::string name = is_layer || dot == std::string::npos ? path : path.substr(dot + 1);
      out.push_back({{std::string(static_cast<size_t>(2 * depth), ' ') + name, spread_text(node.layers)}, node.sum});
    }
    for (const std::string& child : node.children) rows(child, path.empty() ? 0 : depth + 1, out);
  }

 private:
  static std::string spread_text(const LayerTotals& layers) {
    if (layers.size() < 2) return "";
    const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
    const auto low = std::min_element(layers.begin(), layers.end(), less);
    const auto high = std::max_element(layers.begin(), layers.end(), less);
    return fmt::format("{} x {} ... {}", layers.size(), format_seconds(low->second), format_seconds(high->second));
  }

  void add(const std::string& scope, int64_t layer, const LaunchSum& sum) {
    std::string path;
    const std::string root;
    add_to(root, layer, sum);
    for (size_t end = 0; end != std::string::npos;) {
      end = scope.find('.', path.empty() ? 0 : path.size() + 1);
      if (scope.compare(0, kLayers.size(), kLayers) == 0 && path.empty()) end = scope.find('.', kLayers.size());
      const std::string parent = path;
      path = scope.substr(0, end);
      ScopeNode& above = nodes_[parent];
      if (std::find(above.children.begin(), above.children.end(), path) == above.children.end())
        above.children.push_back(path);
      add_to(path, layer, sum);
    }
  }

  void add_to(const std::string& path, int64_t layer, const LaunchSum& sum) {
    ScopeNode& node = nodes_[path];
    merge(node.sum, sum);
    if (layer >= 0) node.layers[layer] += sum.total;
  }

  static constexpr std::string_view kLayers = "layers.*";
  std::map<std::string, ScopeNode> nodes_;  // by path; "" is the whole step
};

Grid layers_view(const StepTrace& trace, const ProfileQuery& query, double step) {
  std::vector<SumRow> rows;
  ScopeTree(trace, query).rows("", 0, rows);
  Grid grid =
      sum_grid("layers", "scopes; equal layers are one row",
               {text_column("scope", "Scope"), text_column("layers", "Layers")}, rows, SumColumns::kShort, step);
  order_and_cut(grid, query);
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
    return fmt::format("{}{}{}", launch.phase, kSeparator, part_of_attention(launch));
  };
  std::vector<SumRow> rows;
  for (LaunchSum& sum : sum_launches(trace, key, in_attention)) rows.push_back({parts_of(sum.key), std::move(sum)});
  for (LaunchSum& sum : sum_launches(
           trace, [](const TraceLaunch& launch) { return std::string(launch.phase); }, in_attention)) {
    rows.push_back({{sum.key, "scaled dot product attention"}, sum});
  }
  Grid grid = sum_grid("attention", "scaled dot product attention, all layers, per step",
                       {text_column("phase", "Phase"), text_column("part", "Part")}, rows, SumColumns::kShort, step);
  order_and_cut(grid, query);
  if (grid.rows.empty()) grid.notes.emplace_back("no launch of this selection belongs to attention");
  return grid;
}

}  // namespace

std::vector<std::string> phases_of(const StepTrace& trace) {
  std::vector<std::string> phases;
  for (size_t i = 0; i < trace.launch_count(); ++i) {
    const std::string_view phase = trace.launch(i).phase;
    if (std::find(phases.begin(), phases.end(), phase) == phases.end()) phases.emplace_back(phase);
  }
  return phases;
}

Grid classes_by_phase(const StepTrace& trace, const LaunchTest& test) {
  const StepTotals totals = totals_of(trace);
  const std::vector<std::string> phases = phases_of(trace);
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
    grid.columns.push_back({phase + "_s", phase, Unit::kSeconds, false});
    grid.columns.push_back({phase + "_share", "", Unit::kFraction, false});
  }
  if (has_backward) grid.columns.push_back({"forward_backward_share", "fwd+bwd", Unit::kFraction, false});
  grid.columns.push_back({"step_s", "step", Unit::kSeconds, false});
  grid.columns.push_back({"step_share", "", Unit::kFraction, false});
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
  for (const std::string& phase : phases_of(trace)) {
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
