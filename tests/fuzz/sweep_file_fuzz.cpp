// Sweep files in TOML, expanded into points.
#include "config/sweep_file.h"
#include "points/expand.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "fuzz/fuzz_target.h"

namespace laptime::fuzz {

std::vector<std::string> seeds() {
  std::vector<std::string> files{
      "model = \"small\"\nedition = 2024\nlr = 1e-3\nbias = true\nlabel = \"{model}_{mixed}\"\nclip-norm = "
      "[\"none\", 1.0]\n"};
  for (const auto& entry : std::filesystem::directory_iterator(LAPTIME_SOURCE_DIR "/sweeps")) {
    std::ifstream file(entry.path(), std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  std::sort(files.begin(), files.end());  // the order of directory entries is unspecified
  return files;
}

std::vector<std::string> words() {
  std::vector<std::string> words{" = ", "[", "]", ", ", "\n", "#", "\"\"\"", "0x1F", "1979-05-27", "true", "{model}"};
  for (const std::string_view flag : sweep_flags()) words.emplace_back(flag);
  for (const char* word : {"\"small\"", "\"xl\"", "2024", "2025", "\"auto\"", "\"float32\"", "\"bfloat16\"",
                           "\"compile\"", "\"step\"", "\"roofline:h100\"", "\"every=2\"", "\"8GiB\""}) {
    words.emplace_back(word);
  }
  return words;
}

}  // namespace laptime::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  laptime::fuzz::accept_or_refuse([&] {
    constexpr size_t kMostPoints = 100;
    laptime::expand(laptime::parse_sweep(laptime::fuzz::text_of(data, size), "fuzz.toml"), kMostPoints);
  });
  return 0;
}
