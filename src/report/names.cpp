// Parses names, turns them into words, and collects what the rows of a table share.
#include "report/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json_path.h"
#include "base/words.h"
#include "config/machine.h"
#include "config/model_presets.h"
#include "table/text.h"

namespace laptime {
namespace {

// The named size from which a custom model was derived; empty for every other record.
std::string_view changed_size(const Record& record) {
  if (record.config.text("model") != kCustomModel) return {};
  const std::string_view word = tagged(record.name, "model");
  return find_in(model_presets(), word, &ModelPreset::name) == nullptr ? std::string_view() : word;
}

// The parts of a name in laptime's format, "step/model:small/ctx:256"; any other name is one part.
std::vector<std::string_view> parts_of(const Record& record) {
  std::vector<std::string_view> parts = words_in(record.name);
  const bool is_ours = !parts.empty() && std::all_of(parts.begin() + 1, parts.end(), [](std::string_view part) {
    return part.find(':') != std::string_view::npos;
  });
  return is_ours ? parts : std::vector<std::string_view>{record.name};
}

}  // namespace

std::string model_text(const Record& record) {
  const std::string_view size = changed_size(record);
  if (size.empty()) return record.config.text("model");
  std::string text(size);
  for (const std::string_view tag : {"layers", "d_model", "d_ff", "heads"}) {
    if (const std::string_view value = tagged(record.name, tag); !value.empty())
      text += fmt::format(", {}", spoken_word(fmt::format("{}:{}", tag, value)));
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
    const auto found = std::ranges::find(known_machines(), machine, &DataSheet::name);
    if (found != known_machines().end()) machine = found->title;
    if (record.prediction.from != "reached rates") machine += ", from its data sheet";
  } else {
    if (const std::string cpu = text_at(record.machine, "cpu_model"); !cpu.empty()) machine = cpu;
    if (const std::string threads = threads_text(record); !threads.empty()) machine += ", " + threads;
  }
  return fmt::format("{}{}{}, {} {} {} · {}", model_text(record), part("ctx ", "context_length"),
                     part("batch ", "batch_size"), config.text("pass"), config.text("dtype"), config.text("mode"),
                     machine);
}

bool is_attention(const Record& record) { return record.config.text("model") == "attention"; }

std::string device_card_name(const Record& record) { return text_at(record.machine, "card.name"); }

std::string processor_name(const Record& record) {
  const std::string cpu = text_at(record.machine, "cpu_model");
  return cpu.empty() ? record.fingerprint.substr(0, record.fingerprint.find(" (")) : cpu;
}

std::string brief_processor(std::string name) {
  for (const std::string_view noise : {"(R)", "(TM)", " Processor", " CPU"}) replace_all(name, noise, "");
  name.erase(std::min(name.find(" @"), name.size()));
  const size_t cores = name.find("-Core");
  const size_t begin = cores == std::string::npos ? cores : name.rfind(' ', cores);
  if (begin != std::string::npos) name.erase(begin, cores + std::string_view("-Core").size() - begin);
  return name;
}

std::string brief_device(const std::string& device) {
  return device.starts_with(kMachinePrefix) ? device.substr(kMachinePrefix.size()) : device;
}

std::string machine_of(const Record& record) {
  if (is_predicted(record)) return brief_device(record.config.text("device"));
  const std::string card = device_card_name(record);
  return card.empty() ? processor_name(record) : card;
}

std::string marked_machine_of(const Record& record) {
  return fmt::format("{}{}", machine_of(record), is_predicted(record) ? kPredictedMark : "");
}

std::string threads_text(const Record& record) {
  const std::optional<double> threads = number_at(record.config, "threads");
  return threads ? counted(static_cast<int64_t>(*threads), "thread") : "";
}

std::string day_of(const std::string& created) { return created.substr(0, created.find('T')); }

std::string minute_of(const std::string& created) {
  constexpr size_t kDay = 10;
  constexpr size_t kMinute = 16;
  if (created.size() < kMinute || created[kDay] != 'T') return created;
  return fmt::format("{} {} UTC", created.substr(0, kDay), created.substr(kDay + 1, kMinute - kDay - 1));
}

Heading::Heading(const Records& rows) {
  rows.all(Extent::kNames, [&](const Record& record) { add(record); });
  if (!some_predicted_) devices_.clear();
  keeps_pass_ = std::ranges::any_of(without_own_, [&](const auto& parts) {
    return std::ranges::all_of(parts, [&](const auto& part) { return is_among(part, shared_); });
  });
}

void Heading::add(const Record& record) {
  const std::vector<std::string_view> parts = parts_of(record);
  if (rows_ == 0) {
    shared_.assign(parts.begin(), parts.end());
    first_created_ = last_created_ = record.created;
  }
  ++rows_;
  passes_.insert(record.config.text("pass"));
  only_attention_ = only_attention_ && is_attention(record);
  std::erase_if(shared_, [&](const std::string& part) { return !is_among(part, parts); });
  if (std::ranges::all_of(parts, [&](const auto& part) { return is_among(part, shared_); }))
    without_own_.emplace(parts.begin(), parts.end());
  if (!record.label.empty()) {
    const std::string point = fmt::format("{}\n{}", record.name, record.config.text("device"));
    if (label_points_.emplace(record.label, point).first->second != point) repeated_labels_.insert(record.label);
  }
  if (runs_.empty() || *runs_.rbegin() != record.run) runs_.insert(record.run);
  some_of_others_ = some_of_others_ || !system_of(record).empty();
  (is_predicted(record) ? some_predicted_ : some_measured_) = true;
  if (!record.fingerprint.empty() && !is_predicted(record)) machines_.insert(record.fingerprint);
  // A planned point has no machine yet, and its empty GPU name would be taken for the CPU.
  if (!is_predicted(record) && !record.machine.json().empty()) cards_.insert(device_card_name(record));
  if (!record.binary.commit.empty()) commits_.insert(record.binary.commit);
  if (std::string device = record.config.text("device"); !device.empty()) devices_.insert(std::move(device));
  if (record.created < first_created_) first_created_ = record.created;
  if (record.created > last_created_) last_created_ = record.created;
}

std::string Heading::short_name(const Record& record) const {
  if (!record.label.empty() && !repeated_labels_.contains(record.label)) return record.label;
  const std::vector<std::string_view> parts = parts_of(record);
  std::vector<std::string> own;
  bool names_device = devices_.size() < 2;
  for (const std::string_view part : parts) {
    names_device = names_device || part.starts_with("device:");
    if (!is_among(part, shared_) || (keeps_pass_ && part == parts.front())) own.push_back(spoken_word(part));
  }
  if (!names_device) own.push_back(record.config.text("device"));
  return joined_nonempty({record.label, joined(own, " ")}, ": ");
}

std::vector<std::string> Heading::machine_parts(const Record& first, bool is_brief) const {
  if (only_predicted()) return {fmt::format("predicted for {}", joined(devices_, ", "))};
  if (machines_.size() > 1) return {counted(machines_.size(), "machine")};
  const std::string cpu = is_brief ? brief_processor(processor_name(first)) : processor_name(first);
  std::set<std::string> cards = cards_;
  cards.insert(device_card_name(first));
  std::vector<std::string> parts = mapped(cards, [&](const std::string& card) { return card.empty() ? cpu : card; });
  if (parts != std::vector{cpu}) return {joined(parts, ", ")};
  if (run_count() == 1 && first.name.find("/threads:") == std::string::npos) parts.push_back(threads_text(first));
  if (!is_brief) parts.push_back(text_at(first.machine, "isa_used"));
  std::erase(parts, "");
  return parts;
}

std::vector<std::string> Heading::facts(const Record& first) const {
  std::vector<std::string> facts = machine_parts(first, /*is_brief=*/false);
  if (only_predicted()) facts.front() += ", not measured";
  if (commits_.size() > 1) facts.push_back(fmt::format("{} commits of laptime", commits_.size()));
  if (commits_.size() == 1) facts.push_back("laptime " + *commits_.begin());
  if (rows_ == 1 && some_of_others_) facts.push_back(first.binary.version);
  const bool are_days = run_count() > 1 && day_of(first_created_) != day_of(last_created_);
  facts.push_back(are_days ? fmt::format("{} to {}", day_of(first_created_), day_of(last_created_))
                           : minute_of(first_created_));
  const std::optional<double> load = number_at(first.machine, "load_average.0");
  const bool is_one_run = !only_predicted() && run_count() == 1 && machines_.size() == 1;
  if (is_one_run && load) facts.push_back(fmt::format("load {:.2f}", *load));
  std::erase(facts, "");
  return facts;
}

std::string Heading::shared_text(const Record& first) const {
  std::vector<std::string> shared;
  std::string pass;
  for (const std::string& part : shared_) {
    const bool is_first_part = !first.name.empty() && first.name.substr(0, first.name.find('/')) == part;
    if (is_first_part && keeps_pass_ && rows_ > 1) continue;
    is_first_part ? pass = part : shared.emplace_back(spoken_word(part));
  }
  if (rows_ > 1 && !pass.empty()) shared.push_back(std::move(pass));
  return joined(shared, ", ");
}

std::string Heading::machine_text(const Record& first) const {
  return joined(machine_parts(first, /*is_brief=*/true), ", ");
}

}  // namespace laptime
