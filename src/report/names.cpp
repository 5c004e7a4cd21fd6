// Takes names apart, and says their words.
#include "report/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "base/json.h"
#include "base/words.h"
#include "config/machine.h"
#include "config/model_presets.h"

namespace laptime {
namespace {

// A dimension by the tag of its option in names of points, and the words around its value.
struct Dimension {
  std::string_view tag;
  std::string_view before;
  std::string_view after;
};
constexpr std::array kDimensions{Dimension{"layers", "", " layers"}, Dimension{"d_model", "d_model ", ""},
                                 Dimension{"d_ff", "d_ff ", ""}, Dimension{"heads", "", " heads"}};

// The value of a tag in "step/model:small/ctx:256"; empty where the name has none.
std::string_view tagged(std::string_view name, std::string_view tag) {
  for (const std::string_view word : words_in(name)) {
    if (word.size() > tag.size() && word.starts_with(tag) && word[tag.size()] == ':')
      return word.substr(tag.size() + 1);
  }
  return {};
}

// The named size that a custom model was made from; empty for every other record.
std::string_view changed_size(const Record& record) {
  if (record.config.text("model") != kCustomModel) return {};
  const std::string_view word = tagged(record.name, "model");
  const auto presets = model_presets();
  const bool is_size =
      std::any_of(presets.begin(), presets.end(), [&](const ModelPreset& preset) { return preset.name == word; });
  return is_size ? word : std::string_view();
}

std::string joined_words(std::string_view name, const std::function<bool(std::string_view)>& is_kept) {
  std::vector<std::string_view> words = words_in(name);
  std::erase_if(words, [&](std::string_view word) { return !is_kept(word); });
  return joined(words, "/");
}

bool has_word(std::string_view name, std::string_view word) {
  const std::vector<std::string_view> words = words_in(name);
  return std::find(words.begin(), words.end(), word) != words.end();
}

void erase_all(std::string& text, std::string_view part) {
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part)) text.erase(at, part.size());
}

}  // namespace

std::vector<std::string_view> words_in(std::string_view name) {
  std::vector<std::string_view> words;
  for (size_t begin = 0; begin < name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    words.push_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

std::string common_words(const std::vector<std::string>& names) {
  if (names.size() < 2) return "";
  return joined_words(names.front(), [&](std::string_view word) {
    return std::all_of(names.begin(), names.end(), [&](const std::string& name) { return has_word(name, word); });
  });
}

std::string without_words(const std::string& name, const std::string& left_out) {
  std::string kept = joined_words(name, [&](std::string_view word) { return !has_word(left_out, word); });
  return kept.empty() ? name : kept;
}

std::string spoken_name(const std::string& name) {
  std::string text;
  for (std::string_view word : words_in(name)) {
    for (const std::string_view tag : {"model:", "dtype:", "mode:", "device:roofline:", "device:"}) {
      if (word.starts_with(tag)) word.remove_prefix(tag.size());
    }
    text += (text.empty() ? "" : " ") + std::string(word);
  }
  std::replace(text.begin(), text.end(), ':', ' ');
  return text;
}

std::string spoken_name(const std::string& name, const std::string& left_out) {
  return spoken_name(without_words(name, left_out));
}

std::string model_text(const Record& record) {
  const std::string_view size = changed_size(record);
  if (size.empty()) return record.config.text("model");
  std::string text(size);
  for (const Dimension& dimension : kDimensions) {
    const std::string_view value = tagged(record.name, dimension.tag);
    if (value.empty()) continue;
    std::string_view after = dimension.after;
    if (value == "1" && after.ends_with('s')) after.remove_suffix(1);
    text += fmt::format(", {}{}{}", dimension.before, value, after);
  }
  return text;
}

std::vector<std::string> model_words(const Record& record) {
  const std::string_view size = changed_size(record);
  if (size.empty()) return {record.config.text("model")};
  return {model_text(record), std::string(size), std::string(kCustomModel)};
}

std::string point_line(const Record& record) {
  const JsonObject& config = record.config;
  const auto part = [&](const char* before, const char* key) {
    const std::string value = config.text(key);
    return value.empty() || value == "null" ? "" : fmt::format(", {}{}", before, value);
  };
  std::string machine = config.text("device");
  if (machine.starts_with(kMachinePrefix)) {
    machine.erase(0, kMachinePrefix.size());
    const auto& known = known_machines();
    const auto found =
        std::find_if(known.begin(), known.end(), [&](const DataSheet& one) { return one.name == machine; });
    machine = fmt::format("{}, from its data sheet", found == known.end() ? machine : found->title);
  } else {
    if (const std::string cpu = machine_word(record, "cpu_model"); !cpu.empty()) machine = cpu;
    if (const std::string threads = threads_text(record); !threads.empty()) machine += ", " + threads;
  }
  return fmt::format("{}{}{}, {} {} {} · {}", model_text(record), part("ctx ", "context_length"),
                     part("batch ", "batch_size"), config.text("pass"), config.text("dtype"), config.text("mode"),
                     machine);
}

bool is_attention(const Record& record) { return record.config.text("model") == "attention"; }

std::string device_card_name(const Record& record) {
  const Json* const card = record.machine.json().find("card");
  const Json* const name = card == nullptr || !card->is_object() ? nullptr : card->find("name");
  return name != nullptr && name->is_string() ? name->text() : std::string();
}

std::string machine_word(const Record& record, std::string_view key) {
  const Json* const word = record.machine.json().find(key);
  return word != nullptr && word->is_string() ? word->text() : std::string();
}

std::string processor_name(const Record& record) {
  const std::string cpu = machine_word(record, "cpu_model");
  return cpu.empty() ? record.fingerprint.substr(0, record.fingerprint.find(" (")) : cpu;
}

std::string brief_processor(std::string name) {
  for (const std::string_view noise : {"(R)", "(TM)", " Processor", " CPU"}) erase_all(name, noise);
  name.erase(std::min(name.find(" @"), name.size()));
  if (const size_t cores = name.find("-Core"); cores != std::string::npos) {
    const size_t begin = name.rfind(' ', cores);
    if (begin != std::string::npos) name.erase(begin, cores + std::string_view("-Core").size() - begin);
  }
  return name;
}

std::string threads_text(const Record& record) {
  const Json* const threads = record.config.json().find("threads");
  return threads != nullptr && threads->is_number() ? counted(threads->get<int64_t>(), "thread") : std::string();
}

std::string day_of(const std::string& created) { return created.substr(0, created.find('T')); }

std::string minute_of(const std::string& created) {
  constexpr size_t kDay = 10;
  constexpr size_t kMinute = 16;
  if (created.size() < kMinute || created[kDay] != 'T') return created;
  return fmt::format("{} {} UTC", created.substr(0, kDay), created.substr(kDay + 1, kMinute - kDay - 1));
}

}  // namespace laptime
