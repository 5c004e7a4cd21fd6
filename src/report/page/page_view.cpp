// Chooses records for points.
#include "report/page/page_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "distribution/bootstrap.h"
#include "record/metrics.h"
#include "report/heading.h"

namespace laptime {
namespace {

std::string point_of(const Record& record) {
  return fmt::format("{}\n{}\n{}\n{}", record.name, record.label, record.fingerprint, record.math_mode);
}

bool has_interval(const Record& record) {
  const TimeStats* const time = record.main_time();
  return record.status == Status::kOk && time != nullptr && time->count >= kFewestForInterval;
}

// How well a record stands for its point.
int worth_of(const Record& record) { return has_interval(record) ? 2 : record.status == Status::kOk ? 1 : 0; }

}  // namespace

std::string machine_of(const Record& record) {
  if (std::string card = device_card_name(record); !card.empty()) return card;
  const std::string cpu = record.machine.text("cpu_model");
  return cpu.empty() || cpu == "null" ? record.fingerprint.substr(0, record.fingerprint.find(" (")) : cpu;
}

int rank_of_pass(std::string_view pass) {
  constexpr std::array<std::string_view, 5> kPasses{"inference", "forward", "backward", "forward_backward", "step"};
  return static_cast<int>(std::find(kPasses.begin(), kPasses.end(), pass) - kPasses.begin());
}

int rank_of_pass(const Record& record) { return rank_of_pass(record.config.text("pass")); }

std::optional<int64_t> config_number(const Record& record, const char* key) {
  const Json& config = record.config.json();
  const auto found = config.find(key);
  return found != config.end() && found->is_number_integer() ? std::optional(found->get<int64_t>()) : std::nullopt;
}

PageView::PageView(const PageInput& input)
    : input_(input), list_(input.records), heading_(list_), baselines_(input.records) {
  std::set<std::string> machines;
  for (const Record& record : input.records) {
    if (!record.fingerprint.empty() && !is_predicted(record)) machines.insert(record.fingerprint);
  }
  several_machines_ = machines.size() > 1;
  choose_points();
  choose_traces();
  choose_headline();
  slow_inferences_ = find_slow_inferences(timed_);
  gains_ = find_gains(*this);
}

std::string PageView::name(const Record& record) const {
  std::string name = heading_.short_name(record);
  if (several_machines_ && !is_predicted(record)) name += " on " + machine_of(record);
  return name;
}

void PageView::choose_points() {
  std::map<std::string, size_t> places;
  for (const Record& record : input_.records) {
    const auto [found, is_new] = places.emplace(point_of(record), points_.size());
    if (is_new) {
      points_.push_back(&record);
    } else if (worth_of(record) >= worth_of(*points_[found->second])) {
      points_[found->second] = &record;
    }
  }
  for (const Record* const record : points_) {
    const TimeStats* const time = record->main_time();
    if (record->status == Status::kOk && time != nullptr && time->count > 0) timed_.push_back(record);
  }
}

void PageView::choose_traces() {
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < input_.records.size(); ++i) {
    if (!input_.traces[i] || input_.traces[i]->launch_count() == 0) continue;
    const Record& record = input_.records[i];
    const TracedPoint point{&record, &*input_.traces[i], name(record)};
    const auto [found, is_new] = places.emplace(point_of(record), traced_.size());
    if (is_new) {
      traced_.push_back(point);
    } else if (point.trace->steps.size() >= std::min<size_t>(traced_[found->second].trace->steps.size(), 2)) {
      traced_[found->second] = point;
    }
  }
}

void PageView::choose_headline() {
  const auto order = [](const Record& record) {
    const double flops = record.flops.forward.value_or(0);
    return std::tuple(!is_predicted(record), system_of(record).empty(), rank_of_pass(record), flops,
                      -record.main_time()->median);
  };
  for (const Record* const record : timed_) {
    if (headline_ == nullptr || order(*record) > order(*headline_)) headline_ = record;
  }
}

std::vector<TracedPoint> PageView::profiled() const {
  std::vector<TracedPoint> profiled;
  for (const TracedPoint& point : traced_) {
    if (!point.trace->steps.empty()) profiled.push_back(point);
  }
  const auto order = [&](const TracedPoint& point) {
    const bool is_headline = headline_ != nullptr && point.name == name(*headline_);
    return std::pair(!is_headline, -rank_of_pass(*point.record));
  };
  std::stable_sort(profiled.begin(), profiled.end(),
                   [&](const TracedPoint& a, const TracedPoint& b) { return order(a) < order(b); });
  return profiled;
}

}  // namespace laptime
