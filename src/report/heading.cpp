// Collects what the rows of a table share.
#include "report/heading.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/words.h"
#include "record/metrics.h"

namespace laptime {
namespace {

// The parts of a name made by this program, "step/model:small/ctx:256"; any other name is one part.
std::vector<std::string_view> parts_of(const Record& record) {
  if (!record.label.empty()) return {record.label};
  std::vector<std::string_view> parts;
  parts.reserve(16);
  std::string_view rest = record.name;
  while (true) {
    const size_t slash = rest.find('/');
    parts.emplace_back(rest.substr(0, slash));
    if (parts.size() > 1 && parts.back().find(':') == std::string::npos) return {record.name};
    if (slash == std::string_view::npos) return parts;
    rest.remove_prefix(slash + 1);
  }
}

template <class Parts>
bool contains(const Parts& parts, std::string_view part) {
  return std::find(parts.begin(), parts.end(), part) != parts.end();
}

// The same, faster where parts are looked for in their order. `next` is where the last one was found, and one more.
template <class Parts>
bool contains(const Parts& parts, std::string_view part, size_t& next) {
  for (size_t i = next; i < parts.size(); ++i) {
    if (parts[i] != part) continue;
    next = i + 1;
    return true;
  }
  return contains(parts, part);
}

// "float32" for "dtype:float32", "2 layers" for "layers:2", "ctx 64" for "ctx:64".
std::string spoken(std::string_view part) {
  const size_t colon = part.find(':');
  if (colon == std::string_view::npos) return std::string(part);
  const std::string_view tag = part.substr(0, colon);
  const std::string_view value = part.substr(colon + 1);
  for (const std::string_view plain : {"model", "dtype", "mode", "device"}) {
    if (tag == plain) return std::string(value);
  }
  if (tag == "crop" && value != "none") return fmt::format("cropped to the first {} positions", value);
  for (const std::string_view plural : {"layers", "heads", "threads", "steps"}) {
    if (tag == plural) return fmt::format("{} {}", value, plural.substr(0, plural.size() - (value == "1" ? 1 : 0)));
  }
  return fmt::format("{} {}", tag, value);
}

void erase_all(std::string& text, std::string_view part) {
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part)) text.erase(at, part.size());
}

// "AMD EPYC 9R14" for "AMD EPYC 9R14 96-Core Processor".
std::string short_processor(std::string name) {
  for (const std::string_view noise : {"(R)", "(TM)", " Processor", " CPU"}) erase_all(name, noise);
  name.erase(std::min(name.find(" @"), name.size()));
  if (const size_t cores = name.find("-Core"); cores != std::string::npos) {
    const size_t begin = name.rfind(' ', cores);
    if (begin != std::string::npos) name.erase(begin, cores + std::string_view("-Core").size() - begin);
  }
  return name;
}

}  // namespace

std::string day_of(const std::string& created) { return created.substr(0, created.find('T')); }

std::string minute_of(const std::string& created) {
  constexpr size_t kDay = 10;
  constexpr size_t kMinute = 16;
  if (created.size() < kMinute || created[kDay] != 'T') return created;
  return fmt::format("{} {} UTC", created.substr(0, kDay), created.substr(kDay + 1, kMinute - kDay - 1));
}

Heading::Heading(const Records& rows) {
  rows.each(Extent::kNames, [&](const Record& record) {
    add(record);
    return true;
  });
  if (!some_predicted_) devices_.clear();
  keeps_pass_ = std::any_of(without_own_.begin(), without_own_.end(), [&](const auto& parts) {
    return std::all_of(parts.begin(), parts.end(), [&](const auto& part) { return contains(shared_, part); });
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
  size_t next = 0;
  std::erase_if(shared_, [&](const std::string& part) { return !contains(parts, part, next); });
  next = 0;
  if (std::all_of(parts.begin(), parts.end(), [&](const auto& part) { return contains(shared_, part, next); })) {
    without_own_.emplace(parts.begin(), parts.end());
  }
  if (runs_.empty() || *runs_.rbegin() != record.run) runs_.insert(record.run);
  some_of_others_ = some_of_others_ || !system_of(record).empty();
  (is_predicted(record) ? some_predicted_ : some_measured_) = true;
  if (!record.fingerprint.empty() && !is_predicted(record)) machines_.insert(record.fingerprint);
  // Before its run a record has no machine.
  if (!is_predicted(record) && !record.machine.json().empty()) cards_.insert(device_card_name(record));
  if (!record.binary.commit.empty()) commits_.insert(record.binary.commit);
  if (std::string device = record.config.text("device"); !device.empty()) devices_.insert(std::move(device));
  if (record.created < first_created_) first_created_ = record.created;
  if (record.created > last_created_) last_created_ = record.created;
}

std::string Heading::short_name(const Record& record) const {
  if (!record.label.empty()) return record.label;
  const std::vector<std::string_view> parts = parts_of(record);
  std::string name;
  bool names_device = devices_.size() < 2;
  size_t next = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool stays = !contains(shared_, parts[i], next) || (i == 0 && keeps_pass_);
    names_device = names_device || parts[i].starts_with("device:");
    if (!stays) continue;
    if (!name.empty()) name += ' ';
    name += spoken(parts[i]);
  }
  if (!names_device) name += (name.empty() ? "" : " ") + record.config.text("device");
  return name;
}

bool is_attention(const Record& record) { return record.config.text("model") == "attention"; }

std::string device_card_name(const Record& record) {
  const Json& machine = record.machine.json();
  const auto card = machine.find("card");
  if (card == nullptr || !card->is_object()) return {};
  const auto name = card->find("name");
  return name != nullptr && name->is_string() ? name->get<std::string>() : std::string();
}

std::vector<HeadingFact> Heading::facts(const Record& first) const {
  std::vector<HeadingFact> facts;
  const auto add = [&](std::string_view label, std::string text) { facts.push_back({label, std::move(text)}); };
  const Json& machine = first.machine.json();
  const auto text_of = [&](const char* key) {
    const auto found = machine.find(key);
    return found != nullptr && found->is_string() ? found->get<std::string>() : std::string();
  };
  const bool only_predicted = some_predicted_ && !some_measured_;
  if (only_predicted) {
    add("machine", fmt::format("predicted for {}, not measured", joined(devices_, ", ")));
  } else if (machines_.size() > 1) {
    add("machine", counted(machines_.size(), "machine"));
  } else {
    std::string cpu = text_of("cpu_model");
    if (cpu.empty()) cpu = first.fingerprint.substr(0, first.fingerprint.find(" ("));
    std::vector<std::string> devices;
    std::set<std::string> cards = cards_;
    cards.insert(device_card_name(first));
    for (const std::string& card : cards) devices.push_back(card.empty() ? cpu : card);
    const bool on_card = devices != std::vector{cpu};
    if (devices.size() > 1 || !devices.front().empty()) add("machine", joined(devices, ", "));
    const Json& config = first.config.json();
    const auto threads = config.find("threads");
    const bool one_value = run_count() == 1 && first.name.find("/threads:") == std::string::npos;
    if (!on_card && one_value && threads != nullptr && threads->is_number()) {
      add("threads", counted(threads->get<int64_t>(), "thread"));
    }
    if (const std::string isa = text_of("isa_used"); !on_card && !isa.empty()) add("instruction set", isa);
  }
  if (commits_.size() > 1) add("program", fmt::format("{} commits of laptime", commits_.size()));
  if (commits_.size() == 1) add("program", "laptime " + *commits_.begin());
  if (rows_ == 1 && some_of_others_ && !first.binary.version.empty()) add("program", first.binary.version);
  if (run_count() > 1 && day_of(first_created_) != day_of(last_created_)) {
    add("date", fmt::format("{} to {}", day_of(first_created_), day_of(last_created_)));
  } else if (!first_created_.empty()) {
    add("date", minute_of(first_created_));
  }
  const auto load = machine.find("load_average");
  if (!only_predicted && run_count() == 1 && machines_.size() == 1 && load != nullptr && load->is_array() &&
      !load->empty() && load->front().is_number()) {
    add("load", fmt::format("load {:.2f}", load->front().get<double>()));
  }
  return facts;
}

std::string Heading::shared_text(const Record& first) const {
  std::vector<std::string> shared;
  std::string pass;
  for (const std::string& part : shared_) {
    const bool is_first_part = !first.name.empty() && first.name.substr(0, first.name.find('/')) == part;
    if (!first.label.empty() || (is_first_part && keeps_pass_ && rows_ > 1)) continue;
    is_first_part ? pass = part : shared.emplace_back(spoken(part));
  }
  if (rows_ > 1 && !pass.empty()) shared.push_back(std::move(pass));
  return joined(shared, ", ");
}

std::string Heading::machine_text(const Record& first) const {
  if (some_predicted_ && !some_measured_) return fmt::format("predicted for {}", joined(devices_, ", "));
  if (machines_.size() > 1) return counted(machines_.size(), "machine");
  const std::string card = device_card_name(first);
  if (!card.empty()) return card;
  const Json& machine = first.machine.json();
  const auto model = machine.find("cpu_model");
  const bool is_named = model != nullptr && model->is_string();
  std::string text =
      short_processor(is_named ? model->get<std::string>() : first.fingerprint.substr(0, first.fingerprint.find(" (")));
  const Json& config = first.config.json();
  const auto threads = config.find("threads");
  const bool is_one_value = run_count() == 1 && first.name.find("/threads:") == std::string::npos;
  if (is_one_value && threads != nullptr && threads->is_number())
    text += (text.empty() ? "" : ", ") + counted(threads->get<int64_t>(), "thread");
  return text;
}

}  // namespace laptime
