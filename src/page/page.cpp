// Fills the template of the page.
#include "page/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "page/page_files.h"

namespace laptime {
namespace {

const PageFile& page_file(std::string_view name) {
  const auto files = page_files();
  return *std::ranges::find_if(files, [&](const PageFile& file) { return file.name == name; });
}

uint8_t hex_digit(char c) { return static_cast<uint8_t>(c <= '9' ? c - '0' : c - 'a' + 10); }

// Base64 of the bytes given by hexadecimal digits, as a content security policy writes hashes.
std::string base64_of_hex(std::string_view hex) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<uint8_t>(hex_digit(hex[i]) << 4U | hex_digit(hex[i + 1])));
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) group = group << 8U | (i + k < bytes.size() ? bytes[i + k] : 0U);
    for (size_t k = 0; k < 4; ++k)
      text += i + k <= bytes.size() ? kDigits[group >> (18U - 6U * static_cast<uint32_t>(k)) & 63U] : '=';
  }
  return text;
}

std::string policy() {
  std::string scripts;
  for (const std::string_view name : {"echarts.min.js", "charts.js", "tables.js", "page.js"})
    scripts += fmt::format(" 'sha256-{}'", base64_of_hex(page_file(name).sha256));
  return fmt::format("default-src 'none'; script-src{}; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
                     scripts, base64_of_hex(page_file("page.css").sha256));
}

}  // namespace

std::string page_html(const PageInput& input) {
  std::string_view rest = page_file("page.html").text;
  std::string html;
  while (true) {
    const size_t begin = rest.find("{{");
    html += rest.substr(0, begin);
    if (begin == std::string_view::npos) return html;
    const size_t end = rest.find("}}", begin);
    const std::string_view name = rest.substr(begin + 2, end - begin - 2);
    rest.remove_prefix(end + 2);
    if (name == "policy") {
      html += policy();
    } else if (name == "data") {
      html += page_data(input);
    } else {
      html += page_file(name).text;
    }
  }
}

}  // namespace laptime
