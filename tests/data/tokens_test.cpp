// Token sources: the random batches of the golden files, windows and shifted targets, and damaged files.
#include "data/tokens.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "data/golden.h"
#include "data/written_file.h"
#include "support/golden_path.h"

namespace laptime {
namespace {

struct Batch {
  std::vector<int64_t> tokens;
  std::vector<int64_t> targets;
  bool operator==(const Batch&) const = default;
};

Batch batch_of(const TokenSource& source, int64_t step, size_t count) {
  Batch batch{std::vector<int64_t>(count), std::vector<int64_t>(count)};
  source.batch(step, batch.tokens, batch.targets);
  return batch;
}

std::string uint16_bytes(const std::vector<int>& tokens) {
  std::string bytes;
  for (const int token : tokens) bytes += bytes_of(static_cast<uint16_t>(token));
  return bytes;
}

std::string llmc_bytes(const std::vector<int>& tokens) {
  std::string header(1024, '\0');
  header.replace(0, 12, bytes_of(20240520) + bytes_of(1) + bytes_of(static_cast<int32_t>(tokens.size())));
  return header + uint16_bytes(tokens);
}

std::vector<int> counted(int count) {
  std::vector<int> tokens(static_cast<size_t>(count));
  std::iota(tokens.begin(), tokens.end(), 0);
  return tokens;
}

TEST(Tokens, RejectsShortFile) {
  const WrittenFile file("a.txt", "12345678");
  const auto make = [&](int64_t context) {
    return FileTokens(TokenData(file.path(), DataFormat::kAuto), 1, 256, context, Batches::kFresh);
  };
  EXPECT_SAYS(error_of([&] { make(8); }), "contains 8 tokens, but a context of 8 needs a file with at least 9");
  const FileTokens source(TokenData(file.path(), DataFormat::kAuto), 1, 256, 7, Batches::kFresh);
  EXPECT_EQ(batch_of(source, 5, 7), (Batch{{'1', '2', '3', '4', '5', '6', '7'}, {'2', '3', '4', '5', '6', '7', '8'}}));
  const WrittenFile empty("a.txt", "");
  EXPECT_SAYS(error_of([&] { FileTokens(TokenData(empty.path(), DataFormat::kAuto), 1, 256, 1, Batches::kFresh); }),
              "0 tokens");
}

TEST(Tokens, WindowsAreContiguousAndTargetsShiftedByOne) {
  const WrittenFile file("a.bin", uint16_bytes(counted(1000)));
  const FileTokens source(TokenData(file.path(), DataFormat::kAuto), 1, 1000, 16, Batches::kFresh);
  std::set<int64_t> starts;
  for (int64_t step = 0; step < 2000; ++step) {
    const Batch batch = batch_of(source, step, size_t{4} * 16);
    for (size_t i = 0; i < batch.tokens.size(); ++i) {
      EXPECT_EQ(batch.targets[i], batch.tokens[i] + 1);
      if (i % 16 != 0) {
        EXPECT_EQ(batch.tokens[i], batch.tokens[i - 1] + 1);
      } else {
        starts.insert(batch.tokens[i]);
      }
    }
  }
  // 8,000 draws from 984 positions miss a given position with probability 3e-4.
  EXPECT_EQ(*starts.begin(), 0);
  EXPECT_EQ(*starts.rbegin(), 983);
  EXPECT_GT(starts.size(), 975U);
}

TEST(Tokens, BatchesDependOnlyOnSeedAndStep) {
  const WrittenFile file("a.bin", uint16_bytes(counted(1000)));
  const auto fresh = [&](int64_t seed, int64_t step) {
    const FileTokens source(TokenData(file.path(), DataFormat::kAuto), seed, 1000, 16, Batches::kFresh);
    return batch_of(source, step, 64);
  };
  EXPECT_EQ(fresh(1, 3), fresh(1, 3));
  EXPECT_NE(fresh(1, 3), fresh(1, 4));
  EXPECT_NE(fresh(1, 3), fresh(2, 3));
  const FileTokens fixed(TokenData(file.path(), DataFormat::kAuto), 1, 1000, 16, Batches::kFixed);
  EXPECT_EQ(batch_of(fixed, 0, 64), batch_of(fixed, 9, 64));
  EXPECT_EQ(batch_of(fixed, 9, 64), fresh(1, 0));
}

TEST(Tokens, RandomBatchesMatchTheGoldenFiles) {
  const GoldenCase golden = read_golden(test::golden_path("tiny_2024"));
  const auto source = make_token_source(run_config_of(golden, Precision::kFloat32));
  const auto stored = [&](const char* name) { return golden.file->read<int64_t>(golden.file->tensor(name)); };
  const Batch expected{stored("tokens"), stored("targets")};
  EXPECT_EQ(batch_of(*source, 0, expected.tokens.size()), expected);
  EXPECT_EQ(batch_of(*source, 7, expected.tokens.size()), expected);
  const RandomTokens fresh(golden.seed, golden.model.vocab_size, Batches::kFresh);
  EXPECT_EQ(batch_of(fresh, 0, expected.tokens.size()), expected);
  const Batch third = batch_of(fresh, 3, 10);
  const Batch forty = batch_of(fresh, 0, 40);
  EXPECT_EQ(third.tokens, std::vector<int64_t>(forty.tokens.begin() + 30, forty.tokens.end()));
  EXPECT_NE(third.tokens, third.targets);
}

TEST(Tokens, RandomTokensCoverTheVocabulary) {
  const RandomTokens source(1, 10, Batches::kFresh);
  const Batch batch = batch_of(source, 0, 1000);
  EXPECT_EQ(std::set<int64_t>(batch.tokens.begin(), batch.tokens.end()).size(), 10U);
  EXPECT_EQ(*std::max_element(batch.tokens.begin(), batch.tokens.end()), 9);
}

TEST(Tokens, SourceFollowsContextVocabularyAndFormatOptions) {
  const WrittenFile file("a.txt", std::string(100, 'a'));
  RunConfig config;
  config.data = file.path();
  config.model.context_length = 200;
  EXPECT_SAYS(error_of([&] { make_token_source(config); }), "at least 201");
  config.crop_context = 10;
  EXPECT_EQ(batch_of(*make_token_source(config), 0, 20).targets, std::vector<int64_t>(20, 'a'));
  config.model.vocab_size = 50;
  EXPECT_SAYS(error_of([&] { make_token_source(config); }), "vocabulary of 50");
  config.data_format = DataFormat::kLlmc;
  EXPECT_SAYS(error_of([&] { make_token_source(config); }), "llm.c");
}

TEST(Tokens, RejectsAFileThatShrinks) {
  const WrittenFile file("a.txt", std::string(100'000, 'a'));
  const FileTokens source(TokenData(file.path(), DataFormat::kAuto), 1, 256, 1000, Batches::kFresh);
  file.write("short");
  EXPECT_SAYS(error_of([&] { batch_of(source, 0, 4000); }), "had 100000 bytes");
}

TEST(Tokens, SurvivesMutatedFiles) {
  const std::string good = llmc_bytes(counted(40));
  const WrittenFile file("a.bin", good);
  std::mt19937_64 random(2);  // the same mutations in every run
  int read = 0;
  int refused = 0;
  for (int round = 0; round < 1'000; ++round) {
    std::string bytes = good;
    for (size_t i = 0; i < 1 + random() % 3; ++i) {
      if (random() % 4 == 0) {
        bytes.resize(random() % (bytes.size() + 3), 'x');
      } else if (!bytes.empty()) {
        bytes[random() % 2 == 0 ? random() % std::min<size_t>(bytes.size(), 12) : random() % bytes.size()] =
            static_cast<char>(random());
      }
    }
    file.write(bytes);
    try {
      const FileTokens source(TokenData(file.path(), DataFormat::kAuto), 1, 40 + static_cast<int64_t>(random() % 500),
                              8, Batches::kFresh);
      batch_of(source, round, 16);
      ++read;
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(read, 100);
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace laptime
