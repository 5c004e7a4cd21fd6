// Paths of the golden files, and of the model folders with golden values.
#pragma once

#include <string>

namespace laptime::test {

inline std::string golden_path(const std::string& name) {
  return std::string(LAPTIME_GOLDEN_DIR) + "/" + name + ".safetensors";
}

inline std::string golden_folder(const std::string& name) {
  return std::string(LAPTIME_SOURCE_DIR) + "/tests/golden_hf/" + name;
}

inline constexpr const char* kGoldenFolders[] = {
    "gpt2", "gpt_neox", "gpt_neox_sequential", "llama", "llama3_tied", "llama_pad", "qwen2", "qwen3"};

}  // namespace laptime::test
