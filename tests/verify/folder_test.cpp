// Model folders of transformers: our engine reproduces PyTorch's values in every mode, and damaged folders are
// detected.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <tuple>

#include "data/golden.h"
#include "data/golden_compare.h"
#include "report/verification_text.h"
#include "support/error_of.h"
#include "support/golden_path.h"
#include "verify/verify.h"

namespace laptime {
namespace {

namespace fs = std::filesystem;

class VerifyFolder : public testing::TestWithParam<std::tuple<const char*, Mode, const char*>> {};

TEST_P(VerifyFolder, PassesEveryComparison) {
  const auto [name, mode, recompute] = GetParam();
  RunConfig machine;
  machine.threads = 2;
  machine.mode = mode;
  machine.recompute = recompute;
  const GoldenCase golden = read_golden(test::golden_folder(name));
  const VerifiedFile file = verify_golden(golden, machine);
  EXPECT_TRUE(file.pass()) << print(file);
  size_t compared = 0;
  for (const VerifiedGroup& group : file.groups) {
    for (const Comparison& comparison : group.comparisons) compared += comparison.skipped ? 0 : 1;
  }
  // Five losses and every key are compared in two types, and the two versions of the configuration once.
  EXPECT_EQ(compared, 2 * (5 + golden.keys.size()) + 1);
}

INSTANTIATE_TEST_SUITE_P(All, VerifyFolder,
                         testing::Combine(testing::ValuesIn(test::kGoldenFolders),
                                          testing::Values(Mode::kEager, Mode::kCompile), testing::Values("none")));
INSTANTIATE_TEST_SUITE_P(Recomputed, VerifyFolder,
                         testing::Combine(testing::ValuesIn(test::kGoldenFolders),
                                          testing::Values(Mode::kEager, Mode::kCompile), testing::Values("block")));

// A copy of the golden model folder `name`, removed by the destructor.
class FolderCopy {
 public:
  explicit FolderCopy(const std::string& name) : path_(testing::TempDir() + "/laptime_folder_" + name) {
    fs::remove_all(path_);
    fs::copy(test::golden_folder(name), path_);
  }
  ~FolderCopy() { fs::remove_all(path_); }
  FolderCopy(const FolderCopy&) = delete;
  FolderCopy& operator=(const FolderCopy&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

  void replace(const std::string& name, const std::string& old_text, const std::string& new_text) const {
    std::ifstream in(file(name));
    std::string text{std::istreambuf_iterator<char>(in), {}};
    const size_t at = text.find(old_text);
    ASSERT_NE(at, std::string::npos);
    text.replace(at, old_text.size(), new_text);
    std::ofstream(file(name)) << text;
  }

 private:
  std::string path_;
};

std::string reading_error(const std::string& folder) {
  return test::error_of([&] { read_golden(folder); });
}

TEST(GoldenFolder, ChangedRopeThetaFailsVerification) {
  const FolderCopy folder("llama");
  folder.replace("config.json", "\"rope_theta\": 10000.0", "\"rope_theta\": 11000.0");
  RunConfig machine;
  machine.threads = 1;
  const VerifiedFile file = verify_golden(read_golden(folder.path()), machine);
  EXPECT_FALSE(file.pass());
  EXPECT_FALSE(file.groups.front().pass()) << "the older configuration describes another model now";
}

TEST(GoldenFolder, ErrorNamesTheDamagedFile) {
  const FolderCopy folder("llama");
  folder.replace("config.json", "\"vocab_size\": 97", "\"vocab_size\": 98");
  EXPECT_NE(reading_error(folder.path()).find("parameters"), std::string::npos) << reading_error(folder.path());
  fs::remove(folder.file("values.safetensors"));
  EXPECT_NE(reading_error(folder.path()).find("values.safetensors"), std::string::npos) << reading_error(folder.path());
  fs::remove(folder.file("config.json"));
  EXPECT_NE(reading_error(folder.path()).find("values.safetensors"), std::string::npos) << reading_error(folder.path());
}

}  // namespace
}  // namespace laptime
