// CSV cells, quoted and harmless.
#include "report/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/columns.h"
#include "report/text.h"

namespace laptime {
namespace {

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

// A spreadsheet would run a text that starts with one of these as a formula. Numbers are not texts and keep their sign.
std::string harmless(const std::string& text) {
  const bool formula = !text.empty() && std::string_view("=+-@|%").find(text[0]) != std::string_view::npos;
  return formula ? "'" + text : text;
}

std::string cell_of(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return quoted(harmless(printable(value.get<std::string>())));
  return quoted(ascii_text(value));
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

// All paths in order; one that only some records have comes after the one that it follows there.
std::vector<std::string> merged_paths(const std::vector<std::vector<Leaf>>& records) {
  std::vector<std::string> paths;
  std::map<std::string, bool> seen;
  for (const std::vector<Leaf>& leaves : records) {
    size_t after = 0;
    for (const Leaf& leaf : leaves) {
      if (seen.emplace(leaf.path, true).second) {
        paths.insert(paths.begin() + static_cast<std::ptrdiff_t>(after), leaf.path);
        ++after;
        continue;
      }
      const auto found = std::find(paths.begin(), paths.end(), leaf.path);
      after = static_cast<size_t>(found - paths.begin()) + 1;
    }
  }
  return paths;
}

std::string all_leaves(std::span<const Row> rows) {
  std::vector<std::vector<Leaf>> records;
  for (const Row& row : rows) add_leaves(row.json(), "", records.emplace_back());
  const std::vector<std::string> paths = merged_paths(records);
  std::string text;
  for (const std::string& path : paths) text += quoted(harmless(printable(path))) + ",";
  if (text.empty()) return "";
  end_line(text);
  for (const std::vector<Leaf>& leaves : records) {
    std::map<std::string_view, const Json*> by_path;
    for (const Leaf& leaf : leaves) by_path[leaf.path] = &leaf.value;
    for (const std::string& path : paths) {
      const auto found = by_path.find(path);
      text += (found == by_path.end() ? "" : cell_of(*found->second)) + ",";
    }
    end_line(text);
  }
  return text;
}

}  // namespace

std::string csv_line(std::span<const Json> values) {
  std::string text;
  for (const Json& value : values) text += cell_of(value) + ",";
  if (!text.empty()) end_line(text);
  return text;
}

std::string csv(std::span<const Record> records, std::string_view column_list) {
  const std::vector<Row> rows = rows_of(records);
  if (column_list == "default") return all_leaves(rows);
  const Baselines baselines(records);
  const std::vector<Column> columns = columns_of(column_list, baselines, rows);
  std::string text;
  for (const Column& column : columns) text += quoted(harmless(printable(column.title))) + ",";
  end_line(text);
  for (const Row& row : rows) {
    for (const Column& column : columns) text += cell_of(column.read(row, "")) + ",";
    end_line(text);
  }
  return text;
}

}  // namespace laptime
