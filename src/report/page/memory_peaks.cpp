// Collects peaks from ledgers and records, and says how they grow.
#include "report/page/memory_peaks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>

#include "analysis/memory_growth.h"
#include "analysis/memory_ledger.h"
#include "base/units.h"
#include "report/memory/memory_report.h"
#include "report/palette.h"
#include "table/value_text.h"

namespace laptime {
namespace {

constexpr std::string_view kContextTag = "ctx:";
constexpr std::string_view kOnlyLine = "peak";                  // of points whose names have nothing but their context
constexpr std::string_view kActivations = "activations_bytes";  // saved and temporary, where they are not told apart
constexpr std::string_view kOtherBytes = "other_bytes";

std::string key_of_bytes(MemoryCategory category) { return fmt::format("{}_bytes", key_of(category)); }

std::string key_of_role(const std::string& role) {
  constexpr std::array<std::pair<std::string_view, MemoryCategory>, 5> kRoles{
      {{"parameter", MemoryCategory::kParameters},
       {"optimizer_state", MemoryCategory::kOptimizerState},
       {"gradient", MemoryCategory::kGradients},
       {"autocast_copy", MemoryCategory::kAutocastCopies},
       {"workspace", MemoryCategory::kWorkspace}}};
  if (role == "activation") return std::string(kActivations);
  const auto found = std::find_if(kRoles.begin(), kRoles.end(), [&](const auto& one) { return one.first == role; });
  return found == kRoles.end() ? std::string(kOtherBytes) : key_of_bytes(found->second);
}

Peak peak_of(const PageView& view, const Record& record) {
  Peak peak{.record = &record, .name = view.name(record), .held = record.memory.peak_bytes && was_held(record)};
  const MemoryUse& memory = record.memory;
  peak.bytes = memory.predicted_peak_bytes.value_or(memory.peak_bytes.value_or(record.bytes_requested.value_or(0)));
  const auto traced = std::find_if(view.traced().begin(), view.traced().end(),
                                   [&](const TracedPoint& point) { return point.name == peak.name; });
  if (traced != view.traced().end()) {
    peak.trace = traced->trace;
    const MemoryLedger ledger(*traced->trace);
    for (size_t i = 0; i < kMemoryCategoryCount; ++i)
      peak.parts[key_of_bytes(category_at(i))] += ledger.peak()[category_at(i)];
    peak.bytes = ledger.planned();
    peak.where = fmt::format("in {}, by {}", traced->trace->launch(ledger.peak_launch()).phase,
                             launch_text(*traced->trace, ledger.peak_launch()));
  } else {
    for (const auto& [role, bytes] : memory.parts) peak.parts[key_of_role(role)] += bytes;
  }
  int64_t named = 0;
  for (const auto& [key, bytes] : peak.parts) named += bytes;
  if (!peak.parts.empty() && peak.bytes > named) peak.parts[std::string(kOtherBytes)] += peak.bytes - named;
  return peak;
}

// The name of a point without its context. A chart joins points of equal text by a line.
std::string without_context(const std::string& name) {
  std::string kept;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find(' ', begin), name.size());
    const std::string word = name.substr(begin, end - begin);
    if (!word.starts_with(kContextTag)) kept += (kept.empty() ? "" : " ") + word;
    begin = end + 1;
  }
  return kept.empty() ? std::string(kOnlyLine) : kept;
}

}  // namespace

std::string Peak::state() const {
  if (record->status == Status::kOutOfMemory) return "out of memory";
  return held ? "held" : "predicted";
}

int64_t Peak::operator[](const ChartPart& part) const {
  const auto found = parts.find(part.key);
  return found == parts.end() ? 0 : found->second;
}

std::vector<Peak> peaks_of(const PageView& view) {
  std::vector<Peak> peaks;
  for (const Record* const record : view.points()) {
    Peak peak = peak_of(view, *record);
    if (peak.bytes > 0) peaks.push_back(std::move(peak));
  }
  return peaks;
}

std::vector<ChartPart> memory_parts() {
  std::vector<ChartPart> parts;
  for (size_t i = 0; i < kMemoryCategoryCount; ++i) {
    const MemoryCategory category = category_at(i);
    parts.push_back({key_of_bytes(category), std::string(title_of(category)), look_of(category)});
  }
  parts.push_back({std::string(kActivations), "activations", look_of_all_activations()});
  parts.push_back({std::string(kOtherBytes), "other and gaps", look_of_gaps()});
  return parts;
}

std::vector<ChartPart> parts_of(const std::vector<Peak>& peaks) {
  std::vector<ChartPart> parts = memory_parts();
  std::erase_if(parts, [&](const ChartPart& part) { return largest_of(peaks, part) == 0; });
  return parts;
}

int64_t largest_of(const std::vector<Peak>& peaks, const ChartPart& part) {
  int64_t largest = 0;
  for (const Peak& peak : peaks) largest = std::max(largest, peak[part]);
  return largest;
}

bool Unseen::leaves_out(std::string_view title, int64_t bytes, int64_t axis) {
  constexpr double kLeastSeen = 0.004;  // of the axis
  if (static_cast<double>(bytes) >= kLeastSeen * static_cast<double>(axis)) return false;
  parts_.push_back(fmt::format("{} (at most {})", title, format_bytes(bytes)));
  return true;
}

std::string Unseen::sentence() const {
  return parts_.empty() ? "" : fmt::format(" Too little to be seen: {}.", fmt::join(parts_, ", "));
}

std::vector<ContextLine> context_lines(const PageView& view, const std::vector<Peak>& peaks) {
  std::vector<ContextLine> lines;
  for (const Peak& peak : peaks) {
    const std::optional<int64_t> context = config_number(*peak.record, "context_length");
    if (!context) continue;
    const std::string name = without_context(peak.name);
    auto found = std::find_if(lines.begin(), lines.end(), [&](const ContextLine& line) { return line.name == name; });
    if (found == lines.end()) found = lines.insert(lines.end(), ContextLine{name, {}});
    found->peaks.emplace_back(*context, &peak);
    found->has_headline = found->has_headline || peak.record == view.headline();
  }
  for (ContextLine& line : lines) {
    std::stable_sort(line.peaks.begin(), line.peaks.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
  }
  std::erase_if(lines, [](const ContextLine& line) { return line.peaks.front().first == line.peaks.back().first; });
  std::stable_partition(lines.begin(), lines.end(), [](const ContextLine& line) { return line.has_headline; });
  return lines;
}

std::string growth_sentence(const ContextLine& line) {
  const auto& [shorter, before] = line.peaks.front();
  const auto& [longer, after] = line.peaks.back();
  std::string text = fmt::format(
      "{} {} {} at context {} {} {} at context {}", line.name == kOnlyLine ? "The peak" : line.name + ": the peak",
      after->bytes > before->bytes ? "grows from" : "is", format_bytes(before->bytes), shorter,
      after->bytes > before->bytes ? "to" : "and", format_bytes(after->bytes), longer);
  if (before->trace == nullptr || after->trace == nullptr) return text + ".";
  const std::optional<MemoryGrowth> growth = memory_growth(*before->trace, shorter, *after->trace, longer);
  if (!growth) return text + ".";
  const std::vector<int64_t> percents = whole_percents({growth->square, growth->linear, growth->constant});
  const auto part = [&](int64_t bytes, size_t place) {
    if (bytes == 0) return std::string("nothing");
    return fmt::format("{} ({})", format_bytes(bytes),
                       percents[place] == 0 ? "less than 1 %" : fmt::format("{} %", percents[place]));
  };
  const bool names_op = percents[0] > 0 && !growth->square_op.empty();
  return fmt::format(
      "{}. At context {} {} grows with the square of the context{}, {} in proportion to it, and {} does not grow.",
      text, longer, part(growth->square, 0),
      names_op ? fmt::format(", most of it written by {}", growth->square_op) : "", part(growth->linear, 1),
      part(growth->constant, 2));
}

}  // namespace laptime
