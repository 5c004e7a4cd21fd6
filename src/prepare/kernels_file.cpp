// Reads kernel choices from records.
#include "prepare/kernels_file.h"

#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json_size.h"
#include "base/words.h"
#include "data/input_file.h"
#include "record/record.h"

namespace laptime {
namespace {

constexpr const char* kPurpose = "kernels file";
constexpr const char* kAdvice = "give records written by `laptime bench --output json`";
constexpr std::string_view kSpace = " \t\r\n";

std::string contents_of(const InputFile& file) {
  if (file.size() > kMaxKernelsFile) {
    throw Error::format("{} has {} bytes, more than the limit of {}; keep fewer records, or their `kernels` alone",
                        file.text(), file.size(), kMaxKernelsFile);
  }
  std::string text(static_cast<size_t>(file.size()), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

// With sorted keys, unlike the JSON of records: there is no limit on the keys of an object here, and looking one up
// must not take longer the more there are.
nlohmann::json parse_json(std::string_view text, const std::string& where) {
  if (json_size(text).depth > size_t{kMaxRecordDepth}) {
    throw Error::format("{}: nested deeper than the limit of {}", where, kMaxRecordDepth);
  }
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    throw Error::format("{}: not JSON ({}); {}", where, std::string_view(error.what()).substr(0, 200), kAdvice);
  }
}

// One document per line if the first line is complete JSON, else the whole file as one document.
std::vector<nlohmann::json> documents(std::string_view text, const std::string& where) {
  const size_t start = text.find_first_not_of(kSpace);
  if (start == std::string_view::npos) throw Error::format("{} is empty; {}", where, kAdvice);
  const std::string_view first = text.substr(start, text.find('\n', start) - start);
  std::vector<nlohmann::json> lines;
  if (!nlohmann::json::accept(first)) {
    lines.push_back(parse_json(text, where));
    return lines;
  }
  for (int64_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (line.find_first_not_of(kSpace) != std::string_view::npos)
      lines.push_back(parse_json(line, fmt::format("{}, line {}", where, number)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// The text at `key`, or empty if there is none.
std::string text_at(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

void add_choices(const nlohmann::json& record, const std::string& where, KernelsBySignature& choices) {
  const auto kernels = record.find("kernels");
  if (kernels == record.end() || !kernels->is_array())
    throw Error::format("{} has no list 'kernels'; {}", where, kAdvice);
  for (const nlohmann::json& use : *kernels) {
    const std::string op = text_at(use, "op");
    const std::string signature = text_at(use, "signature");
    const std::string kernel = text_at(use, "kernel");
    if (op.empty() || kernel.empty() || !signature.starts_with(op + "(")) {
      throw Error::format("{}: {} is not a kernel choice; give op, signature and kernel as in a record", where,
                          quote(use.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace)));
    }
    const auto [chosen, is_new] = choices.try_emplace(signature, kernel);
    if (!is_new && chosen->second != kernel) {
      throw Error::format("{} chooses {} for {}, but an earlier record chooses {}; keep the records of one choice",
                          where, quote(kernel), signature, quote(chosen->second));
    }
  }
}

}  // namespace

std::string kernels_file_text(const std::string& path) { return fmt::format("{} {}", kPurpose, quote(path)); }

KernelsBySignature read_kernels_file(const std::string& path) {
  const InputFile file(path, kPurpose);
  KernelsBySignature choices;
  int64_t number = 0;
  const auto add = [&](const nlohmann::json& record) {
    add_choices(record, fmt::format("{}: record {}", file.text(), ++number), choices);
  };
  for (const nlohmann::json& document : documents(contents_of(file), file.text())) {
    if (!document.is_array()) {
      add(document);
      continue;
    }
    for (const nlohmann::json& record : document) add(record);
  }
  if (choices.empty()) {
    throw Error::format("{} chooses nothing: it has no record of a point that has run; {}", file.text(), kAdvice);
  }
  return choices;
}

}  // namespace laptime
