// Fills the template of pages.
#include <fmt/format.h>

#include <utility>

#include "base/ranges.h"
#include "page/page.h"
#include "table/text.h"

namespace laptime {
namespace {

// Base64 of a SHA-256 hash given in hexadecimal digits, as a content security policy writes it.
std::string base64_of_hash(const std::string& hex) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const std::string padded = hex + "00";
  std::string text;
  for (size_t i = 0; i < padded.size(); i += 3) {  // three hexadecimal digits make two base64 digits
    const size_t bits = std::stoul(padded.substr(i, 3), nullptr, 16);
    text += {kDigits[bits >> 6U], kDigits[bits & 63U]};
  }
  text.back() = '=';
  return text;
}

std::string policy() {
  std::string scripts;
  std::string styles;
  for (const PageFile& file : page_files()) {
    if (!file.name.ends_with(".html"))
      (file.name.ends_with(".js") ? scripts : styles) +=
          fmt::format(" 'sha256-{}'", base64_of_hash(std::string(file.sha256)));
  }
  return fmt::format("default-src 'none'; script-src{}; style-src{}; base-uri 'none'; form-action 'none'", scripts,
                     styles);
}

// ASCII JSON in which nothing can end a script element or begin a comment.
std::string harmless_in_html(const Json& json) {
  std::string text = json.dump();
  for (const auto& [mark, escape] : {std::pair("<", "\\u003c"), std::pair(">", "\\u003e"), std::pair("&", "\\u0026")})
    replace_all(text, mark, escape);
  return text;
}

}  // namespace

std::string filled_page(std::string_view script, const Json& data) {
  const auto text = [](std::string_view name) { return find_in(page_files(), name, &PageFile::name)->text; };
  return fmt::format(fmt::runtime(text("page.html")), fmt::arg("policy", policy()), fmt::arg("style", text("page.css")),
                     fmt::arg("data", harmless_in_html(data)), fmt::arg("library", text("echarts.min.js")),
                     fmt::arg("charts", text("charts.js")), fmt::arg("tables", text("tables.js")),
                     fmt::arg("look", text("look.js")), fmt::arg("script", text(script)));
}

}  // namespace laptime
