// Collects what the rows of a table share.
#include "report/heading.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/words.h"
#include "record/metrics.h"
#include "report/names.h"

namespace laptime {
namespace {

// The parts of a name made by this program, "step/model:small/ctx:256"; any other name is one part.
std::vector<std::string_view> parts_of(const Record& record) {
  if (!record.label.empty()) return {record.label};
  std::vector<std::string_view> parts = words_in(record.name);
  const bool is_ours = !parts.empty() && std::all_of(parts.begin() + 1, parts.end(), [](std::string_view part) {
    return part.find(':') != std::string_view::npos;
  });
  return is_ours ? parts : std::vector<std::string_view>{record.name};
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

}  // namespace

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

std::vector<std::string> Heading::machine_parts(const Record& first, bool is_brief) const {
  if (only_predicted()) return {fmt::format("predicted for {}", joined(devices_, ", "))};
  if (machines_.size() > 1) return {counted(machines_.size(), "machine")};
  const std::string cpu = is_brief ? brief_processor(processor_name(first)) : processor_name(first);
  std::set<std::string> cards = cards_;
  cards.insert(device_card_name(first));
  std::vector<std::string> parts;
  for (const std::string& card : cards) parts.push_back(card.empty() ? cpu : card);
  if (parts != std::vector{cpu}) return {joined(parts, ", ")};
  if (run_count() == 1 && first.name.find("/threads:") == std::string::npos) parts.push_back(threads_text(first));
  if (!is_brief) parts.push_back(machine_word(first, "isa_used"));
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
  const Json* const load = first.machine.json().find("load_average");
  if (!only_predicted() && run_count() == 1 && machines_.size() == 1 && load != nullptr && load->is_array() &&
      !load->empty() && (*load)[0].is_number()) {
    facts.push_back(fmt::format("load {:.2f}", (*load)[0].get<double>()));
  }
  std::erase(facts, "");
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
  return joined(machine_parts(first, /*is_brief=*/true), ", ");
}

}  // namespace laptime
