// published_page: predicted against published figures as one self-contained page.
#pragma once

#include <string>
#include <vector>

namespace laptime {

struct PublishedPoint {
  std::string id, model, machine, program, arithmetic, quantity, source;
  bool is_memory = false;
  double published = 0, predicted = 0;  // seconds or bytes
};

struct PublishedPage {
  std::string title, headline;
  std::vector<PublishedPoint> points;
  std::string program;  // version and build
};

// An HTML file as page_html makes it.
std::string published_page(const PublishedPage& page);

}  // namespace laptime
