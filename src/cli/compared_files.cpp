// Groups records by name and finds the counterpart of each.
#include "cli/compared_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/words.h"
#include "record/json_documents.h"
#include "record/time_stats.h"

namespace laptime {
namespace {

// Records of one name.
struct Group {
  Record first;
  std::vector<double> samples;
};

std::vector<Group> read_groups(const std::string& path, std::vector<std::string>& left_out) {
  std::vector<Group> groups;
  const DocumentFile file{.path = path,
                          .purpose = "file of records",
                          .advice = "give records written by `laptime bench --output json`",
                          .limit = int64_t{1} << 30U};
  for (Record& record : read_records(file)) {
    const TimeStats* const time = record.main_time();
    if (record.status != Status::kOk || time == nullptr || time->samples.empty()) {
      left_out.push_back(fmt::format("{}: {} has no times ({})", text_of(file), quote(record.name),
                                     record.status == Status::kOk ? "no samples" : name_of(record.status)));
      continue;
    }
    auto found =
        std::find_if(groups.begin(), groups.end(), [&](const Group& group) { return group.first.name == record.name; });
    if (found == groups.end()) found = groups.insert(groups.end(), Group{record, {}});
    found->samples.insert(found->samples.end(), time->samples.begin(), time->samples.end());
  }
  if (groups.empty()) throw Error::format("{} has no record with times; {}", text_of(file), file.advice);
  return groups;
}

// Why the times of two records do not compare; empty where they do.
std::string refusal(const Record& a, const Record& b) {
  const bool is_predicted = a.verdict.rating == kPredicted;
  if (is_predicted != (b.verdict.rating == kPredicted)) return "one is predicted, the other measured";
  if (a.fingerprint != b.fingerprint) return "they were measured on different machines";
  if (a.math_mode != b.math_mode) return fmt::format("their arithmetic is {} and {}", a.math_mode, b.math_mode);
  return "";
}

}  // namespace

ComparedFiles compare_files(const std::string& a, const std::string& b, bool anyway) {
  ComparedFiles compared;
  std::vector<Group> first = read_groups(a, compared.left_out);
  std::vector<Group> second = read_groups(b, compared.left_out);
  const bool is_one_each = first.size() == 1 && second.size() == 1;
  for (const Group& group : first) {
    const auto match = std::find_if(second.begin(), second.end(), [&](const Group& other) {
      return is_one_each || other.first.name == group.first.name;
    });
    if (match == second.end()) {
      compared.left_out.push_back(fmt::format("{} is in {} alone", quote(group.first.name), quote(a)));
      continue;
    }
    if (const std::string why = refusal(group.first, match->first); !why.empty() && !anyway) {
      throw Error::format("laptime compare: {}: {}; --anyway compares them all the same", quote(group.first.name), why);
    }
    const TimeStats of_a = make_time_stats(group.samples);
    const TimeStats of_b = make_time_stats(match->samples);
    if (const std::optional<TimeRatio> ratio = ratio_of_medians(of_b, of_a)) {
      compared.pairs.push_back({group.first.name == match->first.name
                                    ? group.first.name
                                    : fmt::format("{} and {}", group.first.name, match->first.name),
                                of_a.median, of_b.median, *ratio});
    } else {
      compared.left_out.push_back(fmt::format("{} takes no time in {}", quote(group.first.name), quote(a)));
    }
    second.erase(match);
  }
  for (const Group& group : second)
    compared.left_out.push_back(fmt::format("{} is in {} alone", quote(group.first.name), quote(b)));
  if (compared.pairs.empty()) {
    throw Error::format("laptime compare: no record of {} has the name of one of {}; give records of the same points",
                        quote(a), quote(b));
  }
  return compared;
}

}  // namespace laptime
