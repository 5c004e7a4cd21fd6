// Files that a command reads or keeps its records in, which its output must not go to.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
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

// Error if the file of --output-file, standard output or standard error is one of `used` under any name (links are
// followed, inodes compared), or would be once both exist.
void reject_overwriting(const std::string& output_file, const std::vector<UsedFile>& used);

// Both checks of a command that runs a sweep: its output is no file that it uses, and its store is no input.
void reject_overwriting(const Sweep& sweep, const std::vector<SweepPoint>& points,
                        const std::optional<std::filesystem::path>& store);

}  // namespace laptime
