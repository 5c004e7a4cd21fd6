// Files that a command reads or keeps its records in, which its output must not go to.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/sweep.h"
#include "points/expand.h"

namespace laptime {

struct UsedFile {
  std::string what;  // for messages: "the store"
  std::filesystem::path path;
};

// The store, and the files that SQLite makes beside it.
std::vector<UsedFile> files_of_store(const std::optional<std::filesystem::path>& store);

// The sweep file, and the weights, data and kernels files of the points.
std::vector<UsedFile> input_files(const Sweep& sweep, const std::vector<SweepPoint>& points);

// A file that an option of a command names for its output; the path may be empty.
struct OutputFile {
  std::string_view flag;
  std::string path;
};

// Error if an output, standard output or standard error is one of `used` under any name (links are followed, inodes
// compared), or would be once both exist, and if two outputs are one file.
void reject_overwriting(const std::vector<OutputFile>& outputs, const std::vector<UsedFile>& used);

// The checks of a command that runs a sweep: the file of --output-file and those of `others` are no file that it uses,
// and its store is no input.
void reject_overwriting(const Sweep& sweep, const std::vector<SweepPoint>& points,
                        const std::optional<std::filesystem::path>& store, const std::vector<OutputFile>& others = {});

}  // namespace laptime
