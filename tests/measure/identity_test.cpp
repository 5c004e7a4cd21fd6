// Two runs have the same identity if their resolved options and the contents of their files are equal.
#include "measure/describe.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "prepare/resolved_point.h"
#include "support/points.h"

namespace laptime {
namespace {

namespace fs = std::filesystem;

class Identity : public testing::Test {
 protected:
  Identity() { fs::create_directories(folder_); }
  ~Identity() override { fs::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return (folder_ / name).string();
  }

  static std::string of(const test::Options& options) {
    const ResolvedPoint point = test::point_of(options);
    return identity_text(point.config, point.device ? &*point.device : nullptr);
  }

  fs::path folder_ = fs::path(testing::TempDir()) / ("laptime_identity_" + std::to_string(getpid()));
};

TEST_F(Identity, ResolvesDeviceAndThreads) {
  const std::string automatic = of({{"context", "8"}});
  EXPECT_EQ(of({{"context", "8"}, {"device", "cpu"}}), automatic);
  EXPECT_NE(of({{"context", "8"}, {"threads", "77"}}), automatic);
  EXPECT_NE(automatic.find("math=float32"), std::string::npos) << automatic;
  EXPECT_NE(automatic.find("identity=cpu/"), std::string::npos) << automatic;
}

TEST_F(Identity, DependsOnAllowedCores) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "needs at least two allowed cores";
  const test::Options two_threads{{"context", "8"}, {"threads", "2"}};
  const test::Options predicted{{"context", "8"}, {"device", "roofline:h100"}};
  const std::string before = of(two_threads);
  const std::string predicted_before = of(predicted);
  const std::string automatic_before = of({{"context", "8"}});
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  const std::string after = of(two_threads);
  const std::string predicted_after = of(predicted);
  const std::string automatic_after = of({{"context", "8"}});
  ASSERT_EQ(sched_setaffinity(0, sizeof(all), &all), 0);
  EXPECT_NE(after, before);
  EXPECT_NE(automatic_after, automatic_before);
  EXPECT_EQ(predicted_after, predicted_before);  // a prediction does not depend on the cores of this machine
}

TEST_F(Identity, FilesAreComparedByContent) {
  for (const std::string flag : {"data", "weights"}) {
    const std::string path = file("a.txt", "0123456789");
    const std::string first = of({{"context", "8"}, {flag, path}});
    EXPECT_EQ(of({{"context", "8"}, {flag, file("b.txt", "0123456789")}}), first);
    const auto written = fs::last_write_time(path);
    file("a.txt", "012345678x");  // same size and modification time
    fs::last_write_time(path, written);
    EXPECT_NE(of({{"context", "8"}, {flag, path}}), first) << flag;
  }
}

TEST_F(Identity, DependsOnTheContentOfTheMachineFile) {
  const auto machine = [&](const std::string& bandwidth) {
    return file("mine.toml",
                "title = \"mine\"\nsource = \"me\"\nmemory = \"8GiB\"\nlaunch = 1e-6\nfloat32 = 1e12\n"
                "bandwidth = " +
                    bandwidth + "\n");
  };
  const test::Options options{{"context", "8"}, {"device", "roofline:" + machine("100e9")}};
  const std::string first = of(options);
  const std::string first_elsewhere = identity_text(test::point_of(options).config, nullptr);  // with --launcher
  EXPECT_EQ(of(options), first);
  machine("200e9");
  EXPECT_NE(of(options), first);
  EXPECT_NE(identity_text(test::point_of(options).config, nullptr), first_elsewhere);
}

TEST_F(Identity, DependsOnTheFormatOfTheDataFile) {
  EXPECT_NE(of({{"context", "8"}, {"data", file("a.bin", "0123456789")}}),
            of({{"context", "8"}, {"data", file("a.txt", "0123456789")}}));
}

TEST_F(Identity, AcceptsMissingFiles) {
  EXPECT_NE(of({{"context", "8"}, {"data", (folder_ / "none").string()}}), of({{"context", "8"}}));
}

}  // namespace
}  // namespace laptime
