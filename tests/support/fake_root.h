// FakeRoot: a temporary folder that acts as the root of another file system.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace laptime {

// The folder is created empty, and the destructor removes it.
class FakeRoot {
 public:
  FakeRoot() {
    std::string name = ::testing::TempDir() + "fake_root_XXXXXX";
    const char* made = mkdtemp(name.data());
    if (made == nullptr) ADD_FAILURE() << "cannot make a folder like " << name;
    path_ = name;
  }
  FakeRoot(const FakeRoot&) = delete;
  FakeRoot& operator=(const FakeRoot&) = delete;
  ~FakeRoot() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }

  void write(const std::string& name, std::string_view text) const {
    const std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace laptime
