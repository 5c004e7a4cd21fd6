// Svg: a drawing as one SVG text, without anything from outside: no scripts, fonts or links.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace laptime {

struct SvgPoint {
  double x = 0;
  double y = 0;
};

struct SvgText {
  double size = 12;                   // pixels
  std::string_view anchor = "start";  // "start", "middle" or "end"
  std::string_view fill = "#222222";
  bool bold = false;
};

class Svg {
 public:
  // Title and description are what a screen reader says. The ground is white.
  Svg(double width, double height, std::string_view title, std::string_view description);

  // A tooltip may be empty.
  void rect(SvgPoint corner, double width, double height, std::string_view fill, std::string_view tooltip = {});
  void polygon(std::span<const SvgPoint> points, std::string_view fill, std::string_view tooltip = {});
  void circle(SvgPoint center, double radius, std::string_view fill, std::string_view tooltip = {});
  void line(SvgPoint from, SvgPoint to, std::string_view stroke, double width = 1, bool dashed = false);
  void polyline(std::span<const SvgPoint> points, std::string_view stroke, double width = 1);
  // `at` is on the base line of the text.
  void text(SvgPoint at, std::string_view text, const SvgText& style = {});

  std::string finish() const;  // the whole document

 private:
  void element(std::string_view shape, std::string_view tooltip);

  std::string text_;
};

// Text as it may stand in XML: markup and quotes escaped, control bytes and invalid UTF-8 made visible.
std::string xml_escaped(std::string_view raw);

// About how many pixels a text takes. Fonts differ, so allow some more.
double svg_text_width(std::string_view text, double size);
// The text, or its beginning and dots where it is wider than `width` pixels.
std::string svg_shortened(const std::string& text, double size, double width);

}  // namespace laptime
