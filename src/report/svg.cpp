// Elements of a drawing as text.
#include "report/svg.h"

#include <fmt/format.h>

#include "table/text.h"

namespace laptime {
namespace {

// At most two decimals, which is finer than a screen shows.
std::string number(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string points_text(std::span<const SvgPoint> points) {
  std::string text;
  for (const SvgPoint& point : points) {
    if (!text.empty()) text += ' ';
    text += number(point.x) + "," + number(point.y);
  }
  return text;
}

constexpr double kWidthPerSize = 0.58;  // of a mean letter of a sans-serif font

}  // namespace

std::string xml_escaped(std::string_view raw) {
  std::string escaped;
  for (const char c : printable(raw)) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      case '\'': escaped += "&#39;"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

double svg_text_width(std::string_view text, double size) {
  return static_cast<double>(display_width(text)) * size * kWidthPerSize;
}

std::string svg_shortened(const std::string& text, double size, double width) {
  if (svg_text_width(text, size) <= width) return text;
  std::string kept = text;
  while (!kept.empty() && svg_text_width(kept + "...", size) > width) {
    kept.pop_back();
    while (!kept.empty() && (static_cast<unsigned char>(kept.back()) & 0xC0U) == 0x80U) kept.pop_back();
  }
  return kept.empty() ? "" : kept + "...";
}

Svg::Svg(double width, double height, std::string_view title, std::string_view description) {
  text_ = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" role=\"img\" "
      "aria-labelledby=\"title description\" font-family=\"sans-serif\">\n"
      "<title id=\"title\">{2}</title>\n<desc id=\"description\">{3}</desc>\n",
      number(width), number(height), xml_escaped(title), xml_escaped(description));
  rect({0, 0}, width, height, "#ffffff");
}

void Svg::element(std::string_view shape, std::string_view tooltip) {
  if (tooltip.empty()) {
    text_ += fmt::format("<{}/>\n", shape);
  } else {
    text_ += fmt::format("<{}><title>{}</title></{}>\n", shape, xml_escaped(tooltip), shape.substr(0, shape.find(' ')));
  }
}

void Svg::rect(SvgPoint corner, double width, double height, std::string_view fill, std::string_view tooltip) {
  element(fmt::format("rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"", number(corner.x),
                      number(corner.y), number(width), number(height), fill),
          tooltip);
}

void Svg::polygon(std::span<const SvgPoint> points, std::string_view fill, std::string_view tooltip) {
  element(fmt::format("polygon points=\"{}\" fill=\"{}\"", points_text(points), fill), tooltip);
}

void Svg::circle(SvgPoint center, double radius, std::string_view fill, std::string_view tooltip) {
  element(fmt::format("circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\"", number(center.x), number(center.y),
                      number(radius), fill),
          tooltip);
}

void Svg::line(SvgPoint from, SvgPoint to, std::string_view stroke, double width, bool dashed) {
  element(fmt::format("line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{}\" stroke-width=\"{}\"{}",
                      number(from.x), number(from.y), number(to.x), number(to.y), stroke, number(width),
                      dashed ? " stroke-dasharray=\"4 3\"" : ""),
          {});
}

void Svg::polyline(std::span<const SvgPoint> points, std::string_view stroke, double width) {
  element(fmt::format("polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"", points_text(points),
                      stroke, number(width)),
          {});
}

void Svg::text(SvgPoint at, std::string_view text, const SvgText& style) {
  text_ += fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{}\" text-anchor=\"{}\" fill=\"{}\"{}>{}</text>\n",
                       number(at.x), number(at.y), number(style.size), style.anchor, style.fill,
                       style.bold ? " font-weight=\"bold\"" : "", xml_escaped(text));
}

std::string Svg::finish() const { return text_ + "</svg>\n"; }

}  // namespace laptime
