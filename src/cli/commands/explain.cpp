// Explanations as text or JSON, and dumps of graphs and plans.
#include "cli/commands/explain.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/words.h"
#include "cli/commands.h"
#include "cli/destination.h"
#include "cli/progress.h"
#include "cli/sweep_words.h"
#include "cli/terminal.h"
#include "cli/user_store.h"
#include "explain/explain.h"
#include "record/fields_json.h"
#include "report/explanation_text.h"

namespace laptime {
namespace {

struct ExplainOptions {
  Dump dump = Dump::kNone;
  ExplainView view = ExplainView::kSummary;

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit(own_option("Explain", "dump", "print the graph after each pass, or the plan, instead of the summary"),
          self.dump);
    visit(own_option("Explain", "view", "what to show of each point"), self.view);
  }
};

// How a text is laid out, and what it shows.
struct ExplainQuery {
  Dump dump = Dump::kNone;
  ExplainView view = ExplainView::kSummary;
  TextStyle style{};
};

std::string text_of(const ResolvedPoint& point, const KnowledgeOf& known, const ExplainQuery& query) {
  switch (query.dump) {
    case Dump::kNone: return print(explain(point, known), query.view, query.style);
    case Dump::kGraph: return dump_graph(point, known);
    case Dump::kPlan: return dump_plan(point, known);
  }
  return {};
}

std::string json_of(const ResolvedPoint& point, const KnowledgeOf& known, const ExplainQuery&) {
  return to_json(explain(point, known)).dump();
}

// How the texts of points make a document.
struct ExplainFormat {
  OutputFormat format;
  std::string (*text)(const ResolvedPoint& point, const KnowledgeOf& known, const ExplainQuery& query);
  std::string_view begin, between, end;
  bool shows_dumps = false;
};
constexpr std::array kFormats{ExplainFormat{OutputFormat::kTable, text_of, "", "\n", "", true},
                              ExplainFormat{OutputFormat::kJson, json_of, "[\n", ",\n", "\n]\n"},
                              ExplainFormat{OutputFormat::kJsonl, json_of, "", "\n", "\n"}};

// The names of the formats that --output takes, with --dump or without.
std::vector<OutputFormat> formats_for(bool dumps) {
  std::vector<OutputFormat> formats;
  for (const ExplainFormat& one : kFormats) {
    if (one.shows_dumps || !dumps) formats.push_back(one.format);
  }
  return formats;
}

const ExplainFormat& format_of(OutputFormat format, Dump dump) {
  const bool dumps = dump != Dump::kNone;
  for (const ExplainFormat& one : kFormats) {
    if (one.format == format && (one.shows_dumps || !dumps)) return one;
  }
  std::vector<std::string_view> names;
  for (const OutputFormat one : formats_for(dumps)) names.push_back(name_of(one));
  throw Error::format("laptime explain: --output {}: {} are written as {}", name_of(format),
                      dumps ? "dumps" : "explanations", joined(names, ", "));
}

std::vector<OptionRow> explain_options() {
  std::vector<OptionRow> rows = option_rows<ExplainOptions>();
  for (OptionRow& row : sweep_options()) rows.push_back(std::move(row));
  leave_out(rows, {"columns", "sort", "quiet", "explain", "resume", "label"});
  keep_formats(rows, formats_for(/*dumps=*/false));
  return rows;
}

ExitCode run(const ExplainCommand& command) {
  const OutputConfig& config = command.sweep.output;
  const ExplainFormat& format = format_of(config.output, command.dump);
  const std::vector<ResolvedPoint> points = checked_points(command.sweep);
  std::optional<WholeFile> file;
  if (!config.output_file.empty()) file.emplace(config.output_file);
  ExplainQuery query{.dump = command.dump, .view = config.verbose ? ExplainView::kAll : command.view};
  if (!file) {
    const OutputStream stream = standard_output();
    query.style = {.unicode = stream.unicode, .width = stream.width};
  }
  std::vector<std::string> texts;
  const KnowledgeOf known = stored_knowledge(config.store);
  const size_t planned = plan_each(
      points, [&](const ResolvedPoint& point) { return format.text(point, known, query); },
      [&](std::string text) { texts.push_back(std::move(text)); });
  if (planned > 0) {
    const std::string document = fmt::format("{}{}{}", format.begin, joined(texts, format.between), format.end);
    file ? file->write(document) : write_all(STDOUT_FILENO, document, "standard output");
  }
  return planning_exit(planned, points.size());
}

}  // namespace

ExplainCommand parse_explain(const CommandWords& words) {
  reject_positionals(words);
  const auto options = given_options<ExplainOptions>(words);
  return {given_sweep(words), options.dump, options.view};
}

constinit const Command kExplain{
    .name = "explain",
    .arguments = "[OPTIONS]",
    .summary = "show what bench would run: parameters, FLOPs, bytes, passes, kernels chosen and refused",
    .details = "Takes the options of bench that describe a point, and runs nothing.",
    .options = explain_options,
    .parse = action_of<parse_explain, run>,
};

}  // namespace laptime
