// Reads the options of a sweep, and compares its files by inode, or by name where they do not exist yet.
#include "cli/sweep_words.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/words.h"
#include "cli/destination.h"
#include "cli/user_store.h"
#include "config/model_presets.h"
#include "config/output_config.h"
#include "config/ready_sweeps.h"
#include "config/run_config.h"
#include "data/token_data.h"
#include "sweep/sweep_points.h"

namespace laptime {

namespace {

bool is_list(std::string_view flag) {
  const std::optional<Option> option = find_option<RunConfig>(flag);
  return option && option->axis;
}

}  // namespace

std::vector<OptionRow> sweep_options(std::vector<OptionRow> of_points) {
  return together({std::move(of_points), option_rows<SweepSource>(), option_rows<OutputConfig>()});
}

void show_defaults(std::vector<OptionRow>& rows, const Sweep& defaults) {
  for (OptionRow& row : rows) {
    for (const Axis& axis : defaults.axes) {
      if (axis.flag == row.option.flag) row.fallback = joined(axis.values, ",");
    }
  }
}

bool is_of_sweep(std::string_view flag) {
  const std::vector<std::string_view> known = sweep_flags();
  return std::find(known.begin(), known.end(), flag) != known.end();
}

void set_given(Sweep& sweep, const CommandWords& words) {
  for (const GivenFlag& given : words.flags) {
    if (!is_of_sweep(given.flag)) continue;
    const std::vector<std::string> values = is_list(given.flag) ? split_list(given.text) : std::vector{given.text};
    set_option(sweep, given.flag, fmt::format("--{}", given.flag), values);
  }
}

Sweep given_sweep(const CommandWords& words, const Sweep& otherwise) {
  const auto source = given_options<SweepSource>(words);
  Sweep sweep = source.config.empty() ? otherwise : read_sweep("--config", source.config);
  set_given(sweep, words);
  return sweep;
}

Sweep given_attention_sweep(const CommandWords& words) {
  Sweep sweep = given_sweep(words, attention_sweep());
  for (const Axis& axis : sweep.axes) {
    if (axis.flag != "model" || axis.values == std::vector<std::string>{std::string(kAttentionModel)}) continue;
    throw Error::format("laptime attention: the file of --config is a sweep of model {}; run it with laptime bench",
                        joined(axis.values, ", "));
  }
  set_option(sweep, "model", words.command, {std::string(kAttentionModel)});
  return sweep;
}

bool is_swept(const Sweep& sweep, std::string_view flag) {
  return std::any_of(sweep.axes.begin(), sweep.axes.end(), [&](const Axis& axis) { return axis.flag == flag; });
}

void set_steps_unless_given(Sweep& sweep, std::string_view command, int64_t warmup, int64_t steps) {
  if (is_swept(sweep, "warmup") || is_swept(sweep, "steps")) return;
  set_option(sweep, "warmup", command, {std::to_string(warmup)});
  set_option(sweep, "steps", command, {std::to_string(steps)});
}

namespace {

namespace fs = std::filesystem;

bool same_inode(const struct stat& a, const struct stat& b) {
  return S_ISREG(a.st_mode) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool same_file(const fs::path& a, const fs::path& b) {
  struct stat of_a {};
  struct stat of_b {};
  const bool a_exists = stat(a.c_str(), &of_a) == 0;
  const bool b_exists = stat(b.c_str(), &of_b) == 0;
  if (a_exists && b_exists) return same_inode(of_a, of_b);
  return a_exists == b_exists && followed(a) == followed(b);
}

bool is_descriptor_of(int descriptor, const fs::path& path) {
  struct stat of_descriptor {};
  struct stat of_path {};
  return fstat(descriptor, &of_descriptor) == 0 && stat(path.c_str(), &of_path) == 0 &&
         same_inode(of_descriptor, of_path);
}

[[noreturn]] void throw_standard(const char* stream, const UsedFile& file) {
  throw Error::format("standard {} goes to {}, {}; send it to another file", stream, file.what,
                      quote(file.path.string()));
}

// The sweep file, and the weights, data and kernels files of the points.
std::vector<UsedFile> input_files(const Sweep& sweep, const std::vector<SweepPoint>& points) {
  std::vector<UsedFile> files;
  std::set<std::string> seen;
  const auto add = [&](const char* what, const std::string& path) {
    if (!path.empty() && seen.insert(path).second) files.push_back({what, path});
  };
  add("the sweep file", sweep.file);
  for (const SweepPoint& point : points) {
    add("the weights file", point.config.weights);
    add("the kernels file", point.config.kernels.value_or(""));
    if (point.config.data.empty()) continue;
    for (const std::string& file : data_files(point.config.data)) add("the data file", file);
  }
  return files;
}

}  // namespace

std::vector<UsedFile> files_of_store(const std::optional<fs::path>& store) {
  if (!store) return {};
  const std::string file = followed(*store).string();  // SQLite names them after the file that links lead to
  return {{"the store", *store},
          {"the journal of the store", file + "-journal"},
          {"the log of the store", file + "-wal"},
          {"the shared memory of the store", file + "-shm"}};
}

void reject_overwriting(const OutputFile& output, const std::vector<UsedFile>& used) {
  for (const UsedFile& file : used) {
    if (is_descriptor_of(STDERR_FILENO, file.path)) {
      // The error message must not be written into that file either.
      dup2(is_descriptor_of(STDOUT_FILENO, file.path) ? STDIN_FILENO : STDOUT_FILENO, STDERR_FILENO);
      throw_standard("error", file);
    }
    if (is_descriptor_of(STDOUT_FILENO, file.path)) throw_standard("output", file);
    if (!output.path.empty() && same_file(output.path, file.path))
      throw Error::format("{} {}: this is {}; name another file", output.flag, quote(output.path), file.what);
  }
}

void reject_overwriting(const Sweep& sweep, const std::vector<SweepPoint>& points,
                        const std::optional<OutputFile>& output) {
  const std::optional<fs::path> store = store_path(sweep.output.store);
  std::vector<UsedFile> inputs = input_files(sweep, points);
  const std::vector<UsedFile> of_store = files_of_store(store);
  for (const UsedFile& file : of_store) {
    for (const UsedFile& input : inputs) {
      if (!same_file(file.path, input.path)) continue;
      throw Error::format("--store {}: {} would be {}; name another file", quote(store->string()), input.what,
                          file.what);
    }
  }
  inputs.insert(inputs.end(), of_store.begin(), of_store.end());
  reject_overwriting(output.value_or(OutputFile{"--output-file", sweep.output.output_file}), inputs);
}

std::vector<ResolvedPoint> checked_points(const Sweep& sweep, const std::optional<OutputFile>& output) {
  std::vector<SweepPoint> points = points_of(sweep);
  reject_overwriting(sweep, points, output);
  return check_inputs(std::move(points));
}

}  // namespace laptime
