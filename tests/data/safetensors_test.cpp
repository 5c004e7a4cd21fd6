// Safetensors: every type is read and converted, malformed or hostile files are rejected with a message, and mutated
// files cause no crash.
#include "data/safetensors.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <limits>
#include <random>

#include "data/written_file.h"
#include "tensor/dtype.h"

namespace laptime {
namespace {

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape, int64_t begin,
                  int64_t end) {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})", name, dtype, shape, begin, end);
}

std::string message_for(std::string_view bytes) {
  const WrittenFile file("a.safetensors", bytes);
  std::string message = error_of([&] { SafetensorsFile opened(file.path()); });
  EXPECT_NE(message.find(file.path()), std::string::npos) << message;
  return message;
}

std::string message_for_header(const std::string& header, size_t data_bytes) {
  return message_for(safetensors_bytes(header, std::string(data_bytes, '\0')));
}

TEST(Safetensors, ReadsNamesShapesAndMetadata) {
  const std::string header = "{" + entry("b", "F32", "[2,1]", 4, 12) + "," + entry("a", "I16", "[2]", 0, 4) + "," +
                             entry("empty", "F64", "[0,5]", 12, 12) + "," + entry("scalar", "U8", "[]", 12, 13) +
                             R"(,"__metadata__":{"k":"v","torch":"2"}})" + "   ";
  const WrittenFile file("a.safetensors", safetensors_bytes(header, std::string(13, '\1')));
  const SafetensorsFile opened(file.path());
  ASSERT_EQ(opened.tensors().size(), 4U);
  EXPECT_EQ(opened.tensors()[0].name, "a");
  const StoredTensor& b = opened.tensor("b");
  EXPECT_EQ(b.type, StoredType::kF32);
  EXPECT_EQ(b.shape, Shape({2, 1}));
  EXPECT_EQ(b.bytes, 8);
  EXPECT_EQ(b.begin, static_cast<int64_t>(8 + header.size() + 4));
  EXPECT_EQ(opened.tensor("scalar").numel(), 1);
  EXPECT_TRUE(opened.read<float>(opened.tensor("empty")).empty());
  EXPECT_EQ(opened.metadata().at("torch"), "2");
  EXPECT_EQ(opened.find("c"), nullptr);
  EXPECT_SAYS(error_of([&] { opened.tensor("c"); }), "no tensor 'c'");
}

TEST(Safetensors, ReadsAFileWithoutTensors) {
  const WrittenFile file("a.safetensors", safetensors_bytes("{}", ""));
  EXPECT_TRUE(SafetensorsFile(file.path()).tensors().empty());
}

template <class T>
std::vector<double> converted(const std::string& dtype, const std::string& data, int64_t count) {
  const std::string header =
      "{" + entry("x", dtype, fmt::format("[{}]", count), 0, static_cast<int64_t>(data.size())) + "}";
  const WrittenFile file("a.safetensors", safetensors_bytes(header, data));
  const SafetensorsFile opened(file.path());
  std::vector<double> values;
  for (const T value : opened.read<T>(opened.tensor("x"))) values.push_back(static_cast<double>(value));
  return values;
}

using Values = std::vector<double>;

TEST(Safetensors, ConvertsEveryType) {
  EXPECT_EQ(converted<double>("F64", bytes_of(0.1) + bytes_of(-1e300), 2), (Values{0.1, -1e300}));
  EXPECT_EQ(converted<float>("F64", bytes_of(0.1), 1), Values{0.1F});
  EXPECT_EQ(converted<float>("F32", bytes_of(0.1F) + bytes_of(-0.0F), 2), (Values{0.1F, 0}));
  EXPECT_EQ(converted<double>("F32", bytes_of(0.1F), 1), Values{0.1F});
  const std::string half = bytes_of<uint16_t>(0x3C00) + bytes_of<uint16_t>(0xC000) + bytes_of<uint16_t>(0x0001);
  EXPECT_EQ(converted<float>("F16", half, 3), (Values{1, -2, 0x1p-24}));
  EXPECT_EQ(converted<float>("BF16", bytes_of(BFloat16(3.14159F).bits), 1), Values{3.140625});
  EXPECT_EQ(converted<int64_t>("I64", bytes_of<int64_t>(-(int64_t{1} << 52)), 1), Values{-0x1p52});
  EXPECT_EQ(converted<float>("I32", bytes_of<int32_t>(-7), 1), Values{-7});
  EXPECT_EQ(converted<int64_t>("I16", bytes_of<int16_t>(-32768), 1), Values{-32768});
  EXPECT_EQ(converted<int64_t>("U8", "\xFF", 1), Values{255});
  EXPECT_EQ(converted<float>("BOOL", std::string("\0\1\7", 3), 3), (Values{0, 1, 1}));
  EXPECT_EQ(converted<int64_t>("F32", bytes_of(-3.0F), 1), Values{-3});
  EXPECT_EQ(converted<int64_t>("BF16", bytes_of(BFloat16(4).bits), 1), Values{4});
}

TEST(Safetensors, RejectsValuesThatDoNotFitInt64) {
  for (const double bad : {0.5, 1e30, -1e19, 0x1p63, std::numeric_limits<double>::infinity(), std::nan("")}) {
    EXPECT_SAYS(error_of([&] { converted<int64_t>("F64", bytes_of(1.0) + bytes_of(bad), 2); }), "element 1 (byte ");
  }
}

TEST(Safetensors, ReadsARange) {
  std::string data;
  for (int i = 0; i < 10; ++i) data += bytes_of<double>(i);
  const WrittenFile file("a.safetensors", safetensors_bytes("{" + entry("x", "F64", "[2,5]", 0, 80) + "}", data));
  const SafetensorsFile opened(file.path());
  std::vector<float> part(3);
  opened.read<float>(opened.tensor("x"), 6, part);
  EXPECT_EQ(part, (std::vector<float>{6, 7, 8}));
  EXPECT_DEATH(opened.read<float>(opened.tensor("x"), 8, part), "internal check");
}

TEST(Safetensors, RejectsUnreadableFiles) {
  EXPECT_SAYS(error_of([] { SafetensorsFile{"/nowhere/a.safetensors"}; }), "No such file");
  EXPECT_SAYS(error_of([] { SafetensorsFile{testing::TempDir()}; }), "a directory");
  EXPECT_SAYS(error_of([] { SafetensorsFile{"/dev/zero"}; }), "a device");
  const WrittenFile file("pipe", "");
  const std::string pipe = file.path() + "2";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_SAYS(error_of([&] { SafetensorsFile opened(pipe); }), "a pipe");
  chmod(file.path().c_str(), 0);
  if (geteuid() != 0) {  // root may read any file
    EXPECT_SAYS(error_of([&] { SafetensorsFile opened(file.path()); }), "Permission denied");
  }
}

TEST(Safetensors, RejectsWrongLengths) {
  EXPECT_SAYS(message_for(""), "0 bytes");
  EXPECT_SAYS(message_for("1234567"), "7 bytes");
  EXPECT_SAYS(message_for(bytes_of<uint64_t>(3) + "{}"), "end at byte 11");
  EXPECT_SAYS(message_for(bytes_of<uint64_t>(100'000'001) + "{}"), "100000001");
  EXPECT_SAYS(message_for(bytes_of<uint64_t>(UINT64_MAX) + "{}"), "not a safetensors file");
  EXPECT_SAYS(message_for(bytes_of<uint64_t>(0) + "{}"), "'{'");
  EXPECT_SAYS(message_for(safetensors_bytes(" {}", "")), "'{'");
  EXPECT_SAYS(message_for("#!/bin/sh\necho this is a script\n"), "not a safetensors file");
  const std::string header = "{" + entry("x", "F64", "[4]", 0, 32) + "}";
  const std::string whole = safetensors_bytes(header, std::string(32, 'x'));
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(message_for(std::string_view(whole).substr(0, length)).empty()) << length;
  }
  EXPECT_SAYS(message_for(whole + "x"), "the file at byte");
}

TEST(Safetensors, RejectsBrokenJson) {
  EXPECT_SAYS(message_for_header("{\"a\":}", 0),
              "not valid JSON at byte 13,");  // the second brace, after 8 bytes of length
  EXPECT_SAYS(message_for_header("{", 0), "not valid JSON");
  EXPECT_SAYS(message_for_header("{} {}", 0), "not valid JSON");
  EXPECT_SAYS(message_for_header("{\"\xFF\":1}", 0), "not valid JSON");
  EXPECT_SAYS(message_for_header("{\"a\":1e999}", 0), "not valid JSON");
  EXPECT_SAYS(message_for_header("{\"a\":" + std::string(100'000, '['), 0), "'a'");
  EXPECT_SAYS(message_for_header("{\"a\":" + std::string(100'000, '{'), 0), "not valid JSON");
  std::string deep = "{";
  for (int i = 0; i < 100'000; ++i) deep += "\"a\":{";
  EXPECT_SAYS(message_for_header(deep, 0), "must not be an object here");
}

TEST(Safetensors, RejectsWrongEntries) {
  EXPECT_SAYS(message_for_header(R"({"a":1})", 0), "'a'");
  EXPECT_SAYS(message_for_header(R"({"a":"F32"})", 0), "'a'");
  EXPECT_SAYS(message_for_header(R"({"a":null})", 0), "null");
  EXPECT_SAYS(message_for_header(R"({"a":{}})", 0), "missing");
  EXPECT_SAYS(message_for_header(R"({"a":{"dtype":"F32","shape":[1]}})", 4), "missing");
  EXPECT_SAYS(message_for_header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"more":1}})", 4), "'more'");
  EXPECT_SAYS(message_for_header(R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4),
              "repeated");
  EXPECT_SAYS(message_for_header(R"({"a":{"dtype":"F32","shape":[1],"shape":[1],"data_offsets":[0,4]}})", 4), "twice");
  EXPECT_SAYS(message_for_header(R"({"a":{"dtype":32,"shape":[1],"data_offsets":[0,4]}})", 4), "'dtype'");
  EXPECT_SAYS(message_for_header(R"({"a":{"dtype":"F32","shape":4,"data_offsets":[0,4]}})", 4), "'shape'");
  EXPECT_SAYS(message_for_header(R"({"a":{"dtype":"F32","shape":["1"],"data_offsets":[0,4]}})", 4), "a string");
  EXPECT_SAYS(message_for_header(R"({"a":{"dtype":"F32","shape":[[1]],"data_offsets":[0,4]}})", 4), "an array");
  EXPECT_SAYS(message_for_header(R"({"a":{"dtype":"F32","shape":[{}],"data_offsets":[0,4]}})", 4), "an object");
  EXPECT_SAYS(message_for_header(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4), "negative");
  EXPECT_SAYS(message_for_header(R"({"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})", 4), "fraction");
  EXPECT_SAYS(message_for_header(R"({"a":{"dtype":"F32","shape":[true],"data_offsets":[0,4]}})", 4), "boolean");
  EXPECT_SAYS(message_for_header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", 4), "1 numbers");
  EXPECT_SAYS(message_for_header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,4]}})", 4), "more than 2");
  EXPECT_SAYS(message_for_header("{" + entry("a", "F32", "[1,1,1,1,1,1,1]", 0, 4) + "}", 4), "more than 6");
  EXPECT_SAYS(message_for_header("{" + entry("a", "F8_E4M3", "[4]", 0, 4) + "}", 4), "F8_E4M3");
  EXPECT_SAYS(message_for_header(R"({"__metadata__":{"a":1}})", 0), "'a'");
  EXPECT_SAYS(message_for_header(R"({"__metadata__":{"a":{}}})", 0), "an object");
  EXPECT_SAYS(message_for_header(R"({"__metadata__":{"a":"1","a":"2"}})", 0), "twice");
  EXPECT_SAYS(message_for_header(R"({"__metadata__":[]})", 0), "array");
}

TEST(Safetensors, RejectsWrongOffsets) {
  const std::string a = entry("a", "F32", "[1]", 0, 4);
  EXPECT_SAYS(message_for_header("{" + a + "," + entry("b", "F32", "[1]", 2, 6) + "}", 6), "before");
  EXPECT_SAYS(message_for_header("{" + a + "," + entry("b", "F32", "[1]", 0, 4) + "}", 4), "before");
  EXPECT_SAYS(message_for_header("{" + a + "," + entry("b", "F32", "[1]", 6, 10) + "}", 10), "after");
  EXPECT_SAYS(message_for_header("{" + entry("a", "F32", "[1]", 4, 8) + "}", 8), "after");
  EXPECT_SAYS(message_for_header("{" + a + "," + entry("a", "F32", "[1]", 4, 8) + "}", 8), "twice");
  EXPECT_SAYS(message_for_header("{" + entry("a", "F32", "[1]", 4, 0) + "}", 4), "[4, 0]");
  EXPECT_SAYS(message_for_header("{" + entry("a", "F32", "[2]", 0, 8) + "}", 4), "truncated");
  EXPECT_SAYS(message_for_header("{" + entry("a", "F32", "[2]", 0, 4) + "}", 4), "takes 8 bytes");
  EXPECT_SAYS(message_for_header("{" + a + "}", 5), "the file at byte");
  const std::string huge =
      R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[18446744073709551612,18446744073709551615]}})";
  EXPECT_SAYS(message_for_header(huge, 4), "18446744073709551612");
}

TEST(Safetensors, RejectsShapesThatOverflow) {
  for (const char* shape : {"[4294967296,4294967296]", "[9223372036854775807]", "[18446744073709551615]",
                            "[4611686018427387904,2]", "[0,9223372036854775807,9223372036854775807]",
                            "[9223372036854775807,9223372036854775807,0]", "[2305843009213693952]"}) {
    EXPECT_SAYS(message_for_header("{" + entry("a", "F32", shape, 0, 0) + "}", 0), "63 bits");
  }
}

TEST(Safetensors, EscapesHostileNames) {
  const std::string message = message_for_header(R"({"\u001b[2J\u0000":1})", 0);
  EXPECT_EQ(message.find('\x1b'), std::string::npos);
  EXPECT_SAYS(message, "\\x1b[2J\\x00");
  EXPECT_LT(message_for_header("{\"" + std::string(50'000, 'n') + "\":1}", 0).size(), 1000U);
}

// A valid file with a few bytes changed, removed or added.
class Mutations {
 public:
  Mutations() {
    header_ = "{" + entry("a", "F32", "[2,3]", 0, 24) + "," + entry("b", "I64", "[1]", 24, 32) + "," +
              entry("c", "BOOL", "[3]", 32, 35) + R"(,"__metadata__":{"k":"v"}})";
  }

  std::string header() { return mutated(header_); }
  std::string file() { return mutated(safetensors_bytes(header_, std::string(35, '\1'))); }

 private:
  std::string mutated(std::string bytes) {
    constexpr std::string_view kWords = "{}[]\",:0123456789-e.\\u\xff\x80";
    for (size_t edits = 1 + random_() % 4; edits > 0 && !bytes.empty(); --edits) {
      const size_t at = random_() % bytes.size();
      const char character = random_() % 2 == 0 ? kWords[random_() % kWords.size()] : static_cast<char>(random_());
      switch (random_() % 5) {
        case 0: bytes.erase(at, 1 + random_() % 8); break;
        case 1: bytes.insert(at, 1 + random_() % 3, character); break;
        case 2: bytes.resize(at + random_() % 2 * (bytes.size() - at)); break;
        default: bytes[at] = character;
      }
    }
    return bytes;
  }

  std::string header_;
  std::mt19937_64 random_{1};  // the same mutations in every run
};

// Every mutated header is either read, with all tensors inside the file, or rejected; sanitizers detect memory errors.
TEST(Safetensors, SurvivesMutatedHeaders) {
  Mutations mutations;
  int read = 0;
  int refused = 0;
  for (int round = 0; round < 30'000; ++round) {
    const std::string header = mutations.header();
    try {
      const auto file_size = static_cast<int64_t>(8 + header.size() + 35);
      for (const StoredTensor& tensor : parse_safetensors_header(header, file_size, "file").tensors) {
        ASSERT_LE(tensor.begin + tensor.bytes, file_size);
        ASSERT_EQ(tensor.numel() * size_of(tensor.type), tensor.bytes);
      }
      ++read;
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(read, 100);
  EXPECT_GT(refused, 10'000);
}

TEST(Safetensors, RejectsAFileThatShrinks) {
  const std::string header = "{" + entry("a", "F32", "[100000]", 0, 400'000) + "}";
  const WrittenFile file("a.safetensors", safetensors_bytes(header, std::string(400'000, '\0')));
  const SafetensorsFile opened(file.path());
  EXPECT_EQ(opened.read<float>(opened.tensor("a")).size(), 100'000U);
  ASSERT_EQ(truncate(file.path().c_str(), 100'000), 0);
  EXPECT_SAYS(error_of([&] { opened.read<float>(opened.tensor("a")); }), "do not change it during a run");
}

TEST(Safetensors, SurvivesMutatedFiles) {
  Mutations mutations;
  const WrittenFile file("a.safetensors", "");
  int read = 0;
  for (int round = 0; round < 500; ++round) {
    file.write(mutations.file());
    try {
      const SafetensorsFile opened(file.path());
      for (const StoredTensor& tensor : opened.tensors()) opened.read<double>(tensor);
      ++read;
    } catch (const Error&) {
      continue;
    }
  }
  EXPECT_GT(read, 10);
  EXPECT_LT(read, 400);
}

}  // namespace
}  // namespace laptime
