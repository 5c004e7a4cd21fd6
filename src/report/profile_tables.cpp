// The tables of a profile: the rows and the order of each view.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "base/words.h"
#include "record/step_trace.h"
#include "report/profile_answer.h"
#include "report/table_order.h"
#include "report/words.h"

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

// A row: its cells of text, and the sum.
struct SumRow {
  std::vector<TableCell> texts;
  LaunchSum sum;
  std::optional<size_t> inside = {};  // index of the row whose sum contains this one
};

Json rate(double amount, double seconds) { return amount > 0 && seconds > 0 ? Json(amount / seconds) : Json(nullptr); }

// The fraction of its bound that a sum reaches; people see a fraction above 1 as ">100 %".
TableCell of_bound(const LaunchSum& sum) {
  const std::optional<double> fraction = sum.of_roofline();
  return {fraction ? Json(*fraction) : Json(nullptr), fraction && *fraction > 1 + 1e-6 ? ">100 %" : ""};
}

// Only what `people` shows: share, time, calls and the fraction of the bound; else the statistics as well.
std::vector<TableColumn> sum_columns(bool is_short) {
  std::vector<TableColumn> columns{
      {.key = "time_share", .title = "share", .unit = Unit::kFraction},
      {.key = "total_s", .title = "time", .unit = Unit::kSeconds},
      {.key = "calls", .title = "calls", .drop = 2},
      {.key = "of_roofline", .title = "of bound", .unit = Unit::kFraction, .drop = 1},
      {.key = "bound", .title = "bound", .align = Align::kLeft, .drop = 3},
      {.key = "mean_s", .title = "avg", .unit = Unit::kSeconds, .drop = 4},
      {.key = "median_s", .title = "med", .unit = Unit::kSeconds, .drop = 5},
      {.key = "min_s", .title = "min", .unit = Unit::kSeconds, .drop = 6},
      {.key = "max_s", .title = "max", .unit = Unit::kSeconds, .drop = 6},
      {.key = "std_s", .title = "std", .unit = Unit::kSeconds, .drop = 7},
      {.key = "flops", .title = "FLOPs", .unit = Unit::kFlops, .drop = 8},
      {.key = "bytes", .title = "bytes", .unit = Unit::kBytes, .drop = 8},
      {.key = "flops_per_second", .title = "FLOP/s", .unit = Unit::kFlopsPerSecond, .drop = 9},
      {.key = "bytes_per_second", .title = "bytes/s", .unit = Unit::kBytesPerSecond, .drop = 9}};
  constexpr size_t kShort = 4;
  for (size_t i = kShort; is_short && i < columns.size(); ++i) columns[i].for_people = false;
  return columns;
}

std::vector<TableCell> sum_cells(const LaunchSum& s, double whole) {
  return {whole > 0 ? Json(s.total / whole) : Json(nullptr),
          s.total,
          s.calls,
          of_bound(s),
          s.bound().empty() ? Json(nullptr) : Json(s.bound()),
          s.mean(),
          s.median(),
          s.min(),
          s.max(),
          s.std(),
          s.flops,
          static_cast<int64_t>(s.bytes),
          rate(s.flops, s.total),
          rate(s.bytes, s.total)};
}

std::vector<SumRow> rows_by_total(std::vector<LaunchSum> sums) {
  std::stable_sort(sums.begin(), sums.end(), [](const LaunchSum& a, const LaunchSum& b) { return a.total > b.total; });
  std::vector<SumRow> rows;
  rows.reserve(sums.size());
  for (LaunchSum& sum : sums) {
    std::vector<TableCell> texts;
    for (std::string& part : parts_of(sum.key)) texts.emplace_back(std::move(part));
    rows.push_back({std::move(texts), std::move(sum)});
  }
  return rows;
}

// The part of the step that no shown row contains, in seconds. A row is not counted beside one that contains it.
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

// A table of sums in the order that is asked for, cut to `top` rows: the first of an order that was asked for,
// otherwise those that take most time, which in a tree includes the rows that contain them.
Table sum_table(const std::string& name, std::vector<TableColumn> text_columns, const std::vector<SumRow>& rows,
                const StepTrace& trace, const ProfileQuery& query) {
  const double step = totals_of(trace).step;
  Table table{.name = name, .columns = std::move(text_columns)};
  for (TableColumn& column : sum_columns(query.view == ProfileView::kSummary))
    table.columns.push_back(std::move(column));
  for (const SumRow& row : rows) {
    std::vector<TableCell> cells = row.texts;
    for (TableCell& cell : sum_cells(row.sum, step)) cells.push_back(std::move(cell));
    table.add(std::move(cells));
  }
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (!query.sort.empty()) order = row_order(table, TableOrder(table, query.sort, /*is_descending_by_default=*/true));
  const auto top = query.top <= 0 ? rows.size() : std::min(rows.size(), static_cast<size_t>(query.top));
  std::vector<size_t> first = order;
  if (query.sort.empty()) {
    std::stable_sort(first.begin(), first.end(),
                     [&](size_t a, size_t b) { return rows[a].sum.total > rows[b].sum.total; });
  }
  std::vector<bool> is_shown(rows.size(), false);
  for (size_t i = 0; i < top; ++i) is_shown[first[i]] = true;
  std::vector<TableRow> kept;
  for (const size_t row : order) {
    if (is_shown[row]) kept.push_back(std::move(table.rows[row]));
  }
  table.rows = std::move(kept);
  if (top < rows.size()) {
    constexpr double kRounding = 1e-9;  // of sums of seconds
    const double share = step > 0 ? seconds_not_shown(rows, is_shown) / step : 0;
    table.notes.push_back(
        fmt::format("  ... {} more, {}", rows.size() - top, percent_text(share < kRounding ? 0 : share)));
  }
  return table;
}

std::string phase_and_class(const TraceLaunch& launch) {
  return fmt::format("{}{}{}", launch.phase, kSeparator, launch.work_class);
}

// The suffix of a name where rows are split by layer: " layers.3".
std::string layer_suffix(const TraceLaunch& launch, const ProfileQuery& query) {
  return query.by == ProfileBy::kLayer && launch.layer >= 0 ? fmt::format(" layers.{}", launch.layer) : "";
}

Table kernels_table(const StepTrace& trace, const ProfileQuery& query) {
  const bool by_phase = query.by == ProfileBy::kPhase;
  const auto key = [&](const TraceLaunch& launch) {
    std::string name = fmt::format("{}:{}{}", launch.op, launch.kernel, layer_suffix(launch, query));
    if (query.by == ProfileBy::kShape) name += fmt::format(" {}", launch.signature.substr(launch.signature.find('(')));
    return by_phase ? fmt::format("{}{}{}", launch.phase, kSeparator, name) : name;
  };
  std::vector<SumRow> rows = rows_by_total(sum_launches(trace, key, query.test));
  std::vector<TableColumn> texts{text_of_rows("kernel", "kernel")};
  if (by_phase) texts.insert(texts.begin(), text_of_rows("phase", "phase"));
  if (query.view == ProfileView::kSummary) {
    for (SumRow& row : rows) row.texts.back().text = "  " + row.texts.back().value.get<std::string>();
  }
  return sum_table("kernels", std::move(texts), rows, trace, query);
}

Table ops_table(const StepTrace& trace, const ProfileQuery& query) {
  const auto key = [&query](const TraceLaunch& launch) {
    const std::string_view op = query.by == ProfileBy::kShape ? launch.signature : launch.op;
    return fmt::format("{}{}{}{}", launch.phase, kSeparator, op, layer_suffix(launch, query));
  };
  return sum_table("ops", {text_of_rows("phase", "phase"), text_of_rows("op", "op")},
                   rows_by_total(sum_launches(trace, key, query.test)), trace, query);
}

Table classes_table(const StepTrace& trace, const ProfileQuery& query) {
  const auto key = [&query](const TraceLaunch& launch) {
    return phase_and_class(launch) + layer_suffix(launch, query);
  };
  std::vector<SumRow> rows = rows_by_total(sum_launches(trace, key, query.test));
  const std::vector<std::string> phases = phases_of(trace);
  const auto rank = [&](const SumRow& row) {
    return std::find(phases.begin(), phases.end(), row.texts.front().value.get<std::string>()) - phases.begin();
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const SumRow& a, const SumRow& b) { return rank(a) < rank(b); });
  return sum_table("classes", {text_of_rows("phase", "phase"), text_of_rows("class", "class")}, rows, trace, query);
}

// Classes as rows, and for each phase, forward + backward and the whole step the seconds and their share. The last row
// is the time between launches, unless launches are selected.
Table shares_table(const StepTrace& trace, const LaunchTest& test) {
  const StepTotals totals = totals_of(trace);
  const PhaseClassTimes times = class_times(trace, test);
  Table table{.name = "shares", .columns = {text_of_rows("class", "class")}};
  const auto share = [](double part, double whole) { return whole > 0 ? Json(part / whole) : Json(nullptr); };
  const auto add_pair = [&](const std::string& key, const std::string& title) {
    table.columns.push_back({.key = key + "_s", .title = title, .unit = Unit::kSeconds, .drop = 2});
    table.columns.push_back({.key = key + "_share", .title = "of " + title, .unit = Unit::kFraction, .drop = 1});
  };
  for (const std::string& phase : times.phases) add_pair(phase, phase);
  const auto is_there = [&](std::string_view phase) {
    return std::find(times.phases.begin(), times.phases.end(), phase) != times.phases.end();
  };
  const bool has_both = is_there("forward") && is_there("backward");
  if (has_both)
    table.columns.push_back(
        {.key = "forward_backward_share", .title = "of fwd+bwd", .unit = Unit::kFraction, .drop = 3});
  add_pair("step", pass_of(trace) == "step" ? "step" : "pass");
  table.columns[table.columns.size() - 2].drop = 0;
  table.columns.back().drop = 0;
  double both_total = 0;
  for (size_t i = 0; i < times.phases.size(); ++i) {
    if (times.phases[i] != "optimizer") both_total += times.phase_totals[i];
  }
  for (const PhaseClassTimes::Row& row : times.rows) {
    std::vector<TableCell> cells{row.work_class};
    double both = 0;
    for (size_t i = 0; i < times.phases.size(); ++i) {
      if (times.phases[i] != "optimizer") both += row.seconds[i];
      cells.emplace_back(row.seconds[i]);
      cells.emplace_back(share(row.seconds[i], times.phase_totals[i]));
    }
    if (has_both) cells.emplace_back(share(both, both_total));
    cells.emplace_back(row.total);
    cells.emplace_back(share(row.total, totals.step));
    table.add(std::move(cells));
  }
  if (!test) {
    std::vector<TableCell> cells(table.columns.size());
    cells.front() = "residue";
    cells.rbegin()[1] = totals.residue();
    cells.back() = share(totals.residue(), totals.step);
    table.add(std::move(cells));
  }
  return table;
}

// A node of the tree of scopes: sums of everything inside it.
struct ScopeNode {
  std::string name;  // of its module
  LaunchSum sum;
  std::map<int64_t, double> layers;   // total seconds of the scope in each layer
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
    if (nodes_.empty()) return rows;
    for (const std::string& child : nodes_.at("").children) add_rows(child, 0, std::nullopt, rows);
    return rows;
  }

 private:
  void add_rows(const std::string& path, size_t depth, std::optional<size_t> parent, std::vector<SumRow>& rows) const {
    const ScopeNode& node = nodes_.at(path);
    const size_t index = rows.size();
    std::vector<TableCell> texts{std::string(2 * depth, ' ') + node.name};
    const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
    if (node.layers.empty()) {
      texts.resize(5);
    } else {
      const double low = std::min_element(node.layers.begin(), node.layers.end(), less)->second;
      const double high = std::max_element(node.layers.begin(), node.layers.end(), less)->second;
      texts.emplace_back(nullptr, node.layers.size() == 1 ? fmt::format("layer {}", node.layers.begin()->first)
                                                          : fmt::format("{} x {} to {}", node.layers.size(),
                                                                        brief_seconds(low), brief_seconds(high)));
      texts.emplace_back(node.layers.size());
      texts.emplace_back(low);
      texts.emplace_back(high);
    }
    rows.push_back({std::move(texts), node.sum, parent});
    for (const std::string& child : node.children) add_rows(child, depth + 1, index, rows);
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

Table layers_table(const StepTrace& trace, const ProfileQuery& query) {
  const bool each_layer = query.by == ProfileBy::kLayer || has_single_layer(trace, query.test);
  const ScopeTree tree(trace, query.test, each_layer, query.by == ProfileBy::kPhase);
  TableColumn spread = text_of_rows("layers", "layers", 3);
  spread.for_data = false;
  const auto for_data = [](std::string key, Unit unit) {
    return TableColumn{.key = std::move(key), .unit = unit, .for_people = false};
  };
  return sum_table("layers",
                   {text_of_rows("scope", "scope"), spread, for_data("layer_count", Unit::kNone),
                    for_data("layer_low_s", Unit::kSeconds), for_data("layer_high_s", Unit::kSeconds)},
                   tree.rows(), trace, query);
}

// The innermost range of a launch, or its op where it has none inside `attention`.
std::string part_of_attention(const TraceLaunch& launch) {
  const size_t slash = launch.range.find('/');
  if (slash == std::string_view::npos) return fmt::format("{} (one kernel)", launch.op);
  return std::string(launch.range.substr(slash + 1));
}

Table attention_table(const StepTrace& trace, const ProfileQuery& query) {
  const LaunchTest in_attention = [&](const TraceLaunch& launch) {
    return !launch.range.empty() && (!query.test || query.test(launch));
  };
  const auto key = [](const TraceLaunch& launch) {
    return fmt::format("{0}{1}{2}{1}{3}", launch.phase, kSeparator, part_of_attention(launch), launch.work_class);
  };
  std::vector<SumRow> rows;
  const auto add = [&](LaunchSum sum, const std::vector<std::string>& texts) {
    SumRow& row = rows.emplace_back();
    for (const std::string& text : texts) row.texts.emplace_back(text);
    row.sum = std::move(sum);
  };
  for (LaunchSum& sum : sum_launches(trace, key, in_attention)) {
    const std::vector<std::string> texts = parts_of(sum.key);
    add(std::move(sum), texts);
  }
  const size_t parts = rows.size();
  for (LaunchSum& sum : sum_launches(
           trace, [](const TraceLaunch& launch) { return std::string(launch.phase); }, in_attention)) {
    const std::string phase = sum.key;
    for (size_t i = 0; i < parts; ++i) {
      if (rows[i].texts.front().value == phase) rows[i].inside = rows.size();
    }
    add(std::move(sum), {phase, "scaled dot product attention", "all"});
  }
  Table table = sum_table(
      "attention", {text_of_rows("phase", "phase"), text_of_rows("part", "part"), text_of_rows("class", "class")}, rows,
      trace, query);
  if (rows.empty()) table.notes.emplace_back("no launch of this selection belongs to attention");
  return table;
}

}  // namespace

std::vector<Table> profile_tables(const StepTrace& trace, const ProfileQuery& query) {
  const auto shares = [&] { return shares_table(trace, query.test); };
  switch (query.view) {
    case ProfileView::kSummary: return {kernels_table(trace, query), shares()};
    case ProfileView::kKernels: return {kernels_table(trace, query)};
    case ProfileView::kOps: return {ops_table(trace, query)};
    case ProfileView::kClasses: return {classes_table(trace, query), shares()};
    case ProfileView::kLayers: return {layers_table(trace, query)};
    case ProfileView::kAttention: return {attention_table(trace, query)};
    case ProfileView::kAll:
      return {kernels_table(trace, query), ops_table(trace, query),      classes_table(trace, query), shares(),
              layers_table(trace, query),  attention_table(trace, query)};
  }
  return {};
}

}  // namespace laptime
