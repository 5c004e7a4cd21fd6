// Prints one figure of each stored point, build by build.
#include "cli/commands.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/words.h"
#include "cli/answer_output.h"
#include "cli/column_words.h"
#include "cli/command.h"
#include "cli/sweep_words.h"
#include "cli/terminal.h"
#include "cli/user_store.h"
#include "config/output_config.h"
#include "record/metrics.h"
#include "record/store.h"
#include "report/filter.h"
#include "report/history.h"

namespace laptime {
namespace {

// The word of a metric; Error for any other.
std::string canonical_metric(std::string_view where, std::string_view word) {
  if (find_metric(word) != nullptr) return std::string(word);
  std::vector<std::string_view> known;
  for (const Metric& metric : metrics()) known.push_back(metric.tag);
  reject_word(where, "metric", word, known);
}

struct HistoryWords {
  std::string metric = "median";
  std::string within = "1%";
  bool each_record = false;

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    constexpr std::string_view kGroup = "History";
    visit(Option{.flag = "metric",
                 .key = "metric",
                 .group = kGroup,
                 .help = "metric to track (laptime list metrics)",
                 .axis = false,
                 .value = "NAME",
                 .canonical = canonical_metric},
          self.metric);
    visit(Option{.flag = "within",
                 .key = "within",
                 .group = kGroup,
                 .help = "ignore changes of level below this",
                 .axis = false,
                 .value = "PERCENT",
                 .canonical = canonical_percent},
          self.within);
    visit(own_option(kGroup, "each-record", "show every record, not the median of each build"), self.each_record);
  }
};

constexpr bool is_of_history(std::string_view flag) {
  return flag == "store" || flag == "output" || flag == "output-file";
}

std::vector<OptionRow> history_options() {
  std::vector<OptionRow> rows = option_rows<HistoryWords>();
  for (OptionRow& row : option_rows<OutputConfig>()) {
    if (is_of_history(row.option.flag)) rows.push_back(std::move(row));
  }
  keep_formats_of_answers(rows);
  return rows;
}

struct HistoryCommand {
  HistoryWords words;
  OutputConfig output;
  std::string filter;
};

ExitCode run(const HistoryCommand& command) {
  const std::filesystem::path path =
      store_to_read("history", command.output.store, {{"--output-file", command.output.output_file}});
  const Filter filter(command.filter);
  const Store store = Store::open(path, Store::Access::kRead);
  StoreProblems problems;
  const StoredRecords records(store, filter, [&](const std::string& problem) { problems.add(problem); });
  AnswerOutput output(command.output);
  size_t single = 0;
  const std::vector<PointAnswer> answers = history_answers(records,
                                                           {.metric = find_metric(command.words.metric),
                                                            .least = parse_percent("--within", command.words.within),
                                                            .by_commit = !command.words.each_record},
                                                           &single);
  for (const PointAnswer& answer : answers) output.add(answer);
  output.finish();
  if (const std::string none = records.why_none(filter); !none.empty()) {
    print_message(none);
  } else if (answers.empty()) {
    print_message(fmt::format("{} with {} alone; a history needs two{}", counted(single, "point"),
                              command.words.each_record ? "one record" : "records of one build",
                              command.words.each_record ? "" : "; --each-record shows every record"));
  }
  return problems.end();
}

HistoryCommand parse_history(const CommandWords& words) {
  HistoryCommand command{.words = {}, .output = {}, .filter = joined(words.positionals, " ")};
  for (const GivenFlag& given : words.flags) {
    if (!assign_given(command.words, given)) assign_given(command.output, given);
  }
  return command;
}

}  // namespace

constinit const Command kHistory{
    .name = "history",
    .arguments = "[FILTER] [OPTIONS]",
    .summary = "track a metric across builds and mark changes",
    .details =
        "Follows a metric of stored records, point by point and machine by machine: a figure for each build, or for "
        "each record. A level changes where the figures before and after differ as fewer than one in a hundred random "
        "orders of them do; a level has at least three. FILTER is that of laptime show: laptime history \"model = "
        "small\" --metric forward_time.",
    .options = history_options,
    .parse = action_of<parse_history, run>,
    .filter_columns = named_columns,
};

}  // namespace laptime
