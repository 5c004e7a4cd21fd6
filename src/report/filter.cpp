// Parses filters, evaluates them on records, and selects records of a store.
#include "report/filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/words.h"
#include "table/text.h"
#include "table/value_text.h"

namespace laptime {
namespace {

using Comparison = Filter::Comparison;

constexpr int kAnd = -1;
constexpr int kOr = -2;
constexpr int kNot = -3;

// Longer operators come first, so that "<=" is not read as "<".
constexpr std::array<std::string_view, 8> kOperators{"==", "!=", "<=", ">=", "=", "<", ">", "~"};

constexpr std::array kUnits{Scale{1, ""},         Scale{0.01, "%"},     Scale{1e-9, "ns"},   Scale{1e-6, "us"},
                            Scale{1e-3, "ms"},    Scale{1, "s"},        Scale{1, "B"},       Scale{0x1p10, "KiB"},
                            Scale{0x1p20, "MiB"}, Scale{0x1p30, "GiB"}, Scale{0x1p40, "TiB"}};

std::optional<double> number_of(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  const Scale* const unit = find_in(kUnits, text.substr(static_cast<size_t>(end - text.data())), &Scale::name);
  return unit == nullptr ? std::nullopt : std::optional(number * unit->factor);
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool ends_word(char c) { return is_space(c) || std::string_view("()'\"=<>!~").find(c) != std::string_view::npos; }

class Parser {
 public:
  Parser(std::string_view text, std::vector<Comparison>& comparisons, std::vector<int>& program)
      : text_(text), comparisons_(comparisons), program_(program) {}

  void parse() {
    expression(0);
    skip_spaces();
    if (at_ < text_.size())
      fail(at_, text_[at_] == ')' ? "')' without '('" : "expected 'and', 'or' or the end of the filter");
  }

 private:
  [[noreturn]] void fail(size_t at, const std::string& what) const {
    constexpr size_t kShown = 40;
    const size_t begin = at > kShown ? at - kShown : 0;
    const std::string before = at == 0 ? "" : fmt::format(", after {}", quote(text_.substr(begin, at - begin)));
    throw Error::format("filter, position {}{}: {}", at + 1, before, what);
  }

  void skip_spaces() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }

  bool take(std::string_view symbol) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(symbol)) return false;
    at_ += symbol.size();
    return true;
  }

  std::string_view peek_word(bool in_list = false) const {
    size_t end = at_;
    while (end < text_.size() && !ends_word(text_[end]) && !(in_list && text_[end] == ',')) ++end;
    return text_.substr(at_, end - at_);
  }

  bool take_keyword(std::string_view keyword) {
    skip_spaces();
    const std::string_view word = peek_word();
    if (lowered(word) != keyword) return false;
    at_ += word.size();
    return true;
  }

  // Consumes a word or quoted text; quoted text may be empty.
  std::string take_text(bool in_list, const std::string& expected, bool& is_quoted) {
    skip_spaces();
    const char mark = at_ < text_.size() ? text_[at_] : ' ';
    is_quoted = mark == '\'' || mark == '"';
    const size_t close = is_quoted ? text_.find(mark, at_ + 1) : 0;
    if (close == std::string_view::npos) fail(at_, "unterminated quote");
    std::string text(is_quoted ? text_.substr(at_ + 1, close - at_ - 1) : peek_word(in_list));
    if (text.empty() && !is_quoted) fail(at_, expected);
    at_ = is_quoted ? close + 1 : at_ + text.size();
    return text;
  }

  void expression(size_t depth) {
    conjunction(depth);
    while (take_keyword("or")) {
      conjunction(depth);
      program_.push_back(kOr);
    }
  }

  void conjunction(size_t depth) {
    term(depth);
    while (take_keyword("and")) {
      term(depth);
      program_.push_back(kAnd);
    }
  }

  void term(size_t depth) {
    bool is_negated = false;
    while (take_keyword("not")) is_negated = !is_negated;
    if (take("(")) {
      const size_t open = at_ - 1;
      if (depth >= Filter::kMaxDepth) fail(open, fmt::format("more than {} nested '('", Filter::kMaxDepth));
      expression(depth + 1);
      if (!take(")")) fail(open, "'(' without ')'");
    } else {
      constexpr const char* kExpected = "expected a column, as in: model = small and median < 500ms";
      bool is_quoted = false;
      const size_t begin = at_;
      const std::string column = take_text(false, kExpected, is_quoted);
      if (column.empty()) fail(begin, kExpected);
      comparison(column);
    }
    if (is_negated) program_.push_back(kNot);
  }

  void comparison(const std::string& column) {
    const bool is_negated = take_keyword("not");
    if (take_keyword("in")) {
      any_of_list(column);
      if (is_negated) program_.push_back(kNot);
      return;
    }
    if (is_negated) fail(at_, "expected 'in' after 'not', as in: model not in (small, medium)");
    const auto* const op = std::ranges::find_if(kOperators, [&](std::string_view one) { return take(one); });
    if (op == kOperators.end())
      fail(at_, fmt::format("expected an operator after column {}: =, !=, <, <=, >, >=, ~ or in", quote(column)));
    compare_with_value(column, *op == "==" ? "=" : *op, /*in_list=*/false);
  }

  void any_of_list(const std::string& column) {
    if (!take("(")) fail(at_, "expected '(' after 'in', as in: model in (small, medium)");
    const size_t open = at_ - 1;
    compare_with_value(column, "=", /*in_list=*/true);
    while (take(",")) {
      compare_with_value(column, "=", /*in_list=*/true);
      program_.push_back(kOr);
    }
    if (!take(")")) fail(open, "'(' without ')'");
  }

  void compare_with_value(const std::string& column, std::string_view op, bool in_list) {
    if (comparisons_.size() >= Filter::kMaxComparisons)
      fail(at_, fmt::format("more than {} comparisons", Filter::kMaxComparisons));
    program_.push_back(static_cast<int>(comparisons_.size()));
    Comparison& made = comparisons_.emplace_back(Comparison{column, op});
    bool is_quoted = false;
    made.value = take_text(in_list, "expected a value; put it in quotes if it contains operators", is_quoted);
    made.null = !is_quoted && made.value == "null";
    made.number = number_of(made.value);
    made.meant = meant_word(column, made.value);
  }

  std::string_view text_;
  std::vector<Comparison>& comparisons_;
  std::vector<int>& program_;
  size_t at_ = 0;
};

template <class T>
bool holds(std::string_view op, const T& a, const T& b) {
  if (op == "=") return a == b;
  if (op == "!=") return a != b;
  if (op == "<") return a < b;
  if (op == "<=") return a <= b;
  return op == ">" ? a > b : a >= b;
}

bool is_order(std::string_view op) { return op.front() == '<' || op.front() == '>'; }

bool compare(const Comparison& comparison, const Json& value) {
  if (value.is_array()) {
    const bool none_equal = comparison.op == "!=";
    const auto matches = [&](const Json& element) { return compare(comparison, element); };
    return none_equal ? std::ranges::all_of(value, matches) : std::ranges::any_of(value, matches);
  }
  if (comparison.null || value.is_null()) {
    const bool equal = comparison.null && value.is_null();
    return comparison.op == "=" ? equal : comparison.op == "!=" && !equal;
  }
  if (comparison.op == "~") return plain_text(value).find(comparison.value) != std::string::npos;
  if (value.is_number()) {
    if (comparison.number) return holds(comparison.op, value.get<double>(), *comparison.number);
    if (is_order(comparison.op)) {
      throw Error::format("filter: column '{}' contains numbers, but {} is not a number", comparison.column,
                          quote(comparison.value));
    }
    return comparison.op == "!=";
  }
  const std::string text = plain_text(value);
  const auto number = is_order(comparison.op) ? number_of(text) : std::nullopt;  // numbers may be text: edition "2025"
  if (number && comparison.number) return holds(comparison.op, *number, *comparison.number);
  if (comparison.op == "=") return text == comparison.value || text == comparison.meant;
  if (comparison.op == "!=") return text != comparison.value && text != comparison.meant;
  return holds(comparison.op, text, comparison.value);
}

RecordsBy all_of(const Store& store) {
  return RecordsBy([&store](Extent extent, const Records::Visit& visit) {
    store.each(
        extent, [&](int64_t, const Record& record) { return visit(record); }, [](const std::string&) {});
  });
}

}  // namespace

Filter::Filter(std::string_view text) {
  if (text.size() > kMaxBytes)
    throw Error::format("filter: {} bytes exceed the limit of {}; shorten the filter", text.size(), kMaxBytes);
  if (text.find_first_not_of(" \t\r\n") != std::string_view::npos) Parser(text, comparisons_, program_).parse();
}

void Filter::require(std::string column, std::string_view op, std::string value, std::vector<int64_t> ids) {
  const bool is_first = program_.empty();
  program_.push_back(static_cast<int>(comparisons_.size()));
  if (!is_first) program_.push_back(kAnd);
  Comparison& comparison = comparisons_.emplace_back(Comparison{std::move(column), op});
  comparison.value = comparison.meant = std::move(value);
  comparison.ids = std::move(ids);
}

void Filter::require_command(const std::string& run, std::vector<int64_t> ids) {
  command_ = comparisons_.size();
  require("run", "=", run, std::move(ids));
}

bool Filter::is_of_command(const Record& record, int64_t id) const {
  const Comparison& command = comparisons_[command_.value()];
  return record.run == command.value || std::ranges::binary_search(command.ids, id);
}

void Filter::check(const Records& records, const Records& compared) const {
  Extent compared_extent = Extent::kNames;
  for (const Comparison& comparison : comparisons_) {
    check_column(comparison.column, records, "filter");
    if (comparison.read.ratio() != nullptr) compared_extent = std::max(compared_extent, comparison.read.extent());
  }
  if (compared_extent > Extent::kNames) speedups_ = std::make_shared<Speedups>(speedups_of(compared, compared_extent));
}

Extent Filter::extent() const {
  Extent extent = Extent::kNames;
  for (const Comparison& comparison : comparisons_) extent = std::max(extent, comparison.read.extent());
  return extent;
}

bool Filter::matches_by(const std::function<std::optional<Json>(const Comparison&)>& read) const {
  std::vector<std::optional<bool>> results;  // results of operands; none: depends on unknown values
  for (const int step : program_) {
    if (step >= 0) {
      const Comparison& comparison = comparisons_[static_cast<size_t>(step)];
      const std::optional<Json> value = read(comparison);
      results.push_back(value ? std::optional(compare(comparison, *value)) : std::nullopt);
      continue;
    }
    const std::optional<bool> last = results.back();
    if (step == kNot) {
      if (last) results.back() = !*last;
      continue;
    }
    results.pop_back();
    std::optional<bool>& first = results.back();
    const bool decides = step == kOr;  // the operand value that decides regardless of the other operand
    if (first != decides && (first || last == decides)) first = last;
  }
  return results.empty() || results.back().value_or(true);
}

bool Filter::matches(const Record& record, int64_t id, Extent extent) const {
  return matches_by([&](const Comparison& comparison) -> std::optional<Json> {
    if (std::binary_search(comparison.ids.begin(), comparison.ids.end(), id)) return Json(comparison.value);
    if (comparison.read.extent() > extent) return std::nullopt;
    return comparison.read.matched(record, speedups_.get());
  });
}

std::vector<std::string> Filter::columns() const { return mapped(comparisons_, &Comparison::column); }

bool Filter::keeps(const ColumnReader& read) const {
  return matches_by([&](const Comparison& comparison) { return read(comparison.column); });
}

StoredRecords::StoredRecords(const Store& store, const Filter& filter, Store::Problem problem)
    : store_(store), are_of_one_command_(filter.requires_command()) {
  problem_ = [told = std::make_shared<std::set<std::string>>(), problem = std::move(problem)](const std::string& text) {
    if (told->insert(text).second) problem(text);
  };
  ids_ = store.ids(problem_);
  const RecordsBy of_command(
      [&](Extent extent, const Visit& visit) {
        each_id(extent,
                [&](int64_t id, const Record& record) { return !filter.is_of_command(record, id) || visit(record); });
      },
      true);
  const RecordsBy all = all_of(store);
  filter.check(all, are_of_one_command_ ? of_command : all);
  if (filter.is_empty()) return;
  const auto narrow_down = [&](Extent extent) {
    std::vector<int64_t> matching;
    each_id(extent, [&](int64_t id, const Record& record) {
      if (filter.matches(record, id, extent)) matching.push_back(id);
      return true;
    });
    ids_ = std::move(matching);
  };
  if (filter.extent() > Extent::kListed) narrow_down(Extent::kListed);  // cheap; leaves few records to read in full
  narrow_down(filter.extent());
}

void StoredRecords::each_id(Extent extent, const Store::Visit& visit) const {
  store_.each_of(ids_, extent, visit, problem_);
}

void StoredRecords::each(Extent extent, const Visit& visit) const {
  each_id(extent, [&](int64_t, const Record& record) { return visit(record); });
}

std::string StoredRecords::why_none(const Filter& filter) const {
  if (!ids_.empty()) return {};
  if (store_.ids(problem_).empty()) return "the store has no records yet";
  if (filter.is_empty()) return {};
  std::vector<std::string> columns = filter.columns();
  std::ranges::sort(columns);
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  size_t count = 0;
  std::vector<std::set<std::string>> values(columns.size());
  all_of(store_).all(filter.extent(), [&](const Record& record) {
    ++count;
    for (size_t i = 0; i < columns.size(); ++i) values[i].insert(plain_text(value_of(record, columns[i])));
  });
  std::string text = fmt::format("0 of {} records match", count);
  std::string_view lead = "; they have";
  for (size_t i = 0; i < columns.size(); ++i) {
    constexpr std::ptrdiff_t kShown = 8;
    const auto total = static_cast<std::ptrdiff_t>(values[i].size());
    if (total == 0 || (total == 1 && values[i].contains("null"))) continue;
    const std::vector<std::string> last(std::prev(values[i].end(), std::min(total, kShown)), values[i].end());
    text += fmt::format("{} {} {}{}", lead, columns[i], joined(last, ", "),
                        total > kShown ? fmt::format(" and {} more", total - kShown) : "");
    lead = ";";
  }
  return text;
}

void StoredRecords::sort(std::string_view order) {
  std::vector<int64_t> visited;  // IDs of the records that are still readable
  const auto each_numbered = [&](Extent extent, const Visit& visit) {
    visited.clear();
    each_id(extent, [&](int64_t id, const Record& record) {
      visited.push_back(id);
      return visit(record);
    });
  };
  const RecordsBy numbered(each_numbered, are_of_one_command_);
  ids_ = mapped(sorted_positions(numbered, order), [&](size_t position) { return visited[position]; });
}

}  // namespace laptime
