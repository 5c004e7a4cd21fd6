// The filter's reader, and the comparison of records with it.
#include "report/filter.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/words.h"
#include "record/listing.h"
#include "report/columns.h"
#include "report/row.h"
#include "table/text.h"

namespace laptime {

struct Filter::Node {
  enum class Kind { kAnd, kOr, kNot, kCompare };
  enum class Operator { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual, kContains };

  Kind kind = Kind::kCompare;
  std::vector<Node> children;
  std::string column;
  Operator op = Operator::kEqual;
  std::string value;
  std::string meant;                        // the word of an option that the value stands for: "bfloat16" for "bf16"
  std::optional<double> number;             // the value as a number, its unit applied
  bool null = false;                        // the bare word `null`
  std::shared_ptr<const ColumnValue> read;  // of records
  std::vector<int64_t> ids;                 // of stored records that match whatever their value is
};

namespace {

using Node = Filter::Node;
using Operator = Node::Operator;

struct Spelling {
  std::string_view text;
  Operator op;
};
// Longer ones first.
constexpr std::array kOperators{Spelling{"==", Operator::kEqual},     Spelling{"!=", Operator::kNotEqual},
                                Spelling{"<=", Operator::kLessEqual}, Spelling{">=", Operator::kGreaterEqual},
                                Spelling{"=", Operator::kEqual},      Spelling{"<", Operator::kLess},
                                Spelling{">", Operator::kGreater},    Spelling{"~", Operator::kContains}};

struct UnitFactor {
  std::string_view unit;
  double factor;
};
constexpr std::array kUnitFactors{UnitFactor{"", 1},
                                  UnitFactor{"%", 0.01},
                                  UnitFactor{"ns", 1e-9},
                                  UnitFactor{"us", 1e-6},
                                  UnitFactor{"ms", 1e-3},
                                  UnitFactor{"s", 1},
                                  UnitFactor{"B", 1},
                                  UnitFactor{"KiB", 1024.0},
                                  UnitFactor{"MiB", 1024.0 * 1024},
                                  UnitFactor{"GiB", 1024.0 * 1024 * 1024},
                                  UnitFactor{"TiB", 1024.0 * 1024 * 1024 * 1024}};

std::optional<double> number_of(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  for (const UnitFactor& scale : kUnitFactors) {
    if (scale.unit == unit) return number * scale.factor;
  }
  return std::nullopt;
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool ends_word(char c) { return is_space(c) || std::string_view("()'\"=<>!~").find(c) != std::string_view::npos; }

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Node parse() {
    Node node = expression(0);
    skip_spaces();
    if (at_ < text_.size()) fail(at_, text_[at_] == ')' ? "')' without '('" : "expected 'and', 'or' or the end");
    return node;
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

  std::string_view peek_word(bool in_list = false) const {
    size_t end = at_;
    while (end < text_.size() && !ends_word(text_[end]) && !(in_list && text_[end] == ',')) ++end;
    return text_.substr(at_, end - at_);
  }

  bool take_keyword(std::string_view lower, std::string_view upper) {
    skip_spaces();
    const std::string_view word = peek_word();
    if (word != lower && word != upper) return false;
    at_ += word.size();
    return true;
  }

  Node expression(size_t depth) {
    Node node;
    node.kind = Node::Kind::kOr;
    do {
      node.children.push_back(conjunction(depth));
    } while (take_keyword("or", "OR"));
    return simplified(std::move(node));
  }

  Node conjunction(size_t depth) {
    Node node;
    node.kind = Node::Kind::kAnd;
    do {
      node.children.push_back(term(depth));
    } while (take_keyword("and", "AND"));
    return simplified(std::move(node));
  }

  static Node simplified(Node node) {
    if (node.children.size() != 1) return node;
    Node only = std::move(node.children.front());
    return only;
  }

  static Node opposite(Node node) {
    Node negation;
    negation.kind = Node::Kind::kNot;
    negation.children.push_back(std::move(node));
    return negation;
  }

  Node term(size_t depth) {
    bool is_negated = false;
    while (take_keyword("not", "NOT")) is_negated = !is_negated;
    Node node = positive_term(depth);
    return is_negated ? opposite(std::move(node)) : node;
  }

  Node positive_term(size_t depth) {
    skip_spaces();
    if (at_ < text_.size() && text_[at_] == '(') {
      const size_t open = at_;
      if (depth >= Filter::kMaxDepth) fail(at_, fmt::format("more than {} nested '('", Filter::kMaxDepth));
      ++at_;
      Node inner = expression(depth + 1);
      skip_spaces();
      if (at_ >= text_.size() || text_[at_] != ')') fail(open, "'(' without ')'");
      ++at_;
      return inner;
    }
    count_comparison();
    Node node;
    node.column = take_column();
    if (take_keyword("in", "IN")) return any_of_list(node);
    if (take_keyword("not", "NOT")) {
      if (!take_keyword("in", "IN")) fail(at_, "expected 'in' after 'not', as in: model not in (small, medium)");
      return opposite(any_of_list(node));
    }
    node.op = take_operator(node.column);
    take_value(node);
    return node;
  }

  // A word, or a header with spaces in quotes.
  std::string take_column() {
    const char mark = at_ < text_.size() ? text_[at_] : ' ';
    const size_t close = mark == '\'' || mark == '"' ? text_.find(mark, at_ + 1) : std::string_view::npos;
    const bool quoted = close != std::string_view::npos;
    std::string column(quoted ? text_.substr(at_ + 1, close - at_ - 1) : peek_word());
    if (column.empty()) fail(at_, "expected a column, as in: model = small and median < 500ms");
    at_ = quoted ? close + 1 : at_ + column.size();
    return column;
  }

  void count_comparison() {
    if (++comparisons_ > Filter::kMaxComparisons) {
      fail(at_, fmt::format("more than {} comparisons", Filter::kMaxComparisons));
    }
  }

  // The values of `in (a, b)`, each compared with the column of `node`.
  Node any_of_list(const Node& node) {
    Node any;
    any.kind = Node::Kind::kOr;
    skip_spaces();
    const size_t open = at_;
    if (at_ >= text_.size() || text_[at_] != '(') fail(at_, "expected '(' after 'in', as in: model in (small, medium)");
    do {
      ++at_;
      count_comparison();
      any.children.push_back(node);
      take_value(any.children.back(), /*in_list=*/true);
      skip_spaces();
    } while (at_ < text_.size() && text_[at_] == ',');
    if (at_ >= text_.size() || text_[at_] != ')') fail(open, "'(' without ')'");
    ++at_;
    return simplified(std::move(any));
  }

  Operator take_operator(const std::string& column) {
    skip_spaces();
    for (const Spelling& spelling : kOperators) {
      if (!text_.substr(at_).starts_with(spelling.text)) continue;
      at_ += spelling.text.size();
      return spelling.op;
    }
    fail(at_, fmt::format("expected one of = != < <= > >= ~ in after column {}", quote(column)));
  }

  void take_value(Node& node, bool in_list = false) {
    skip_spaces();
    if (at_ >= text_.size()) fail(at_, "expected a value");
    const char mark = text_[at_];
    if (mark == '\'' || mark == '"') {
      const size_t close = text_.find(mark, at_ + 1);
      if (close == std::string_view::npos) fail(at_, "a quote without its end");
      node.value = text_.substr(at_ + 1, close - at_ - 1);
      at_ = close + 1;
    } else {
      node.value = peek_word(in_list);
      if (node.value.empty()) fail(at_, "expected a value; put it in quotes if it contains operators");
      node.null = node.value == "null";
      at_ += node.value.size();
    }
    node.number = number_of(node.value);
    node.read = std::make_shared<const ColumnValue>(node.column);
    node.meant = meant_word(node.column, node.value);
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t comparisons_ = 0;
};

template <class T>
bool holds(Operator op, const T& a, const T& b) {
  switch (op) {
    case Operator::kEqual: return a == b;
    case Operator::kNotEqual: return a != b;
    case Operator::kLess: return a < b;
    case Operator::kLessEqual: return a <= b;
    case Operator::kGreater: return a > b;
    case Operator::kGreaterEqual: return a >= b;
    case Operator::kContains: break;
  }
  return false;
}

bool is_order(Operator op) { return op != Operator::kEqual && op != Operator::kNotEqual && op != Operator::kContains; }

bool compare(const Node& node, const Json& value) {
  if (value.is_array()) {
    const bool none_equal = node.op == Operator::kNotEqual;
    const auto matches = [&](const Json& element) { return compare(node, element); };
    return none_equal ? std::all_of(value.begin(), value.end(), matches)
                      : std::any_of(value.begin(), value.end(), matches);
  }
  if (node.null || value.is_null()) {
    const bool equal = node.null && value.is_null();
    return node.op == Operator::kEqual ? equal : node.op == Operator::kNotEqual && !equal;
  }
  if (node.op == Operator::kContains) return plain_text(value).find(node.value) != std::string::npos;
  if (value.is_number()) {
    if (node.number) return holds(node.op, value.get<double>(), *node.number);
    if (is_order(node.op)) {
      throw Error::format("filter: column '{}' holds numbers, but {} is not a number", node.column, quote(node.value));
    }
    return node.op == Operator::kNotEqual;
  }
  const std::string text = plain_text(value);
  const auto number = is_order(node.op) ? number_of(text) : std::nullopt;  // an edition: "2025"
  if (number && node.number) return holds(node.op, *number, *node.number);
  if (node.op == Operator::kEqual) return text == node.value || text == node.meant;
  if (node.op == Operator::kNotEqual) return text != node.value && text != node.meant;
  return holds(node.op, text, node.value);
}

using NodeReader = std::function<Json(const Node& node)>;

bool matches(const Node& node, const NodeReader& read) {
  const auto holds_for = [&](const Node& child) { return matches(child, read); };
  switch (node.kind) {
    case Node::Kind::kAnd: return std::all_of(node.children.begin(), node.children.end(), holds_for);
    case Node::Kind::kOr: return std::any_of(node.children.begin(), node.children.end(), holds_for);
    case Node::Kind::kNot: return !holds_for(node.children.front());
    case Node::Kind::kCompare: break;
  }
  return compare(node, read(node));
}

bool compares_rows(const Node& node) {
  return (node.kind == Node::Kind::kCompare && laptime::compares_rows(node.column)) ||
         std::any_of(node.children.begin(), node.children.end(),
                     [](const Node& child) { return compares_rows(child); });
}

void check_columns(const Node& node, const Records& records) {
  if (node.kind == Node::Kind::kCompare && !laptime::compares_rows(node.column)) {
    check_column(node.column, records, "filter", comparing_columns());
  }
  for (const Node& child : node.children) check_columns(child, records);
}

Extent extent_of(const Node& node) {
  Extent extent = node.kind == Node::Kind::kCompare ? node.read->extent() : Extent::kNames;
  for (const Node& child : node.children) extent = std::max(extent, extent_of(child));
  return extent;
}

std::string sql_text(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "''" : std::string(1, c);
  return quoted + "'";
}

// SQL that holds for every record of which a comparison holds; empty where the column is not in the listing.
std::string condition_of_comparison(const Node& node) {
  const std::string column = listing::column(resolved_column(node.column));
  if (column.empty() || node.null || !is_plain_ascii(node.value)) return {};
  const std::string value = sql_text(node.value);
  // The texts of numbers may differ in the last digit.
  const double number = node.number.value_or(0);
  const double low = number - std::fabs(number) * 1e-9;
  const double high = number + std::fabs(number) * 1e-9;
  switch (node.op) {
    case Operator::kEqual: {
      const std::string near = node.number ? fmt::format(" OR {} BETWEEN {} AND {}", column, low, high) : "";
      return fmt::format("{} IN ({}, {}){}", column, value, sql_text(node.meant), near);
    }
    case Operator::kNotEqual: return fmt::format("{} IS NOT {}", column, value);
    case Operator::kContains:
      return fmt::format("{0} IS NOT NULL AND (typeof({0}) <> 'text' OR instr({0}, {1}) > 0)", column, value);
    case Operator::kLess:
    case Operator::kLessEqual:
      return node.number ? fmt::format("typeof({0}) = 'text' OR {0} <= {1}", column, high) : "";
    case Operator::kGreater:
    case Operator::kGreaterEqual:
      return node.number ? fmt::format("typeof({0}) = 'text' OR {0} >= {1}", column, low) : "";
  }
  return {};
}

std::string condition_of(const Node& node) {
  std::vector<std::string> parts;
  if (node.kind == Node::Kind::kCompare) {
    const std::string comparison = condition_of_comparison(node);
    if (comparison.empty() || node.ids.empty()) return comparison;
    return fmt::format("{} OR id IN ({})", comparison, joined(node.ids, ", "));
  }
  for (const Node& child : node.children) {
    if (const std::string part = condition_of(child); !part.empty()) parts.push_back(fmt::format("({})", part));
  }
  // More may match than what matches, so that nothing follows for the opposite.
  const bool is_known =
      node.kind == Node::Kind::kAnd || (node.kind == Node::Kind::kOr && parts.size() == node.children.size());
  return is_known ? joined(parts, node.kind == Node::Kind::kOr ? " OR " : " AND ") : "";
}

Node comparison_of(std::string column, Operator op, std::string value) {
  Node node;
  node.read = std::make_shared<const ColumnValue>(column);
  node.column = std::move(column);
  node.op = op;
  node.meant = value;
  node.value = std::move(value);
  return node;
}

void collect_columns(const Node& node, std::vector<std::string>& columns) {
  if (node.kind == Node::Kind::kCompare) columns.push_back(node.column);
  for (const Node& child : node.children) collect_columns(child, columns);
}

}  // namespace

Filter::Filter(std::string_view text) {
  if (text.size() > kMaxBytes) {
    throw Error::format("filter: {} bytes, more than the limit of {}", text.size(), kMaxBytes);
  }
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return;
  root_ = std::make_unique<Node>(Parser(text).parse());
}

Filter::Filter(Filter&& other) noexcept = default;
Filter& Filter::operator=(Filter&& other) noexcept = default;
Filter::~Filter() = default;

void Filter::add(Node comparison) {
  auto both = std::make_unique<Node>();
  both->kind = Node::Kind::kAnd;
  if (root_ != nullptr) both->children.push_back(std::move(*root_));
  both->children.push_back(std::move(comparison));
  root_ = std::move(both);
}

void Filter::narrow(std::string column, std::string text, std::vector<int64_t> ids) {
  Node node = comparison_of(std::move(column), Operator::kContains, std::move(text));
  node.ids = std::move(ids);
  add(std::move(node));
}

void Filter::leave_out(std::string column, std::string value) {
  add(comparison_of(std::move(column), Operator::kNotEqual, std::move(value)));
}

void Filter::check(const Records& records) const {
  if (root_ == nullptr) return;
  check_columns(*root_, records);
  if (!compares_rows(*root_)) return;
  speedups_ = std::make_shared<Speedups>();
  for (const bool adds : {false, true}) {
    records.each(Extent::kWithConfig, [&](const Record& record) {
      adds ? speedups_->add(record) : speedups_->plan(record);
      return true;
    });
  }
}

std::string Filter::condition() const { return root_ == nullptr ? "" : condition_of(*root_); }

Extent Filter::extent() const { return root_ == nullptr ? Extent::kNames : extent_of(*root_); }

bool Filter::matches(const Record& record, int64_t id) const {
  return root_ == nullptr || laptime::matches(*root_, [&](const Node& node) {
           if (std::binary_search(node.ids.begin(), node.ids.end(), id)) return Json(node.value);
           const bool compares = speedups_ != nullptr && laptime::compares_rows(node.column);
           return compares ? compared_value(node.column, *speedups_, record) : node.read->matched(record);
         });
}

std::vector<Record> Filter::apply(std::span<const Record> records) const {
  check(RecordList(records));
  std::vector<Record> matching;
  std::copy_if(records.begin(), records.end(), std::back_inserter(matching),
               [&](const Record& record) { return matches(record); });
  return matching;
}

std::vector<std::string> Filter::columns() const {
  std::vector<std::string> columns;
  if (root_ != nullptr) collect_columns(*root_, columns);
  return columns;
}

bool Filter::keeps(const ColumnReader& read) const {
  return root_ == nullptr || laptime::matches(*root_, [&](const Node& node) { return read(node.column); });
}

}  // namespace laptime
