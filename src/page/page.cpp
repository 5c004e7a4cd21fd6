// The JSON block of the page.
#include "page/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/json.h"
#include "distribution/verdict.h"
#include "page/page_json.h"
#include "page/page_template.h"
#include "page/points.h"
#include "page/sentences.h"
#include "page/trace_sums.h"
#include "report/questions.h"

namespace laptime {
namespace {

// Total columns of all memory timelines; they determine the size of a page with many traces.
constexpr size_t kAllColumns = 4800;
constexpr size_t kMostColumns = 300;
constexpr size_t kFewestColumns = 60;
constexpr size_t kMostConfigurations = 64;  // points whose complete configuration is on the page

Json axes_json(const PagePoints& points) {
  Json axes = Json::array();
  for (const PageAxis& axis : points.axes())
    axes.push_back({{"key", axis.key}, {"title", axis.title}, {"values", axis.values}});
  return axes;
}

Json groups_json(const PagePoints& points) {
  Json groups = Json::array();
  const auto index = [](const std::optional<size_t>& point) { return point ? Json(*point) : Json(nullptr); };
  for (const PageGroup& group : points.groups()) {
    groups.push_back({{"points", group.points},
                      {"is_one_work", group.is_one_work},
                      {"base", index(group.base)},
                      {"fastest", index(group.fastest)}});
  }
  return groups;
}

// The meanings of the verdicts that occur on the page.
Json verdicts_json(const PagePoints& points) {
  Json verdicts = Json::object();
  for (const StabilityWord& word : stability_words()) {
    if (std::any_of(points.all().begin(), points.all().end(),
                    [&](const PagePoint& point) { return point.record->verdict.rating == word.name; }))
      verdicts[std::string(word.name)] = word.meaning;
  }
  return verdicts;
}

Json answers_json(const PagePoints& points) {
  // The point that the page opens with comes first, followed by those with the same work.
  const PagePoint* const headline = &points[points.headline()];
  std::vector<const PagePoint*> order;
  for (const PagePoint& point : points.all()) order.push_back(&point);
  std::stable_sort(order.begin(), order.end(), [&](const PagePoint* a, const PagePoint* b) {
    const auto distance = [&](const PagePoint* one) {
      return one == headline ? 0 : one->group == headline->group ? 1 : 2;
    };
    return distance(a) < distance(b);
  });
  std::vector<QuestionedPoint> questioned;
  questioned.reserve(order.size());
  for (const PagePoint* const point : order) questioned.push_back({point->record, point->trace, point->full_name});
  Json answers = Json::array();
  for (const Answer& answer : answer_questions(questioned))
    answers.push_back({{"question", answer.question}, {"answer", answer.text}});
  return answers;
}

}  // namespace

std::string page_data(const PageInput& input) {
  const PagePoints points(input);
  const auto count = std::count_if(points.all().begin(), points.all().end(),
                                   [](const PagePoint& point) { return point.trace != nullptr; });
  const size_t columns =
      std::clamp(kAllColumns / std::max<size_t>(1, static_cast<size_t>(count)), kFewestColumns, kMostColumns);
  Json records = Json::array();
  Json traces = Json::array();
  for (const PagePoint& point : points.all()) {
    const auto sums = point.trace == nullptr ? nullptr : std::make_unique<TraceSums>(point);
    Json json = point_json(points, point, sums.get());
    if (points.all().size() <= kMostConfigurations) json["config"] = point.record->config.json();
    if (sums) {
      json["trace"] = traces.size();
      traces.push_back(trace_json(*sums, columns));
    }
    records.push_back(std::move(json));
  }
  return harmless_in_html(
      {{"title", page_title(points)},
       {"headline", page_headline(points)},
       {"doubt", page_doubt(points)},
       {"selected", points.headline()},
       {"axes", axes_json(points)},
       {"groups", groups_json(points)},
       {"points", std::move(records)},
       {"traces", std::move(traces)},
       {"verdicts", verdicts_json(points)},
       {"answers", answers_json(points)},
       {"published", published_json(points)},
       {"program", input.records.back().binary.version + " " + input.records.back().binary.commit}});
}

std::string page_html(const PageInput& input) { return filled_page("page.html", page_data(input)); }

}  // namespace laptime
