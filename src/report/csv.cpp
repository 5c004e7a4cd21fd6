// CSV cells, quoted and harmless.
#include "report/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "record/fields_json.h"
#include "report/narrow.h"
#include "table/text.h"

namespace laptime {
namespace {

std::string cell_of(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return csv_text(value.get<std::string>());
  return csv_quoted(ascii_text(value));
}

void end_line(std::string& text) {
  text.pop_back();  // the last comma
  text += "\r\n";
}

struct Leaf {
  std::string path;
  Json value;
};

// Lists of objects (phases, kernels) have no place in a row. What an empty list would hold is stated by the schema.
bool is_list_of_objects(const std::string& path, const Json& value) {
  if (!value.is_array()) return false;
  if (!value.empty()) return value[0].is_object();
  return schema_type(path) == "list of object";
}

void add_leaves(const Json& json, const std::string& path, std::vector<Leaf>& leaves) {
  for (const auto& [key, value] : json.items()) {
    const std::string inner = path.empty() ? key : fmt::format("{}.{}", path, key);
    if (value.is_object()) {
      add_leaves(value, inner, leaves);
    } else if (!is_list_of_objects(inner, value)) {
      leaves.push_back({inner, value});
    }
  }
}

std::vector<Leaf> leaves_of(const Record& record) {
  std::vector<Leaf> leaves;
  add_leaves(to_json(record), "", leaves);
  return leaves;
}

// All paths in order; one that only some records have comes after the one that it follows there.
class MergedPaths {
 public:
  void add(const std::vector<Leaf>& leaves) {
    size_t after = 0;
    for (const Leaf& leaf : leaves) {
      const bool as_before = after < paths_.size() && paths_[after] == leaf.path;
      if (!as_before && seen_.insert(leaf.path).second) {
        paths_.insert(paths_.begin() + static_cast<std::ptrdiff_t>(after), leaf.path);
        ++after;
        continue;
      }
      const auto found = as_before ? paths_.begin() + static_cast<std::ptrdiff_t>(after)
                                   : std::find(paths_.begin(), paths_.end(), leaf.path);
      after = static_cast<size_t>(found - paths_.begin()) + 1;
    }
  }

  const std::vector<std::string>& paths() const { return paths_; }

 private:
  std::vector<std::string> paths_;
  std::set<std::string> seen_;
};

void all_leaves(const Records& records, const TextSink& sink) {
  MergedPaths merged;
  records.each(Extent::kWhole, [&](const Record& record) {
    merged.add(leaves_of(record));
    return true;
  });
  const std::vector<std::string>& paths = merged.paths();
  std::string text;
  for (const std::string& path : paths) text += csv_text(path) + ",";
  if (text.empty()) return;
  end_line(text);
  sink(text);
  records.each(Extent::kWhole, [&](const Record& record) {
    const std::vector<Leaf> leaves = leaves_of(record);
    std::map<std::string_view, const Json*> by_path;
    for (const Leaf& leaf : leaves) by_path[leaf.path] = &leaf.value;
    text.clear();
    for (const std::string& path : paths) {
      const auto found = by_path.find(path);
      text += (found == by_path.end() ? "" : cell_of(*found->second)) + ",";
    }
    end_line(text);
    sink(text);
    return true;
  });
}

}  // namespace

std::string csv(std::span<const Record> records, std::string_view column_list) {
  std::string text;
  csv(RecordList(records), column_list, [&](std::string_view more) { text += more; });
  return text;
}

void csv(const Records& records, std::string_view column_list, const TextSink& sink) {
  if (column_list == "all") {
    all_leaves(records, sink);
    return;
  }
  Baselines baselines;
  std::vector<Column> columns = data_columns(column_list, baselines, records);
  plan_baselines(columns, records, baselines);
  add_baselines(columns, records, baselines);
  std::string text;
  Extent extent = Extent::kNames;
  for (const Column& column : columns) {
    text += csv_text(column.title) + ",";
    extent = std::max(extent, column.extent);
  }
  end_line(text);
  sink(text);
  records.each(extent, [&](const Record& record) {
    text.clear();
    for (const Column& column : columns) text += cell_of(column.read(Row(record), "")) + ",";
    end_line(text);
    sink(text);
    return true;
  });
}

}  // namespace laptime
