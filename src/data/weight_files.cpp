// Opens the files with a model's weights.
#include "data/weight_files.h"

#include <filesystem>

#include "base/error.h"
#include "base/json_field.h"
#include "base/words.h"
#include "model/config_json.h"

namespace laptime {
namespace {

namespace fs = std::filesystem;

// File paths, each with the names of the tensors that an index expects in the file.
using ExpectedTensors = std::map<std::string, std::vector<std::string>>;

// The files listed in an index; they are in the folder of the index.
ExpectedTensors shards_of(const fs::path& index) {
  constexpr size_t kLargest = 64'000'000;
  constexpr int kMaxDepth = 8;
  const InputFile file(index.string(), "weights index");
  const Json document = parse_json(file.read_all(kLargest, "choose another file"), file.text(), kMaxDepth);
  ExpectedTensors shards;
  for (const auto& [tensor, shard] : JsonField(document, file.text()).at("weight_map").members()) {
    const std::string name = shard.text();
    if (name.empty() || name.find('/') != std::string::npos || name == "..")
      shard.fail("the name of a file in the same folder");
    shards[(index.parent_path() / name).string()].push_back(tensor);
  }
  if (shards.empty()) throw Error::format("{} lists no files; download the model again", file.text());
  return shards;
}

fs::path found_in(const std::string& path) {
  if (!fs::is_directory(path)) return path;
  for (const std::string_view name : {kWeightsFile, kWeightsIndex}) {
    if (fs::exists(fs::path(path) / name)) return fs::path(path) / name;
  }
  throw Error::format("{} has no {} and no {}; download the weights into it, or leave out --weights", quote(path),
                      kWeightsFile, kWeightsIndex);
}

// The weight files at a path; without an index, no particular tensors are expected in them.
ExpectedTensors files_at(const std::string& path) {
  const fs::path found = found_in(path);
  return found.extension() == ".json" ? shards_of(found) : ExpectedTensors{{found.string(), {}}};
}

}  // namespace

std::vector<std::string> weight_file_paths(const std::string& path) {
  std::vector<std::string> paths;
  for (const auto& [file, tensors] : files_at(path)) paths.push_back(file);
  return paths;
}

WeightFiles::WeightFiles(const std::string& path) : path_(path) {
  const ExpectedTensors expected = files_at(path);
  files_.reserve(expected.size());
  for (const auto& [file, tensors] : expected) files_.emplace_back(file);
  for (const SafetensorsFile& file : files_) {
    for (const StoredTensor& tensor : file.tensors()) {
      if (!by_name_.emplace(tensor.name, Place{&file, &tensor}).second)
        throw Error::format("{}: tensor {} is also in another file of the model; download the model again", file.text(),
                            quote(tensor.name));
    }
  }
  for (const auto& [file, tensors] : expected) {
    for (const std::string& tensor : tensors) {
      const auto at = by_name_.find(tensor);
      if (at == by_name_.end() || at->second.file->path() != file)
        throw Error::format("{} has no tensor {}, which the index expects in it; download the model again", quote(file),
                            quote(tensor));
    }
  }
}

std::string WeightFiles::text() const {
  return files_.size() == 1 ? files_.front().text() : fmt::format("the weights in {}", quote(path_));
}

const WeightFiles::Place& WeightFiles::place(std::string_view name) const {
  const auto found = by_name_.find(name);
  LAPTIME_CHECK(found != by_name_.end(), "no tensor {}", name);
  return found->second;
}

const StoredTensor& WeightFiles::tensor(std::string_view name) const { return *place(name).tensor; }

std::string WeightFiles::text_of(std::string_view name) const { return place(name).file->text(); }

std::vector<const StoredTensor*> WeightFiles::tensors() const {
  return mapped(by_name_, [](const auto& named) { return named.second.tensor; });
}

void WeightFiles::read(std::string_view name, int64_t begin, std::span<float> out) const {
  const Place& one = place(name);
  one.file->read(*one.tensor, begin, out);
}

}  // namespace laptime
