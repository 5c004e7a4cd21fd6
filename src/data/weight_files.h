// The safetensors files that hold the weights of a model: one, or the shards that an index names.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/safetensors.h"

namespace laptime {

// The files of weights at `path`: a safetensors file, an index (model.safetensors.index.json), or a folder with either.
// Error if there are none, or the index is damaged.
std::vector<std::string> weight_file_paths(const std::string& path);

class WeightFiles {
 public:
  // Opens the files of weight_file_paths and checks their headers. Error also if two have a tensor of one name, or one
  // lacks a tensor that the index expects in it.
  explicit WeightFiles(const std::string& path);

  std::string text() const;  // "safetensors file 'a.safetensors'", or "the weights of 'FOLDER'"
  bool has(std::string_view name) const { return by_name_.contains(name); }
  const StoredTensor& tensor(std::string_view name) const;  // LAPTIME_CHECK
  std::string text_of(std::string_view name) const;         // the file with this tensor
  std::vector<const StoredTensor*> tensors() const;
  // SafetensorsFile::read of a tensor's elements [begin, begin + out.size()).
  void read(std::string_view name, int64_t begin, std::span<float> out) const;

 private:
  struct Place {
    const SafetensorsFile* file;
    const StoredTensor* tensor;
  };
  const Place& place(std::string_view name) const;

  std::string path_;
  std::vector<SafetensorsFile> files_;
  std::map<std::string_view, Place> by_name_;
};

}  // namespace laptime
