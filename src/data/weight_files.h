// The safetensors files with a model's weights: a single file, or the shards listed in an index.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/safetensors.h"

namespace laptime {

// The weight files at `path`: a safetensors file, an index (model.safetensors.index.json), or a folder with either.
// Throws Error if there are none, or if the index is damaged.
std::vector<std::string> weight_file_paths(const std::string& path);

class WeightFiles {
 public:
  // Opens the files from weight_file_paths and checks their headers. Also throws Error if two files have a tensor with
  // the same name, or if a file lacks a tensor that the index expects in it.
  explicit WeightFiles(const std::string& path);

  std::string text() const;  // "safetensors file 'a.safetensors'", or "the weights in 'FOLDER'"
  bool has(std::string_view name) const { return by_name_.contains(name); }
  const StoredTensor& tensor(std::string_view name) const;  // LAPTIME_CHECK fails if there is none
  std::string text_of(std::string_view name) const;         // the file that contains this tensor
  std::vector<const StoredTensor*> tensors() const;
  // Reads elements [begin, begin + out.size()) of a tensor, like SafetensorsFile::read.
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
