// Streams match the stored weights and tokens bit for bit, and any range matches the whole stream.
#include "data/stream.h"

#include <gtest/gtest.h>

#include <bit>
#include <filesystem>
#include <string>
#include <vector>

#include "data/golden.h"
#include "data/safetensors.h"
#include "model/parameters.h"

namespace laptime {
namespace {

std::vector<uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<uint32_t> bits;
  bits.reserve(values.size());
  for (const float value : values) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

TEST(Stream, MatchesPublishedVectors) {
  // The first two outputs of SplitMix64 seeded with 1234567, and test vectors of FNV-1a.
  EXPECT_EQ(splitmix64(1234567), 6457827717110365317ULL);
  EXPECT_EQ(splitmix64(1234567 + 0x9E3779B97F4A7C15ULL), 3203168211198807973ULL);
  EXPECT_EQ(fnv1a64(""), 0xCBF29CE484222325ULL);
  EXPECT_EQ(fnv1a64("a"), 0xAF63DC4C8601EC8CULL);
  EXPECT_EQ(fnv1a64("foobar"), 0x85944171F73967E8ULL);
}

TEST(Stream, MatchesStoredWeightsAndTokensBitForBit) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(LAPTIME_GOLDEN_DIR)) {
    const std::string path = entry.path();
    if (!entry.path().filename().string().starts_with("tiny_") || entry.path().extension() != ".safetensors") continue;
    SCOPED_TRACE(path);
    const GoldenCase golden = read_golden(path);
    for (const ParameterSpec& parameter : parameter_list(golden.model)) {
      const auto stored = golden.file->read<float>(golden.file->tensor("weight/" + parameter.name));
      std::vector<float> made(stored.size());
      fill_uniform(Stream(static_cast<uint64_t>(golden.seed), parameter.name), 0, made, parameter.stream.std,
                   static_cast<float>(parameter.stream.mean));
      EXPECT_EQ(bits_of(made), bits_of(stored)) << parameter.name;
    }
    for (const char* name : {"tokens", "targets"}) {
      const auto stored = golden.file->read<int64_t>(golden.file->tensor(name));
      std::vector<int64_t> made(stored.size());
      fill_integers(Stream(static_cast<uint64_t>(golden.seed), name), 0, made, golden.model.vocab_size);
      EXPECT_EQ(made, stored) << name;
    }
    ++files;
  }
  EXPECT_EQ(files, 7);
}

TEST(Stream, AnyRangeMatchesTheWholeStream) {
  const Stream stream(7, "w");
  std::vector<float> whole(1500);
  fill_uniform(stream, 0, whole, 0.02, 1);
  std::vector<int64_t> integers(1500);
  fill_integers(stream, 0, integers, 97);
  for (const auto& [begin, count] : {std::pair{0, 1}, {1, 255}, {255, 258}, {999, 501}, {1499, 1}, {3, 0}}) {
    std::vector<float> part(static_cast<size_t>(count));
    fill_uniform(stream, begin, part, 0.02, 1);
    EXPECT_EQ(part, std::vector<float>(whole.begin() + begin, whole.begin() + begin + count));
    std::vector<int64_t> ids(static_cast<size_t>(count));
    fill_integers(stream, begin, ids, 97);
    EXPECT_EQ(ids, std::vector<int64_t>(integers.begin() + begin, integers.begin() + begin + count));
  }
}

TEST(Stream, ElementsDependOnNameAndSeed) {
  std::vector<float> a(64);
  std::vector<float> b(64);
  fill_uniform(Stream(1, "a"), int64_t{1} << 40, a, 1);
  fill_uniform(Stream(1, "b"), int64_t{1} << 40, b, 1);
  EXPECT_NE(a, b);
  fill_uniform(Stream(2, "a"), int64_t{1} << 40, b, 1);
  EXPECT_NE(a, b);
}

}  // namespace
}  // namespace laptime
