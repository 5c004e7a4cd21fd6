// Token sources: file formats, random batches of the golden files, windows and shifted targets, and damaged files.
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

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

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

std::string llmc_bytes(const std::vector<int>& tokens, int32_t version = 1, int32_t magic = 20240520) {
  std::string header(1024, '\0');
  header.replace(0, 12, bytes_of(magic) + bytes_of(version) + bytes_of(static_cast<int32_t>(tokens.size())));
  return header + uint16_bytes(tokens);
}

std::vector<int> counted(int count) {
  std::vector<int> tokens(static_cast<size_t>(count));
  std::iota(tokens.begin(), tokens.end(), 0);
  return tokens;
}

std::vector<int64_t> all_of(const TokenFile& file) {
  std::vector<int64_t> tokens(static_cast<size_t>(file.size()));
  file.read(0, tokens);
  return tokens;
}

std::string message_for(const std::string& name, std::string_view bytes, DataFormat format = DataFormat::kAuto) {
  const WrittenFile file(name, bytes);
  std::string message = error_of([&] { TokenFile opened(file.path(), format); });
  EXPECT_SAYS(message, file.path());
  return message;
}

TEST(Tokens, RecognisesFormats) {
  const WrittenFile llmc("a.bin", llmc_bytes({5, 65535, 7}));
  const TokenFile a(llmc.path(), DataFormat::kAuto);
  EXPECT_EQ(a.format(), DataFormat::kLlmc);
  EXPECT_EQ(all_of(a), (std::vector<int64_t>{5, 65535, 7}));
  const WrittenFile nano("b.bin", uint16_bytes({5, 65535, 7}));
  const TokenFile b(nano.path(), DataFormat::kAuto);
  EXPECT_EQ(b.format(), DataFormat::kUint16);
  EXPECT_EQ(all_of(b), (std::vector<int64_t>{5, 65535, 7}));
  const WrittenFile text("c.txt", "h\xC3\xA9!");
  const TokenFile c(text.path(), DataFormat::kAuto);
  EXPECT_EQ(c.format(), DataFormat::kBytes);
  EXPECT_EQ(all_of(c), (std::vector<int64_t>{'h', 0xC3, 0xA9, '!'}));
  EXPECT_EQ(TokenFile(nano.path(), DataFormat::kBytes).size(), 6);
  EXPECT_EQ(TokenFile(llmc.path(), DataFormat::kUint16).size(), 515);
  const WrittenFile tokens("d.txt", llmc_bytes({1}));
  EXPECT_EQ(TokenFile(tokens.path(), DataFormat::kAuto).format(), DataFormat::kLlmc);
}

TEST(Tokens, RefusesFilesOfAnotherFormat) {
  EXPECT_SAYS(message_for("a.bin", "abc"), "3 bytes, an odd number");
  EXPECT_SAYS(message_for("a.txt", "abc", DataFormat::kUint16), "an odd number");
  EXPECT_SAYS(message_for("a.txt", "abc", DataFormat::kLlmc), "fewer than the 1024");
  EXPECT_SAYS(message_for("a.bin", llmc_bytes({1, 2}, 1, 7), DataFormat::kLlmc), "begins with 7");
  EXPECT_SAYS(message_for("a.bin", llmc_bytes({1, 2}, 7)), "version 7");
  EXPECT_SAYS(message_for("a.bin", llmc_bytes({1, 2}).substr(0, 1026)), "states 2 tokens");
  EXPECT_SAYS(message_for("a.bin", llmc_bytes({1, 2}) + "x"), "states 2 tokens");
  EXPECT_SAYS(message_for("a.bin", llmc_bytes({1, 2}).substr(0, 1000)), "1000 bytes");
  std::string negative = llmc_bytes({1, 2});
  negative.replace(8, 4, bytes_of<int32_t>(-2));
  EXPECT_SAYS(message_for("a.bin", negative), "states -2 tokens");
  EXPECT_SAYS(error_of([] { TokenFile("/nowhere/x", DataFormat::kAuto); }), "data file '/nowhere/x'");
}

TEST(Tokens, ChecksIdsAgainstTheVocabulary) {
  std::vector<int> tokens(300'000, 3);
  tokens[299'000] = 50'257;
  tokens[299'001] = 60'000;
  const WrittenFile file("a.bin", llmc_bytes(tokens));
  const TokenFile opened(file.path(), DataFormat::kAuto);
  const std::string message = error_of([&] { opened.check_vocabulary(50'257); });
  EXPECT_SAYS(message, "token 50257 at position 299000 (byte 599024)");
  EXPECT_SAYS(message, file.path());
  EXPECT_SAYS(error_of([&] { opened.check_vocabulary(50'258); }), "position 299001");
  opened.check_vocabulary(60'001);
  opened.check_vocabulary(65'536);
  const WrittenFile text("a.txt", "az");
  const std::string advice =
      error_of([&] { FileTokens(TokenFile(text.path(), DataFormat::kAuto), 1, 'z', 1, Batches::kFixed); });
  EXPECT_SAYS(advice, "position 1 (byte 1)");
  EXPECT_SAYS(advice, "--vocab 256");
}

TEST(Tokens, RejectsShortFile) {
  const WrittenFile file("a.txt", "12345678");
  const auto make = [&](int64_t context) {
    return FileTokens(TokenFile(file.path(), DataFormat::kAuto), 1, 256, context, Batches::kFresh);
  };
  EXPECT_SAYS(error_of([&] { make(8); }), "holds 8 tokens; a context of 8 needs at least 9");
  const FileTokens source(TokenFile(file.path(), DataFormat::kAuto), 1, 256, 7, Batches::kFresh);
  EXPECT_EQ(batch_of(source, 5, 7), (Batch{{'1', '2', '3', '4', '5', '6', '7'}, {'2', '3', '4', '5', '6', '7', '8'}}));
  const WrittenFile empty("a.txt", "");
  EXPECT_SAYS(error_of([&] { FileTokens(TokenFile(empty.path(), DataFormat::kAuto), 1, 256, 1, Batches::kFresh); }),
              "0 tokens");
}

TEST(Tokens, WindowsAreContiguousAndTargetsShiftedByOne) {
  const WrittenFile file("a.bin", uint16_bytes(counted(1000)));
  const FileTokens source(TokenFile(file.path(), DataFormat::kAuto), 1, 1000, 16, Batches::kFresh);
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
  // 8,000 draws of 984 positions miss one with probability 3e-4 each.
  EXPECT_EQ(*starts.begin(), 0);
  EXPECT_EQ(*starts.rbegin(), 983);
  EXPECT_GT(starts.size(), 975U);
}

TEST(Tokens, BatchesFollowFromSeedAndStep) {
  const WrittenFile file("a.bin", uint16_bytes(counted(1000)));
  const auto fresh = [&](int64_t seed, int64_t step) {
    const FileTokens source(TokenFile(file.path(), DataFormat::kAuto), seed, 1000, 16, Batches::kFresh);
    return batch_of(source, step, 64);
  };
  EXPECT_EQ(fresh(1, 3), fresh(1, 3));
  EXPECT_NE(fresh(1, 3), fresh(1, 4));
  EXPECT_NE(fresh(1, 3), fresh(2, 3));
  const FileTokens fixed(TokenFile(file.path(), DataFormat::kAuto), 1, 1000, 16, Batches::kFixed);
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

TEST(Tokens, SourceFollowsTheConfiguration) {
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

TEST(Tokens, ShrinkingFileThrows) {
  const WrittenFile file("a.txt", std::string(100'000, 'a'));
  const FileTokens source(TokenFile(file.path(), DataFormat::kAuto), 1, 256, 1000, Batches::kFresh);
  file.write("short");
  EXPECT_SAYS(error_of([&] { batch_of(source, 0, 4000); }), "it had 100000 bytes");
}

TEST(Tokens, SurvivesMutations) {
  const std::string good = llmc_bytes(counted(40));
  const WrittenFile file("a.bin", good);
  std::mt19937_64 random(2);  // the same mutations every time
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
      const FileTokens source(TokenFile(file.path(), DataFormat::kAuto), 1, 40 + static_cast<int64_t>(random() % 500),
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
