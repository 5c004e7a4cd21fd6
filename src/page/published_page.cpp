// The JSON block of published figures.
#include "page/published_page.h"

#include "page/page_template.h"

namespace laptime {

std::string published_page(const PublishedPage& page) {
  Json points = Json::array();
  for (const PublishedPoint& point : page.points) {
    points.push_back({{"id", point.id},
                      {"model", point.model},
                      {"machine", point.machine},
                      {"program", point.program},
                      {"arithmetic", point.arithmetic},
                      {"quantity", point.quantity},
                      {"source", point.source},
                      {"kind", point.is_memory ? "memory" : "time"},
                      {"published", point.published},
                      {"predicted", point.predicted},
                      {"error", point.predicted / point.published - 1}});
  }
  return filled_page("published.html", harmless_in_html({{"title", page.title},
                                                         {"headline", page.headline},
                                                         {"points", std::move(points)},
                                                         {"program", page.program}}));
}

}  // namespace laptime
