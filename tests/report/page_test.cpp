// The HTML page: its block of JSON holds together, its texts cannot become markup, its questions are the documents'.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "analysis/made_trace.h"
#include "base/error.h"
#include "report/page/page.h"
#include "report/published/figures_file.h"
#include "report/published/published.h"
#include "report/stored_records.h"

namespace laptime {
namespace {

using testing::HasSubstr;
using testing::Not;

// Whole steps of two phases, with times, FLOPs and the limits of a machine.
StepTrace timed_trace() {
  MadeTrace made;
  made.launch("forward", "layers.0.attn", "matmul", 0, "attn");
  made.launch("forward", "layers.0.ffn", "add", 0, "ffn");
  made.launch("backward", "layers.0.ffn", "matmul", 0, "ffn");
  made.buffer(1 << 20, 0, 2, true);
  made.buffer(1 << 19, 1, 2, false);
  made.resident(1 << 21, "parameter", "weight");
  StepTrace trace = made.trace;
  trace.launches.flops = {2e9, 1e6, 4e9};
  trace.launches.bytes = {1 << 20, 1 << 20, 1 << 21};
  for (int i = 0; i < 6; ++i) trace.steps.push_back({0, 0.0101, {3'000'000, 1'000'000, 6'000'000}});
  trace.untraced = {0.01, 0.01, 0.01, 0.01, 0.01, 0.01};
  trace.peak_flops = 1e12;
  trace.bandwidth = 1e10;
  return trace;
}

PageInput sample_input() {
  PageInput input;
  input.records = stored_records();
  input.traces.resize(input.records.size());
  input.traces.front() = timed_trace();
  return input;
}

std::set<std::string> keys_of(const Json& table) {
  std::set<std::string> keys;
  for (const Json& column : table["columns"]) keys.insert(column["key"].get<std::string>());
  return keys;
}

std::vector<std::string> section_ids(const Json& page) {
  std::vector<std::string> ids;
  for (const Json& section : page["sections"]) ids.push_back(section["id"].get<std::string>());
  return ids;
}

TEST(Page, HasTheSectionsOfItsDataInOrderAndNamesTheOthers) {
  const Json page = Json::parse(page_data(sample_input()));
  EXPECT_THAT(section_ids(page),
              testing::ElementsAre("comparisons", "questions", "tables", "step-time", "first-steps", "samples",
                                   "speed-up", "classes", "kernels", "roofline", "timeline", "memory", "published"));
  ASSERT_EQ(page["missing"].size(), 1U) << page["missing"];
  EXPECT_EQ(page["missing"][0]["title"], "Predicted against measured");

  PageInput plain;
  plain.records = {stored_records().front()};
  plain.traces.resize(1);
  const Json small = Json::parse(page_data(plain));
  EXPECT_THAT(section_ids(small), testing::Not(testing::Contains("kernels")));
  bool names_command = false;
  for (const Json& one : small["missing"]) names_command = names_command || one["command"] == "laptime profile";
  EXPECT_TRUE(names_command) << small["missing"];
}

TEST(Page, ChartsNameColumnsOfTheirTables) {
  const Json page = Json::parse(page_data(sample_input()));
  size_t charts = 0;
  for (const Json& section : page["sections"]) {
    for (const Json& figure : section["figures"]) {
      const Json& table = figure["table"];
      ASSERT_EQ(table["rows"].size(), table["shown"].size()) << figure["title"];
      for (size_t row = 0; row < table["rows"].size(); ++row) {
        ASSERT_EQ(table["rows"][row].size(), table["columns"].size()) << figure["title"];
        ASSERT_EQ(table["shown"][row].size(), table["columns"].size()) << figure["title"];
      }
      if (figure["chart"].is_null()) continue;
      ++charts;
      EXPECT_FALSE(table["rows"].empty()) << figure["title"];
      EXPECT_NE(figure["summary"], "") << figure["title"];
      const std::set<std::string> keys = keys_of(table);
      for (const char* const named : {"label", "series", "x", "y", "value", "part", "total", "low", "high", "text",
                                      "size", "a", "b", "where", "state"}) {
        const Json key = figure["chart"].value(named, Json());
        EXPECT_TRUE(!key.is_string() || keys.contains(key.get<std::string>())) << figure["title"] << " " << named;
      }
      for (const Json& part : figure["chart"].value("parts", Json::array()))
        EXPECT_TRUE(keys.contains(part["key"].get<std::string>())) << figure["title"] << " " << part;
    }
  }
  EXPECT_GE(charts, 10U);
}

TEST(Page, TextsOfRecordsCannotBecomeMarkup) {
  PageInput input = sample_input();
  const std::string hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>";
  input.records.front().label = hostile;
  input.records.front().machine.json()["cpu_model"] = hostile + "{{page.css}}";
  const std::string page_and_library = page_html(input);
  const std::string html = page_and_library.substr(0, page_and_library.find("<script>"));
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  const Json page = Json::parse(page_data(input));
  bool is_there = false;
  for (const Json& fact : page["header"]["facts"]) is_there = is_there || fact["text"] == hostile + "{{page.css}}";
  EXPECT_TRUE(is_there);
}

TEST(Page, LoadsNothingAndAllowsNoOtherScript) {
  const std::string html = page_html(sample_input());
  EXPECT_THAT(html, HasSubstr("default-src 'none'; script-src 'sha256-"));
  EXPECT_THAT(html, Not(HasSubstr("unsafe-")));
  for (const char* const loads : {" src=", "<link", "@import", "url(http", "{{"}) {
    const size_t library = html.find("<script>");  // the chart library has such words in its own texts
    EXPECT_EQ(html.substr(0, library).find(loads), std::string::npos) << loads;
  }
}

// Rows of the table of a section's first figure, as {column: value}.
std::vector<std::map<std::string, Json>> rows_of(const Json& page, const std::string& id) {
  std::vector<std::map<std::string, Json>> rows;
  for (const Json& section : page["sections"]) {
    if (section["id"] != id) continue;
    const Json& table = section["figures"][0]["table"];
    for (const Json& row : table["rows"]) {
      std::map<std::string, Json>& cells = rows.emplace_back();
      for (size_t i = 0; i < row.size(); ++i) cells[table["columns"][i]["key"].get<std::string>()] = row[i];
    }
  }
  return rows;
}

void expect_closed_sums(const std::vector<std::map<std::string, Json>>& rows) {
  double step = 0;
  std::map<std::string, double> phases;
  for (const auto& row : rows) {
    step += row.at("step_share").get<double>();
    if (!row.at("share").is_null()) phases[row.at("phase").get<std::string>()] += row.at("share").get<double>();
  }
  EXPECT_NEAR(step, 1, 1e-9);
  for (const auto& [phase, share] : phases) EXPECT_NEAR(share, 1, 1e-9) << phase;
}

// The times of other people are a section of every page: of the same work where there is some, else of whole steps.
TEST(Page, PublishedTimesAreThereForEveryModel) {
  PageInput input;
  input.records = {stored_records().front()};
  input.traces.resize(1);
  const auto published_here = [](const std::map<std::string, Json>& row) { return row.at("where") == "here"; };
  std::vector<std::map<std::string, Json>> rows = rows_of(Json::parse(page_data(input)), "published");
  EXPECT_TRUE(std::any_of(rows.begin(), rows.end(), published_here));

  input.records.front().config.json()["model"] = "custom";
  input.records.front().config.json()["d_model"] = 48;
  const Json page = Json::parse(page_data(input));
  rows = rows_of(page, "published");
  EXPECT_GE(rows.size(), 3U);
  for (const auto& row : rows) {
    EXPECT_EQ(row.at("where"), "published");
    EXPECT_THAT(row.at("work").get<std::string>(), testing::StartsWith("step of "));
    EXPECT_THAT(row.at("work").get<std::string>(), HasSubstr("context 256"));  // as near as there is
  }
  const Json& all = page["sections"].back()["figures"].back();
  EXPECT_TRUE(all["chart"].is_null());
  EXPECT_GT(all["table"]["rows"].size(), 50U);
}

// A chart of published times has those of one work alone, in order, each with its hardware.
TEST(Page, PublishedTimesOfOneWorkAreRanked) {
  PageInput input;
  input.records = {stored_records().front()};
  input.traces.resize(1);
  const Json page = Json::parse(page_data(input));
  size_t works = 0;
  for (const Json& one : page["sections"].back()["figures"]) {
    if (one["chart"].is_null()) continue;
    ++works;
    std::set<std::string> drawn;
    for (const Json& place : one["chart"]["rows"]) drawn.insert(one["table"]["rows"][place.get<size_t>()][1]);
    EXPECT_EQ(drawn.size(), one["chart"]["rows"].size()) << one["title"];
  }
  EXPECT_EQ(works, 3U);  // step, backward and forward
  const Json& figure = page["sections"].back()["figures"][0];
  const std::vector<std::map<std::string, Json>> rows = rows_of(page, "published");
  std::vector<double> seconds;
  bool has_own = false;
  for (const Json& place : figure["chart"]["rows"]) {
    const auto& row = rows.at(place.get<size_t>());
    EXPECT_EQ(row.at("work"), figure["title"]);
    seconds.push_back(row.at("time_s").get<double>());
    has_own = has_own || row.at("where") == "here";
    if (row.at("where") == "published") {
      EXPECT_THAT(row.at("text").get<std::string>(), HasSubstr(" times as "));
    }
  }
  EXPECT_TRUE(has_own);
  input.records.front().verdict.rating = "no_steady_state";
  const Json unsteady = Json::parse(page_data(input))["sections"].back()["figures"][0];
  EXPECT_THAT(unsteady["summary"].get<std::string>(),
              HasSubstr("the verdict on the fastest of this page is no steady state"));
  EXPECT_THAT(unsteady["table"]["rows"][0][5].get<std::string>(), HasSubstr(", roughly "));
  input.records.front().verdict.rating = "stable";
  const Json steady = Json::parse(page_data(input))["sections"].back()["figures"][0];
  EXPECT_THAT(steady["table"]["rows"][0][5].get<std::string>(),
              testing::ContainsRegex(" times as fast [(].* [.][.] .*[)]"));
  EXPECT_GE(seconds.size(), 3U);
  EXPECT_TRUE(std::is_sorted(seconds.begin(), seconds.end()));
}

// What no launch took is a class of its own, so that the classes of a phase, and of the step, add up to 100 %.
TEST(Page, ClassesAddUpToThePhaseAndTheStep) {
  PageInput input;
  input.records = {stored_records().front()};
  Record& record = input.records.front();
  record.phases = {{"forward", 0.4, 0.4}, {"backward", 0.5, 0.5}, {"residue", 0.1, 0.1}};
  record.classes = {{"forward", "matmul", 0.3, 0.3}, {"forward", "copy", 0.05, 0.05}, {"backward", "matmul", 0.5, 0.5}};
  input.traces.resize(1);
  std::vector<std::map<std::string, Json>> rows = rows_of(Json::parse(page_data(input)), "classes");
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows[2]["class"], "other");
  EXPECT_NEAR(rows[2]["seconds_s"].get<double>(), 0.05, 1e-9);
  EXPECT_NEAR(rows[2]["share"].get<double>(), 0.125, 1e-9);
  EXPECT_EQ(rows[4]["phase"], "residue");
  EXPECT_NEAR(rows[4]["step_share"].get<double>(), 0.1, 1e-9);
  expect_closed_sums(rows);

  record.classes.back() = {"backward", "matmul", 0.6, 0.6};  // measured in other steps than the phases were
  expect_closed_sums(rows_of(Json::parse(page_data(input)), "classes"));

  record.classes.clear();
  input.traces.front() = timed_trace();
  rows = rows_of(Json::parse(page_data(input)), "classes");
  EXPECT_EQ(rows.back()["phase"], "residue");
  EXPECT_NEAR(rows.back()["seconds_s"].get<double>(), 0.0001, 1e-9);
  expect_closed_sums(rows);
}

// Of the records of one point the chart has the newest with samples enough for an interval.
TEST(Page, OneRecordStandsForAPoint) {
  Record many = stored_records().front();
  many.time["step"] = make_time_stats(std::vector{1.0, 1.1, 1.0, 1.2, 1.0, 1.1});
  Record newest = many;
  newest.time["step"] = make_time_stats(std::vector{9.0});
  const PageInput input{{many, newest}, std::vector<std::optional<StepTrace>>(2)};
  const PageView view(input);
  ASSERT_EQ(view.points().size(), 1U);
  EXPECT_EQ(view.points().front()->main_time()->count, 6);
  EXPECT_EQ(view.repeated(), 1U);
}

TEST(Page, QuestionsAreTheHeadingsOfTheWalkthrough) {
  std::ifstream file(LAPTIME_SOURCE_DIR "/docs/walkthrough.md");
  std::stringstream walkthrough;
  walkthrough << file.rdbuf();
  const Json page = Json::parse(page_data(sample_input()));
  const auto section = std::find_if(page["sections"].begin(), page["sections"].end(),
                                    [](const Json& one) { return one["id"] == "questions"; });
  const Json& questions = (*section)["questions"];
  EXPECT_GE(questions.size(), 5U);
  for (const Json& question : questions) {
    EXPECT_THAT(walkthrough.str(), HasSubstr("\n## " + question["question"].get<std::string>() + "\n"));
    EXPECT_FALSE(question["answers"].empty());
  }
}

TEST(Published, EveryFigureIsSoundAndSaysWhereItWasRead) {
  const std::vector<PublishedFigure>& figures = published_figures();
  EXPECT_GT(figures.size(), 400U);
  for (const PublishedFigure& figure : figures) {
    EXPECT_NE(figure.source, "");
    EXPECT_NE(figure.hardware, "");
    EXPECT_NE(figure.arithmetic, "");
    EXPECT_GT(figure.seconds.value_or(1), 0) << figure.source;
  }
}

TEST(Published, FiguresAreOfTheSameModel) {
  Record record = stored_records().front();
  PublishedFigure figure;
  figure.model = "small";
  figure.edition = "2025";
  figure.context_length = 256;
  figure.batch_size = 4;
  EXPECT_TRUE(is_of_same_model(figure, record));
  figure.edition = "2024";
  EXPECT_FALSE(is_of_same_model(figure, record));
}

TEST(Published, DamagedFilesAreErrorsThatNameTheLine) {
  const std::string header(published_figures_file().substr(0, published_figures_file().find('\n') + 1));
  const std::string good = "s,h,PyTorch,2025,small,256,4,step,eager,float32,float32,stated,5,10,ok,0.5,,,,\n";
  EXPECT_EQ(parse_published(header + good).size(), 1U);
  const auto message = [&](const std::string& text) {
    try {
      parse_published(text);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(message("a,b\n"), HasSubstr("line 1"));
  EXPECT_THAT(message(header + good + "too,few\n"), HasSubstr("line 3 has 2 cells"));
  EXPECT_THAT(message(header + "s,h,p,2025,small,x56,4,step,eager,f,f,stated,5,10,ok,0.5,,,,\n"),
              HasSubstr("line 2: column context_length"));
  EXPECT_THAT(message(header + "s,h,p,2025,small,256,4,sprint,eager,f,f,stated,5,10,ok,0.5,,,,\n"),
              HasSubstr("sprint"));
  EXPECT_THAT(message(header + "s,h,p,2025,small,256,4,step,eager,f,f,stated,5,10,ok,,,,,\n"), HasSubstr("has a time"));
}

// The first sentences are all that some people read: how long, how sure, in which phases, on how busy a machine.
TEST(Page, BeginsWithHowLongAndHowSure) {
  PageInput input;
  input.records = stored_records();
  input.records.resize(1);
  Record& record = input.records.front();
  record.verdict.rating = "no_steady_state";
  record.machine.json()["load_average"] = {9.0, 1.0, 1.0};
  record.config.json()["threads"] = 2;
  input.traces.resize(1);
  const Json page = Json::parse(page_data(input));
  EXPECT_THAT(page["conclusion"][0]["text"].get<std::string>(), HasSubstr(" (no steady state"));
  EXPECT_EQ(page["conclusion"][1]["label"], "how sure");
  EXPECT_EQ(page["conclusion"][2]["label"], "by phase");
  EXPECT_THAT(page["conclusion"][2]["text"].get<std::string>(), testing::ContainsRegex("^forward .* ms [(]30 %[)]"));
  EXPECT_THAT(page.dump(), HasSubstr("other programs ran on the machine (load 9.0 on 2 threads)"));
  record.verdict.rating = "stable";
  record.machine.json()["load_average"] = {1.0, 1.0, 1.0};
  const std::string quiet = page_data(input);
  EXPECT_THAT(Json::parse(quiet)["conclusion"][0]["text"].get<std::string>(), Not(HasSubstr("state")));
  EXPECT_THAT(quiet, Not(HasSubstr("other programs ran")));
}

}  // namespace
}  // namespace laptime
