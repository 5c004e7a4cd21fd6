// Looks up built-in sweep files, and defines the default grids of commands.
#include "config/ready_sweeps.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/ranges.h"
#include "base/words.h"
#include "config/model_presets.h"
#include "config/sweep_file.h"
#include "config/toml_files.h"

namespace laptime {
namespace {

std::string_view first_comment_line(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  const size_t begin = line.find_first_not_of("# ");
  return line.starts_with('#') && begin != std::string_view::npos ? line.substr(begin) : std::string_view();
}

bool is_file(const std::string& name) {
  std::error_code error;
  return std::filesystem::exists(name, error) && !std::filesystem::is_directory(name, error);
}

const ReadySweep* find_ready(std::string_view name) { return find_in(ready_sweeps(), name, &ReadySweep::name); }

struct GridAxis {
  std::string_view flag;
  std::vector<std::string> values;
};

Sweep sweep_of(const std::vector<GridAxis>& axes) {
  Sweep sweep;
  for (const GridAxis& axis : axes) set_option(sweep, axis.flag, axis.flag, axis.values);
  return sweep;
}

}  // namespace

std::span<const ReadySweep> ready_sweeps() {
  static const std::vector<ReadySweep> kSweeps = [] {
    std::vector<ReadySweep> sweeps;
    for (const TomlFile& file : sweep_files()) {
      const std::string_view name = file.name.substr(0, file.name.rfind('.'));
      sweeps.push_back({name, first_comment_line(file.text), file.text});
    }
    return sweeps;
  }();
  return kSweeps;
}

Sweep read_sweep(std::string_view where, const std::string& name) {
  const std::filesystem::path path(name);
  const bool names_file = path.has_parent_path() || path.extension() == ".toml";
  if (is_file(name)) return read_sweep_file(path);
  if (names_file) {
    if (find_ready(path.stem().string()) == nullptr || std::filesystem::exists(path)) return read_sweep_file(path);
    throw Error::format("{}: {} does not exist; for the built-in sweep, omit the folder and .toml: {}", where,
                        quote(name), path.stem().string());
  }
  if (const ReadySweep* const ready = find_ready(name)) {
    Sweep sweep = parse_sweep(ready->text, std::string(ready->name) + ".toml");
    sweep.name = ready->name;
    return sweep;
  }
  throw Error::format("{}: {} is neither a file nor a built-in sweep{} (laptime list sweeps)", where, quote(name),
                      did_you_mean(name, mapped(ready_sweeps(), &ReadySweep::name)));
}

Sweep attention_sweep() {
  return sweep_of({{"columns", {"attention"}},
                   {"model", {std::string(kAttentionModel)}},
                   {"d-model", {"16", "32", "64", "128"}},
                   {"context", {"256", "1024", "4096", "8192", "16384"}},
                   {"steps", {"100"}}});
}

Sweep calibration_sweep() {
  return sweep_of({{"model", {"small", "medium", "large"}},
                   {"num-layers", {"2"}},
                   {"context", {"64", "256"}},
                   {"dtype", {"float32", "bfloat16"}},
                   {"mode", {"eager", "compile"}},
                   {"warmup", {"2"}},
                   {"steps", {"1"}}});
}

Sweep selfcheck_sweep() {
  return sweep_of({{"d-model", {"256"}},
                   {"d-ff", {"1024"}},
                   {"num-layers", {"2"}},
                   {"num-heads", {"4"}},
                   {"vocab", {"1000"}},
                   {"context", {"128"}},
                   {"batch", {"1"}},
                   {"mode", {"compile"}}});
}

}  // namespace laptime
