// Fills the templates of pages.
#include "page/page_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "page/page_files.h"

namespace laptime {
namespace {

const PageFile& page_file(std::string_view name) {
  const auto files = page_files();
  return *std::find_if(files.begin(), files.end(), [&](const PageFile& file) { return file.name == name; });
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

// Calls `put` with each piece of the template: text, or a name that is enclosed in {{}}.
void for_each_piece(std::string_view page, const std::function<void(std::string_view, bool is_name)>& put) {
  std::string_view rest = page;
  while (true) {
    const size_t begin = rest.find("{{");
    put(rest.substr(0, begin), false);
    if (begin == std::string_view::npos) return;
    const size_t end = rest.find("}}", begin);
    put(rest.substr(begin + 2, end - begin - 2), true);
    rest.remove_prefix(end + 2);
  }
}

std::string policy(std::string_view page) {
  std::string scripts;
  std::string styles;
  for_each_piece(page, [&](std::string_view name, bool is_name) {
    if (!is_name || !(name.ends_with(".js") || name.ends_with(".css"))) return;
    (name.ends_with(".js") ? scripts : styles) += fmt::format(" 'sha256-{}'", base64_of_hex(page_file(name).sha256));
  });
  return fmt::format("default-src 'none'; script-src{}; style-src{}; base-uri 'none'; form-action 'none'", scripts,
                     styles);
}

}  // namespace

std::string harmless_in_html(const Json& json) {
  std::string text;
  for (const char c : json.dump()) {
    if (c == '<' || c == '>' || c == '&') {
      text += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      text += c;
    }
  }
  return text;
}

std::string filled_page(std::string_view page, std::string_view data) {
  const std::string_view text = page_file(page).text;
  std::string html;
  for_each_piece(text, [&](std::string_view piece, bool is_name) {
    html += !is_name            ? std::string(piece)
            : piece == "data"   ? std::string(data)
            : piece == "policy" ? policy(text)
                                : std::string(page_file(piece).text);
  });
  return html;
}

}  // namespace laptime
