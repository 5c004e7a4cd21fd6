// Prints records as tables: chooses and adapts columns, adds rows, and writes the lines below them.
#include "report/record_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/words.h"
#include "report/columns.h"
#include "report/names.h"
#include "report/point_text.h"

namespace laptime {
namespace {

constexpr std::string_view kDefault = "default";
constexpr size_t kExamples = 1000;  // at most this many expected rows determine column widths

bool has_times(const Record& record) {
  return record.status == Status::kOk || (record.status == Status::kInterrupted && record.main_time() != nullptr);
}

// Adapts the default columns: removes phases that no row has and, for attention by itself, rate and MFU; names the pass
// in the header of the time.
void suit(std::vector<Column>& columns, const Heading& heading) {
  const std::set<std::string>& passes = heading.passes();
  std::erase_if(columns, [&](const Column& column) {
    if (column.drop == 0) return false;
    if (column.title == "tokens/s" || column.title == "mfu") return heading.only_attention();
    if (column.title == "optimizer_s") return !passes.contains("step");
    const bool is_phase = column.title == "forward_s" || column.title == "backward_s";
    return is_phase && !passes.contains("forward_backward") && !passes.contains("step");
  });
  const std::string time = passes.size() == 1 && !passes.begin()->empty() ? *passes.begin() : "time";
  for (const auto& [title, shown] : {std::pair<std::string_view, std::string>{"median", time},
                                     {"uncertainty", " "},
                                     {"mfu", "of peak"},
                                     {"peak", "memory"}}) {
    if (Column* const column = find_in(columns, title, &Column::title)) column->shown = shown;
  }
}

std::string run_text(const Record& first) {
  return fmt::format("run {}{}", first.run.empty() ? "without a name, " + minute_of(first.created) : first.run,
                     first.sweep.empty() ? "" : ", " + first.sweep);
}

struct Rows {
  TableStyle style;
  std::string list;
  Heading heading;
  std::vector<Column> columns;
  TrustLine trust;
  std::optional<Record> first;
  size_t baselines = 0;
  bool all_are_compared = true;  // every row with a time has a speedup
  std::optional<Speedup> best;   // speedup of the fastest row
  std::string fastest;           // name of the fastest row

  Rows(const TableStyle& style, std::string_view list, const Records& records)
      : style(style), list(list), heading(records) {
    choose_columns(records);
    share_peak_by(style.mfu, columns, records);
  }

  bool are_few() const { return heading.row_count() <= kFewRecords; }
  Column* find(std::string_view title) { return find_in(columns, title, &Column::title); }
  // The baselines with which rows are compared; null if no column compares rows.
  const Speedups* speedups() const {
    const auto found = std::ranges::find_if(columns, [](const Column& column) { return column.speedups != nullptr; });
    return found == columns.end() ? nullptr : found->speedups.get();
  }
  Extent extent() const { return extent_of_columns(columns); }

  void choose_columns(const Records& records) {
    columns = columns_of(list, records);
    if (list.substr(0, list.find(',')) == kDefault) {
      suit(columns, heading);
      for (Column& column : columns) column.of_phase = false;  // phases are columns here, not rows
      if (!heading.some_measured())
        std::erase_if(columns, [](const Column& one) { return one.title == "uncertainty"; });
      if (are_few() && find("speedup") == nullptr) {
        Column ratio = columns_of("speedup", records).front();
        if (ratio.speedups->any()) columns.push_back(std::move(ratio));
      }
    } else {
      name_rows(records);
      add_doubt();
      if (find("name") == nullptr) {
        if (heading.some_predicted() && heading.some_measured()) append("device");
        if (heading.some_of_others()) append("system");
      }
    }
    if (Column* const ratio = find("speedup"); ratio != nullptr && ratio->speedups->any()) {
      const std::vector<std::string> baselines = ratio->speedups->descriptions();
      ratio->shown = baselines.size() == 1 ? "vs " + baselines.front() : "vs baseline";
    }
  }

  void append(std::string_view title) {
    if (find(title) == nullptr) columns.push_back(*table_column(title));
  }

  // Adds the column `name` if rows with different names have the same settings.
  void name_rows(const Records& records) {
    if (find("name") != nullptr) return;
    Column name = *table_column("name");
    Extent extent = name.extent;
    for (const Column& column : columns) extent = column.setting ? std::max(extent, column.extent) : extent;
    std::map<std::string, std::string> names;  // keyed by settings
    bool is_ambiguous = false;
    records.each(extent, [&](const Record& record) {
      std::string settings;
      for (const Column& column : columns) {
        if (column.setting) settings += plain_text(column.read(record, "")) + '\n';
      }
      const std::string& own = record.label.empty() ? record.name : record.label;
      is_ambiguous = names.try_emplace(settings, own).first->second != own;
      return !is_ambiguous;
    });
    if (is_ambiguous) columns.insert(columns.begin(), std::move(name));
  }

  void add_doubt() {
    const Column* const median = find("median");
    if (median == nullptr || find("uncertainty") != nullptr || !heading.some_measured()) return;
    Column doubt = *table_column("uncertainty");
    doubt.shown = " ";
    doubt.of_phase = median->of_phase;
    doubt.drop = median->drop;
    columns.insert(columns.begin() + (median - columns.data()) + 1, std::move(doubt));
  }

  Table empty_table() const {
    Table table{.name = "records"};
    for (const Column& column : columns) {
      std::string title = column.shown.empty() ? column.title : column.shown;
      if (title == " " || (&column == &columns.front() && title == "name")) title.clear();
      table.columns.push_back({.key = column.title,
                               .title = std::move(title),
                               .unit = column.unit,
                               .align = column.text ? Align::kLeft : Align::kRight,
                               .drop = column.drop});
    }
    return table;
  }

  TableRow row_of(const Record& record, bool is_planned = false) const {
    TableRow row;
    for (const Column& column : columns) {
      if (!column.setting && (is_planned || !has_times(record))) break;
      row.cells.push_back(column.cell(record, "", &heading));
    }
    if (!is_planned && record.status != Status::kOk)
      row.remark = fmt::format("{}: {}", name_of(record.status), reason_of(record));
    return row;
  }

  bool is_stored(const Record& record) const {
    return style.stored_runs != nullptr && style.stored_runs->contains(record.run);
  }

  // The record's row, with a remark if its times were not measured for this table.
  TableRow result_row_of(const Record& record) const {
    TableRow row = row_of(record);
    std::vector<std::string> remarks{row.remark};
    if (is_stored(record)) remarks.emplace_back("from the store");
    if (is_predicted(record) && heading.some_measured()) remarks.emplace_back("predicted");
    row.remark = joined_nonempty(std::move(remarks), "; ");
    return row;
  }

  std::vector<TableRow> phase_rows_of(const Record& record) const {
    std::vector<TableRow> rows;
    if (find_in(columns, true, &Column::of_phase) == nullptr) return rows;
    for (const std::string& phase : phases_of(record)) {
      TableRow& row = rows.emplace_back();
      for (const Column& column : columns)
        row.cells.push_back(column.of_phase ? column.cell(record, phase, &heading) : TableCell(nullptr, " "));
      row.cells.front().text = "  " + phase;
    }
    return rows;
  }

  void note(const Record& record) {
    if (!first || first->created.empty()) first = record;
    trust.add(record);
  }

  void compare(const Record& record) {
    if (speedups() == nullptr) return;
    baselines += speedups()->is_baseline(record) ? 1 : 0;
    const std::optional<Speedup> speedup = speedups()->speedup(record, "");
    all_are_compared = all_are_compared && (speedup || !has_times(record));
    if (!speedup || (best && best->value >= speedup->value)) return;
    best = speedup;
    fastest = heading.short_name(record);
  }

  // "fastest: compile, 1.5x (1.2-1.7)"; empty if no row is known to be the fastest.
  std::string fastest_line() {
    const bool is_known = baselines == 1 && all_are_compared && best && best->interval.low > 1;
    return is_known && find("speedup") != nullptr ? fmt::format("fastest: {}, {}", fastest, speedup_text(best)) : "";
  }

  // The distinct notes of the columns, such as what a standard deviation is divided by.
  std::string notes_line() const {
    std::vector<std::string_view> notes;
    for (const Column& column : columns) {
      if (!column.note.empty() && !is_among(column.note, notes)) notes.push_back(column.note);
    }
    return joined(notes, "; ");
  }

  std::string shared_line() const {
    return joined_nonempty({heading.shared_text(*first), heading.machine_text(*first)}, " · ");
  }
};

}  // namespace

struct TableStream::State : Rows {
  std::optional<GrowingTable> rows;
  std::optional<AttentionTable> attention;
  bool is_point = false;     // the output is a single record, in sentences
  bool is_held = false;      // rows are written at the end, because a baseline may arrive after rows that need it
  std::vector<Record> held;  // records whose rows end() writes; used if is_held
  std::optional<Record> too_large;  // the smallest point that is out of memory
  std::string run;                  // run of the previous row

  State(const TableStyle& style, std::string_view list, const Records& expected) : Rows(style, list, expected) {
    if (list == "attention" && are_few() && AttentionTable::suits(expected)) {
      attention.emplace(expected, style);
      return;
    }
    is_point = list == kDefault && heading.row_count() == 1;
    is_held = have_late_baselines(columns);
    Table table = empty_table();
    table.with_header = !style.quiet;
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].speedups) table.columns[i].width = columns[i].width;  // fixed, because ratios are not known yet
    }
    size_t examples = 0;
    expected.each(extent(), [&](const Record& record) {
      if (!first) first = record;
      const bool is_planned = record.status == Status::kOk && record.time.empty();
      table.rows.push_back(row_of(record, is_planned));
      for (TableRow& row : phase_rows_of(record)) table.rows.push_back(std::move(row));
      if (is_planned && table.rows.size() == 1)
        for (size_t i = 0; i < columns.size(); ++i) table.columns[i].width = columns[i].width;
      return ++examples < kExamples;
    });
    rows.emplace(table, style);
  }

  Extent extent() const { return attention || is_point || style.verbose ? Extent::kWhole : Rows::extent(); }

  std::string details(const Record& record) const {
    std::string text;
    if (!style.verbose || style.quiet || !has_times(record)) return text;
    for (const std::string& line : details_of(record)) text += wrapped("  " + line, style);
    return text;
  }

  std::string add(const Record& record) {
    add_baseline(columns, record);
    note(record);
    if (is_smaller_shortage(record, too_large)) too_large = record;
    if (attention) return attention->add(record);
    if (!is_held) return text_of(record);
    held.push_back(record);
    return "";
  }

  std::string text_of(const Record& record) {
    if (is_point)
      return point_text(record, heading, style, style.quiet, is_stored(record), style.mfu) + details(record);
    TableRow row = result_row_of(record);
    compare(record);
    if (style.tells_runs && heading.run_count() > 1 && record.run != run) row.heading = run_text(record);
    run = record.run;
    std::string text = rows->add(row);
    for (const TableRow& phase : phase_rows_of(record)) text += rows->add(phase);
    return text + details(record);
  }

  std::vector<std::string> lines_below() {
    std::vector<std::string> lines;
    if (style.quiet || !first) return lines;
    if (attention) lines = attention->reasons();
    if (!is_point) {
      lines.push_back(fastest_line());
      lines.push_back(shared_line());
    }
    if (style.verbose) lines.push_back(joined(heading.facts(*first), ", "));
    lines.push_back(notes_line());
    lines.push_back(trust.line());
    std::erase(lines, "");
    return lines;
  }

  std::string end() {
    std::string text = attention ? attention->end() : "";
    for (const Record& record : held) text += text_of(record);
    for (const std::string& line : lines_below()) text += wrapped(line, style);
    if (style.verbose && !style.quiet && too_large) text += explain_shortage(*too_large);
    return text;
  }
};

TableStream::TableStream(const TableStyle& style, std::string_view columns, const Records& expected)
    : state_(std::make_unique<State>(style, columns, expected)) {}

TableStream::~TableStream() = default;

Extent TableStream::extent() const { return state_->extent(); }

std::string TableStream::add(const Record& record) { return state_->add(record); }
std::string TableStream::end() { return state_->end(); }

void table(const Records& records, const TableStyle& style, std::string_view columns, const TextSink& sink) {
  TableStream stream(style, columns, records);
  bool is_empty = true;
  records.all(stream.extent(), [&](const Record& record) {
    sink(stream.add(record));
    is_empty = false;
  });
  if (!is_empty) sink(stream.end());
}

void markdown(const Records& records, const TableStyle& style, std::string_view list, const TextSink& sink) {
  Rows rows(style, list, records);
  Table table = rows.empty_table();
  records.each(rows.extent(), [&](const Record& record) {
    rows.note(record);
    rows.compare(record);
    table.rows.push_back(rows.result_row_of(record));
    if (!has_times(record)) return true;
    for (TableRow& row : rows.phase_rows_of(record)) table.rows.push_back(std::move(row));
    return true;
  });
  if (rows.first) {
    table.notes = {rows.fastest_line(), rows.shared_line(), rows.notes_line(), rows.trust.line()};
    std::erase(table.notes, "");
  }
  sink(markdown_of(table));
}

}  // namespace laptime
