// Splits a file into JSON documents.
#include "record/json_documents.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json_size.h"
#include "base/words.h"
#include "data/input_file.h"

namespace laptime {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

std::string contents_of(const InputFile& input, const DocumentFile& file) {
  if (input.size() > file.limit) {
    throw Error::format("{} has {} bytes, more than the limit of {}; keep fewer records", input.text(), input.size(),
                        file.limit);
  }
  std::string text(static_cast<size_t>(input.size()), '\0');
  input.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

nlohmann::json parse_json(std::string_view text, const std::string& where, const char* advice) {
  if (json_size(text).depth > size_t{kMaxRecordDepth})
    throw Error::format("{}: nested deeper than the limit of {}", where, kMaxRecordDepth);
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    throw Error::format("{}: not JSON ({}); {}", where, std::string_view(error.what()).substr(0, 200), advice);
  }
}

// One document per line if the first line is complete JSON, else the whole file as one document.
std::vector<nlohmann::json> documents(std::string_view text, const std::string& where, const char* advice) {
  const size_t start = text.find_first_not_of(kSpace);
  if (start == std::string_view::npos) throw Error::format("{} is empty; {}", where, advice);
  const std::string_view first = text.substr(start, text.find('\n', start) - start);
  std::vector<nlohmann::json> lines;
  if (!nlohmann::json::accept(first)) {
    lines.push_back(parse_json(text, where, advice));
    return lines;
  }
  for (int64_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (line.find_first_not_of(kSpace) != std::string_view::npos)
      lines.push_back(parse_json(line, fmt::format("{}, line {}", where, number), advice));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

std::string text_of(const DocumentFile& file) { return fmt::format("{} {}", file.purpose, quote(file.path)); }

void each_document(const DocumentFile& file,
                   const std::function<void(const nlohmann::json& document, const std::string& where)>& take) {
  const InputFile input(file.path, file.purpose);
  int64_t number = 0;
  const auto hand_over = [&](const nlohmann::json& document) {
    take(document, fmt::format("{}: record {}", input.text(), ++number));
  };
  for (const nlohmann::json& document : documents(contents_of(input, file), input.text(), file.advice)) {
    if (!document.is_array()) {
      hand_over(document);
      continue;
    }
    for (const nlohmann::json& element : document) hand_over(element);
  }
}

std::vector<Record> read_records(const DocumentFile& file) {
  std::vector<Record> records;
  each_document(file, [&](const nlohmann::json& document, const std::string& where) {
    try {
      records.push_back(record_from_json(Json(document)));
    } catch (const Error& error) {
      throw Error::format("{}: {}; {}", where, error.what(), file.advice);
    }
  });
  return records;
}

}  // namespace laptime
