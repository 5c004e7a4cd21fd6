// Fills the template of the page.
#include "report/page/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "report/page/page_files.h"
#include "report/page/page_sections.h"
#include "report/page/page_words.h"

namespace laptime {
namespace {

// A section, and the command that would give it its data.
struct SectionMaker {
  PageSection (*make)(const PageView& view);
  std::string_view command;
};
constexpr std::array kSections{
    SectionMaker{summary_of_comparisons, "laptime bench --mode eager,compile --dtype float32,bfloat16"},
    SectionMaker{questions_section, "laptime profile"},
    SectionMaker{tables_section, "laptime bench"},
    SectionMaker{step_time_section, "laptime bench"},
    SectionMaker{first_steps_section, "laptime bench"},
    SectionMaker{samples_section, "laptime bench"},
    SectionMaker{speedup_section, "laptime bench --mode eager,compile --dtype float32,bfloat16"},
    SectionMaker{classes_section, "laptime profile"},
    SectionMaker{kernels_section, "laptime profile"},
    SectionMaker{roofline_section, "laptime profile"},
    SectionMaker{timeline_section, "laptime memory"},
    SectionMaker{memory_section, "laptime memory --context 128,256,512"},
    SectionMaker{prediction_section, "laptime calibrate, then laptime bench"},
    SectionMaker{published_section, "laptime bench --model small --context 256"}};

const PageFile& page_file(std::string_view name) {
  const auto files = page_files();
  return *std::find_if(files.begin(), files.end(), [&](const PageFile& file) { return file.name == name; });
}

uint8_t hex_digit(char c) { return static_cast<uint8_t>(c <= '9' ? c - '0' : c - 'a' + 10); }

// Base64 of the bytes that the hexadecimal digits stand for, as a content security policy writes hashes.
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
  for (const std::string_view name :
       {"echarts.min.js", "chart_parts.js", "roofline_chart.js", "contexts_chart.js", "charts.js", "page.js"})
    scripts += fmt::format(" 'sha256-{}'", base64_of_hex(page_file(name).sha256));
  return fmt::format("default-src 'none'; script-src{}; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
                     scripts, base64_of_hex(page_file("page.css").sha256));
}

// JSON in which nothing ends a script element or begins a comment.
std::string harmless_in_html(const std::string& json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    if (c == '<' || c == '>' || c == '&') {
      text += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

std::string page_data(const PageInput& input) {
  const PageView view(input);
  Json sections = Json::array();
  Json missing = Json::array();
  for (const SectionMaker& maker : kSections) {
    PageSection section = maker.make(view);
    if (section.is_empty()) {
      missing.push_back({{"title", section.title}, {"command", maker.command}});
    } else {
      explain_verdicts(view, section);
      sections.push_back(page_json(section));
    }
  }
  Json conclusion = Json::array();
  for (const PageAnswer& answer : page_conclusion(view))
    conclusion.push_back({{"label", answer.label}, {"text", answer.text}});
  const Json page{{"header", page_header(view)},
                  {"conclusion", std::move(conclusion)},
                  {"sections", std::move(sections)},
                  {"missing", std::move(missing)}};
  return harmless_in_html(ascii_text(page));
}

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
