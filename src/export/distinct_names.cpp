// Compares the facts of each record with those of the first.
#include "export/distinct_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/json.h"

namespace laptime {
namespace {

// Facts by which records of one name are not measurements of one thing. How long to measure is none.
RecordFacts facts_of(const Record& record) {
  constexpr std::array kOfSampling{"warmup", "steps", "budget", "timeout"};
  RecordFacts facts{{"label", record.label},
                    {"build", record.binary.id.empty() ? record.binary.commit : record.binary.id}};
  for (const auto& [key, value] : record.config.json().items()) {
    if (std::find(kOfSampling.begin(), kOfSampling.end(), key) == kOfSampling.end())
      facts.emplace_back(key, record.config.text(key));
  }
  return facts;
}

std::string value_at(const RecordFacts& facts, const std::string& key) {
  const auto found = std::find_if(facts.begin(), facts.end(), [&](const auto& fact) { return fact.first == key; });
  return found == facts.end() ? "" : found->second;
}

}  // namespace

std::vector<RecordFacts> differing_facts(const RecordPointers& records) {
  std::vector<RecordFacts> all;
  all.reserve(records.size());
  for (const Record* const record : records) all.push_back(facts_of(*record));
  std::vector<std::string> keys;
  const auto keep_if_differs = [&](const std::string& key, const std::string& value, const RecordFacts& first) {
    if (value_at(first, key) != value && std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  };
  for (const RecordFacts& facts : all) {
    for (const auto& [key, value] : facts) keep_if_differs(key, value, all.front());
    for (const auto& [key, value] : all.front()) keep_if_differs(key, value, facts);
  }
  std::vector<RecordFacts> differing(records.size());
  for (size_t i = 0; i < records.size(); ++i) {
    for (const std::string& key : keys) differing[i].emplace_back(key, value_at(all[i], key));
  }
  return differing;
}

std::vector<std::string> distinctions(const RecordPointers& records) {
  std::map<std::string, std::vector<size_t>> by_name;
  for (size_t i = 0; i < records.size(); ++i) by_name[records[i]->name].push_back(i);
  std::vector<std::string> texts(records.size());
  for (const auto& [name, indices] : by_name) {
    RecordPointers of_name;
    for (const size_t index : indices) of_name.push_back(records[index]);
    const std::vector<RecordFacts> differing = differing_facts(of_name);
    for (size_t i = 0; i < indices.size(); ++i) {
      for (const auto& [key, value] : differing[i])
        texts[indices[i]] += fmt::format("/{}:{}", key, value.empty() ? "none" : value);
    }
  }
  return texts;
}

}  // namespace laptime
