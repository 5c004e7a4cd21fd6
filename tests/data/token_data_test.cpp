// Token files: formats are recognised by content, and other files are rejected with the name of their format. Also
// tests shards and the statistics of tokens.
#include "data/token_data.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <random>

#include "data/written_file.h"

namespace laptime {
namespace {

using Tokens = std::vector<int64_t>;

template <class T>
std::string raw(const Tokens& tokens) {
  std::string bytes;
  for (const int64_t token : tokens) bytes += bytes_of(static_cast<T>(token));
  return bytes;
}

std::string llmc_header(int32_t magic, int32_t version, int32_t count) {
  std::string header(1024, '\0');
  header.replace(0, 12, bytes_of(magic) + bytes_of(version) + bytes_of(count));
  return header;
}

std::string llmc16(const Tokens& tokens) {
  return llmc_header(20240520, 1, static_cast<int32_t>(tokens.size())) + raw<uint16_t>(tokens);
}

std::string llmc32(const Tokens& tokens) {
  return llmc_header(20240801, 7, static_cast<int32_t>(tokens.size())) + raw<uint32_t>(tokens);
}

std::string npy(const std::string& descr, const std::string& shape, const std::string& data,
                const std::string& order = "False", char version = 1) {
  std::string header = "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  const size_t lead = version == 1 ? 10 : 12;
  header.resize((header.size() + 1 + lead + 63) / 64 * 64 - lead - 1, ' ');
  header += '\n';
  const std::string length =
      version == 1 ? bytes_of(static_cast<uint16_t>(header.size())) : bytes_of(static_cast<uint32_t>(header.size()));
  return std::string("\x93NUMPY") + version + '\0' + length + header + data;
}

// Tokens with frequencies as in tokenized text: low tokens are more frequent.
Tokens natural(size_t count, int64_t vocab_size, uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  Tokens tokens(count);
  for (int64_t& token : tokens) {
    const double fraction = static_cast<double>(random() >> 11U) * 0x1p-53;
    token = static_cast<int64_t>(fraction * fraction * static_cast<double>(vocab_size));
  }
  return tokens;
}

Tokens all_of(const TokenData& data) {
  Tokens tokens(static_cast<size_t>(data.size()));
  data.read_window(0, tokens);
  return tokens;
}

struct Read {
  std::string format, type;
  Tokens tokens;
  bool operator==(const Read&) const = default;
};

Read read(const std::string& name, const std::string& bytes, DataFormat format = DataFormat::kAuto) {
  const WrittenFile file(name, bytes);
  const TokenData data(file.path(), format);
  return {std::string(name_of(data.format())), std::string(name_of(data.type())), all_of(data)};
}

std::string message_for(const std::string& name, std::string_view bytes, DataFormat format = DataFormat::kAuto) {
  const WrittenFile file(name, bytes);
  std::string message = error_of([&] { TokenData data(file.path(), format); });
  EXPECT_SAYS(message, file.path());
  return message;
}

TEST(TokenData, RecognisesHeadersUnderAnyFileName) {
  for (const std::string name : {"a.bin", "a.txt", "a"}) {
    EXPECT_EQ(read(name, llmc16({5, 65535, 7})), (Read{"llmc", "uint16", {5, 65535, 7}}));
    EXPECT_EQ(read(name, llmc32({5, 128'255, 7})), (Read{"llmc", "uint32", {5, 128'255, 7}}));
    EXPECT_EQ(read(name, npy("'<u2'", "(3,)", raw<uint16_t>({5, 65535, 7}))), (Read{"npy", "uint16", {5, 65535, 7}}));
  }
  EXPECT_EQ(read("a.npy", npy("'<u4'", "(2,)", raw<uint32_t>({5, 128'255}))), (Read{"npy", "uint32", {5, 128'255}}));
  EXPECT_EQ(read("a.npy", npy("'<i4'", "(2, 2)", raw<int32_t>({5, 128'255, 1, 2}))),
            (Read{"npy", "int32", {5, 128'255, 1, 2}}));
  EXPECT_EQ(read("a.npy", npy("'<i8'", "(2,)", raw<int64_t>({5, 128'255}), "False", 2)),
            (Read{"npy", "int64", {5, 128'255}}));
  EXPECT_EQ(read("a.npy", npy("'<u2'", "()", raw<uint16_t>({9}))), (Read{"npy", "uint16", {9}}));
}

TEST(TokenData, ReadsTextAsBytes) {
  EXPECT_EQ(read("c.txt", "h\xC3\xA9!"), (Read{"bytes", "uint8", {'h', 0xC3, 0xA9, '!'}}));
  EXPECT_EQ(read("latin", "caf\xE9\n").format, "bytes");
  EXPECT_EQ(read("story.bin", std::string(100, 'a') + '\n').format, "bytes");
  EXPECT_EQ(read("lines.jsonl", R"({"text": "a \"model_type\": b"})").format, "bytes");
  EXPECT_EQ(read("a.bin", raw<uint16_t>({1, 2}), DataFormat::kBytes), (Read{"bytes", "uint8", {1, 0, 2, 0}}));
}

TEST(TokenData, DistinguishesRawUint16FromUint32ByValues) {
  for (const int64_t vocab_size : {2, 65, 100, 50'257, 65'536}) {
    EXPECT_EQ(read("a.bin", raw<uint16_t>(natural(600, vocab_size))).type, "uint16") << vocab_size;
    EXPECT_EQ(read("a.bin", raw<uint32_t>(natural(600, vocab_size))).type, "uint32") << vocab_size;
  }
  for (const int64_t vocab_size : {100'277, 128'256, 151'936, 256'000, 1'000'000})
    EXPECT_EQ(read("a.bin", raw<uint32_t>(natural(600, vocab_size))).type, "uint32") << vocab_size;
  const Tokens many = natural(200'000, 151'936);  // more tokens than are inspected
  EXPECT_EQ(read("a.bin", raw<uint32_t>(many)), (Read{"uint32", "uint32", many}));
  Tokens wrong = natural(600, 50'257);
  wrong.back() = 2'147'483'648;
  EXPECT_EQ(read("a.bin", raw<uint32_t>(wrong)).type, "uint32");
  EXPECT_EQ(read("a.bin", raw<uint16_t>(Tokens(600, 0))).type, "uint16");
  EXPECT_EQ(read("a", raw<uint32_t>({1, 2}), DataFormat::kUint32), (Read{"uint32", "uint32", {1, 2}}));
  EXPECT_EQ(read("a", raw<uint32_t>({1, 2}), DataFormat::kUint16), (Read{"uint16", "uint16", {1, 0, 2, 0}}));
}

TEST(TokenData, ErrorNamesOtherFileFormats) {
  const std::string filler(2000, '\1');
  EXPECT_SAYS(message_for("a.bin", llmc_header(20240522, 1, 9) + filler), "llm.c evaluation file");
  EXPECT_SAYS(message_for("a.bin", llmc_header(20240326, 3, 9) + filler), "llm.c checkpoint");
  EXPECT_SAYS(message_for("a.bin", llmc_header(20240803, 3, 9) + filler), "llm.c checkpoint");
  EXPECT_SAYS(message_for("a.bin", llmc_header(20240328, 1, 9) + filler), "llm.c tokenizer");
  EXPECT_SAYS(message_for("a.bin", llmc_header(20240527, 1, 9) + filler), "llm.c optimizer state");
  EXPECT_SAYS(message_for("a.bin", llmc_header(20250101, 1, 9) + filler), "magic number 20250101");
  EXPECT_SAYS(message_for("a.gz", "\x1f\x8b\x08" + filler), "gzip");
  EXPECT_SAYS(message_for("a.bin", "PK\3\4" + filler), "torch.save");
  EXPECT_SAYS(message_for("a.txt", "PAR1" + filler), "parquet");
  EXPECT_SAYS(message_for("a.zst", "\x28\xb5\x2f\xfd" + filler), "zstd");
  EXPECT_SAYS(message_for("a.bz2", "BZh91AY&SY" + filler), "bzip2");
  EXPECT_SAYS(message_for("a.xz", std::string("\xfd"
                                              "7zXZ\0",
                                              6) +
                                      filler),
              "xz");
  EXPECT_SAYS(message_for("a.gguf", "GGUF" + filler), "GGUF");
  EXPECT_SAYS(message_for("a.bin", safetensors_bytes(R"({"w":{}})", filler)), "--weights");
  EXPECT_SAYS(message_for("a.pt", "\x80\2\x8a\x0al\xfc\x9c" + filler), "pickle");
  EXPECT_SAYS(message_for("s.sqlite", std::string("SQLite format 3\0", 16) + filler), "SQLite");
  EXPECT_SAYS(message_for("a.txt", "\xff\xfeh\0i\0"), "UTF-16");
  EXPECT_SAYS(message_for("config.json", R"({"hidden_size": 4096, "vocab_size": 128256})"), "describes a model");
  EXPECT_SAYS(message_for("a.json", "\n {\"metadata\": {}, \"weight_map\" : {}}"), "weight_map");
  EXPECT_SAYS(message_for("a.dat", filler), "--data-format uint16, uint32 or bytes");
  EXPECT_SAYS(message_for("a.bin", raw<int64_t>(natural(600, 50'000))), "64-bit");
}

TEST(TokenData, RejectsRawWeights) {
  std::mt19937_64 random(3);
  std::normal_distribution<float> normal(0, 0.02F);
  std::string wide;
  std::string narrow;
  for (int i = 0; i < 1000; ++i) {
    const float weight = normal(random);
    wide += bytes_of(weight);
    narrow += bytes_of(weight).substr(2);  // the upper half is a bfloat16
  }
  EXPECT_SAYS(message_for("a.bin", wide), "floating-point numbers");
  EXPECT_SAYS(message_for("a.bin", narrow), "floating-point numbers");
}

TEST(TokenData, StatedFormatMustMatchTheFile) {
  EXPECT_SAYS(message_for("a.bin", llmc16({1, 2}), DataFormat::kUint16), "format llmc, not uint16");
  EXPECT_SAYS(message_for("a.bin", raw<uint16_t>({1, 2}), DataFormat::kLlmc), "magic number");
  EXPECT_SAYS(message_for("a.bin", raw<uint16_t>({1, 2}), DataFormat::kNpy), "magic bytes");
  EXPECT_SAYS(message_for("a.gz", "\x1f\x8b\x08" + std::string(97, 'x'), DataFormat::kUint32), "gzip");
  EXPECT_SAYS(message_for("a.bin", "abc"), "not a multiple of 2");
  EXPECT_SAYS(message_for("a.txt", "abcdef", DataFormat::kUint32), "not a multiple of 4");
  EXPECT_SAYS(error_of([] { TokenData("/nowhere/x", DataFormat::kAuto); }), "data file '/nowhere/x'");
}

TEST(TokenData, RejectsInvalidAndUnsupportedHeaders) {
  EXPECT_SAYS(message_for("a.bin", llmc_header(20240520, 7, 2) + "abcd"), "version 7");
  EXPECT_SAYS(message_for("a.bin", llmc_header(20240801, 1, 1) + "abcd"), "version 1");
  EXPECT_SAYS(message_for("a.bin", llmc16({1, 2}).substr(0, 1026)), "states 2 tokens");
  EXPECT_SAYS(message_for("a.bin", llmc32({1, 2}) + "x"), "states 2 tokens");
  EXPECT_SAYS(message_for("a.bin", llmc16({1, 2}).substr(0, 1000)), "1000 bytes");
  EXPECT_SAYS(message_for("a.bin", llmc_header(20240520, 1, -2) + "abcd"), "states -2 tokens");
  EXPECT_SAYS(message_for("a.npy", npy("'<f4'", "(1,)", "abcd")), "'<f4'");
  EXPECT_SAYS(message_for("a.npy", npy("'>u2'", "(2,)", "abcd")), "little-endian");
  EXPECT_SAYS(message_for("a.npy", npy("[('a', '<u2')]", "(2,)", "abcd")), "numpy array of type");
  EXPECT_SAYS(message_for("a.npy", npy("'<u2'", "(3,)", "abcd")), "states 3 numbers");
  EXPECT_SAYS(message_for("a.npy", npy("'<u2'", "(9223372036854775807, 9)", "abcd")), "shape");
  EXPECT_SAYS(message_for("a.npy", npy("'<u2'", "(2, 1)", "abcd", "True")), "Fortran");
  EXPECT_SAYS(message_for("a.npy", npy("'<u2'", "(2,)", "abcd").substr(0, 40)), "numpy header");
}

TEST(TokenData, ChecksTokensAgainstTheVocabulary) {
  Tokens tokens(300'000, 3);
  tokens[299'000] = 50'257;
  tokens[299'001] = 60'000;
  const WrittenFile file("a.bin", llmc16(tokens));
  const TokenData data(file.path(), DataFormat::kAuto);
  const std::string message = error_of([&] { data.check_vocabulary(50'257); });
  EXPECT_SAYS(message, "token 50257 at position 299000 (byte 599024)");
  EXPECT_SAYS(message, "--vocab 60001");
  EXPECT_SAYS(message, file.path());
  EXPECT_SAYS(error_of([&] { data.check_vocabulary(50'258); }), "position 299001");
  data.check_vocabulary(60'001);
  data.check_vocabulary(65'536);
  data.check_vocabulary(128'256);
  const WrittenFile wide("b.bin", llmc32({128'000, 128'255}));
  TokenData(wide.path(), DataFormat::kAuto).check_vocabulary(128'256);
  EXPECT_SAYS(error_of([&] { TokenData(wide.path(), DataFormat::kAuto).check_vocabulary(128'255); }), "--vocab 128256");
  const WrittenFile negative("c.npy", npy("'<i8'", "(3,)", raw<int64_t>({5, -100, 7})));
  EXPECT_SAYS(error_of([&] { TokenData(negative.path(), DataFormat::kAuto).check_vocabulary(100); }),
              "token -100 at position 1");
  const int64_t too_large = int64_t{1} << 31U;  // more than --vocab accepts
  for (const int64_t token : {too_large, std::numeric_limits<int64_t>::max()}) {
    const WrittenFile huge("d.npy", npy("'<i8'", "(3,)", raw<int64_t>({5, token, 7})));
    const std::string refusal = error_of([&] { TokenData(huge.path(), DataFormat::kAuto).check_vocabulary(100); });
    EXPECT_SAYS(refusal, "token " + std::to_string(token) + " at position 1");
    EXPECT_EQ(refusal.find("--vocab"), std::string::npos) << refusal;
  }
  const WrittenFile text("a.txt", "az");
  const std::string advice = error_of([&] { TokenData(text.path(), DataFormat::kAuto).check_vocabulary('z'); });
  EXPECT_SAYS(advice, "position 1 (byte 1)");
  EXPECT_SAYS(advice, "--vocab 256");
}

TEST(TokenData, AsksForTheTypeIfUint16CannotHoldTheVocabulary) {
  const WrittenFile file("a.bin", raw<uint16_t>(natural(600, 50'257)));
  const std::string message = error_of([&] { TokenData(file.path(), DataFormat::kAuto).check_vocabulary(128'256); });
  EXPECT_SAYS(message, "confirm with --data-format uint16");
  TokenData(file.path(), DataFormat::kUint16).check_vocabulary(128'256);
}

class Shards : public testing::Test {
 protected:
  Shards() : folder_(anchor_.path().substr(0, anchor_.path().rfind('/') + 1)) {
    write("t_2.bin", llmc16({20, 21, 22}));
    write("t_1.bin", llmc16({10, 11, 12, 13}));
    write("t_3.bin", llmc16({30}));
  }

  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ + name, std::ios::binary) << bytes;
  }

  Tokens window(const TokenData& data, int64_t index) const {
    Tokens tokens(2);
    data.read_window(index, tokens);
    return tokens;
  }

  WrittenFile anchor_{"anchor", ""};
  std::string folder_;
};

TEST_F(Shards, PatternSelectsFilesInOrder) {
  const TokenData data(folder_ + "t_*.bin", DataFormat::kAuto);
  EXPECT_EQ(data.size(), 8);
  EXPECT_EQ(data.window_count(2), 5);  // a window never spans two files
  EXPECT_EQ(window(data, 0), (Tokens{10, 11}));
  EXPECT_EQ(window(data, 3), (Tokens{20, 21}));
  EXPECT_EQ(window(data, 4), (Tokens{21, 22}));
  EXPECT_EQ(window(data, 1), (Tokens{11, 12}));
  const TokenFacts facts = data.facts();
  EXPECT_EQ(facts.files, 3);
  EXPECT_EQ(facts.smallest, 10);
  EXPECT_EQ(facts.largest, 30);
  EXPECT_SAYS(error_of([&] { data.check_vocabulary(22); }), "t_2.bin': token 22 at position 2");
}

TEST_F(Shards, ListKeepsItsOrder) {
  const TokenData data(folder_ + "t_2.bin," + folder_ + "t_1.bin", DataFormat::kAuto);
  EXPECT_EQ(window(data, 0), (Tokens{20, 21}));
  EXPECT_NE(data.facts().hash, TokenData(folder_ + "t_1.bin," + folder_ + "t_2.bin", DataFormat::kAuto).facts().hash);
  write("a,b*.bin", llmc16({7, 8}));
  EXPECT_EQ(window(TokenData(folder_ + "a,b*.bin", DataFormat::kAuto), 0), (Tokens{7, 8}));
}

TEST_F(Shards, RejectsInconsistentFiles) {
  EXPECT_SAYS(error_of([&] { TokenData(folder_ + "x_*.bin", DataFormat::kAuto); }), "no file matches");
  EXPECT_SAYS(error_of([&] { TokenData(folder_ + "t_1.bin,", DataFormat::kAuto); }), "data file ''");
  write("t_4.bin", llmc32({1}));
  EXPECT_SAYS(error_of([&] { TokenData(folder_ + "t_*.bin", DataFormat::kAuto); }), "give files with the same format");
  const TokenData data(folder_ + "t_1.bin," + folder_ + "t_2.bin", DataFormat::kAuto);
  write("t_1.bin", llmc16({10, 11, 12, 13, 14}));
  EXPECT_SAYS(error_of([&] { window(data, 0); }), "has changed");
}

TEST(TokenData, WarnsAboutSuspiciousTokens) {
  const auto remarks = [](const Tokens& tokens, int64_t vocab_size) {
    const WrittenFile file("a.bin", raw<uint16_t>(tokens));
    const TokenData data(file.path(), DataFormat::kUint16);
    return remarks_on(data.facts(), data.type(), vocab_size);
  };
  EXPECT_TRUE(remarks(natural(600, 50'257), 50'257).empty());
  Tokens zeros = natural(600, 50'257);
  for (size_t i = 1; i < zeros.size(); i += 2) zeros[i] = 0;
  ASSERT_EQ(remarks(zeros, 50'257).size(), 1U);
  EXPECT_SAYS(remarks(zeros, 50'257).front(), "50 % of the tokens");
  EXPECT_SAYS(remarks(Tokens(600, 9), 10).front(), "every token in the data is 9");
  EXPECT_SAYS(remarks(natural(600, 100), 50'257).front(), "far below the vocabulary");
}

}  // namespace
}  // namespace laptime
