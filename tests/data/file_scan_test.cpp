// Scans of a file: the hash of its bytes, the range of its tokens, and reuse of a scan if the file is unchanged.
#include "data/file_scan.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#include "data/written_file.h"

namespace laptime {
namespace {

uint64_t hash_of(const std::string& bytes, const std::string& name = "a") {
  const WrittenFile file(name, bytes);
  return scan_file(InputFile(file.path(), "file")).hash;
}

TEST(FileScan, HashDependsOnContentNotOnName) {
  EXPECT_EQ(hash_of("some text", "a"), hash_of("some text", "b"));
  EXPECT_NE(hash_of("some text"), hash_of("some texu"));
}

TEST(FileScan, HashCoversLengthAndEveryByte) {
  std::set<uint64_t> seen;
  for (size_t size = 0; size <= 70; ++size) seen.insert(hash_of(std::string(size, '\0')));
  EXPECT_EQ(seen.size(), 71U);
  const std::string text(70, 'x');
  seen = {hash_of(text)};
  for (size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    seen.insert(hash_of(changed));
  }
  EXPECT_EQ(seen.size(), 71U);
}

TEST(FileScan, HashDependsOnThePositionOfAChange) {
  std::string large(600'000, 'x');  // more than two chunks of 262,144 bytes
  const uint64_t first = hash_of(large);
  large[300'000] = 'y';
  const uint64_t middle = hash_of(large);
  large[300'000] = 'x';
  large[300'032] = 'y';  // one block later, in the same hash stream
  const uint64_t later = hash_of(large);
  large[300'032] = 'x';
  large.back() = 'y';
  EXPECT_EQ((std::set<uint64_t>{first, middle, later, hash_of(large)}.size()), 4U);
}

// Bytes that this process has read so far, according to the kernel; -1 if unknown.
int64_t bytes_read() {
  std::ifstream io("/proc/self/io");
  for (std::string key; io >> key;) {
    int64_t value = 0;
    io >> value;
    if (key == "rchar:") return value;
  }
  return -1;
}

TEST(FileScan, ReadsAnUnchangedFileOnce) {
  const WrittenFile written("a.bin", std::string(1'000'000, 'x'));
  const std::filesystem::file_time_type old = std::filesystem::last_write_time(written.path()) - std::chrono::hours(1);
  std::filesystem::last_write_time(written.path(), old);
  const auto scan = [&] { return scan_file(InputFile(written.path(), "file")).hash; };
  // A file that has just changed is always read again, because another change might leave the same timestamps.
  while (!InputFile::is_settled(InputFile(written.path(), "file").stamp())) std::this_thread::yield();
  const uint64_t first = scan();
  const int64_t before = bytes_read();
  EXPECT_EQ(scan(), first);
  EXPECT_LT(bytes_read() - before, 10'000);
  written.write(std::string(1'000'000, 'y'));
  EXPECT_NE(scan(), first);
}

TEST(FileScan, FindsTheRangeOfTokensAcrossChunks) {
  // A chunk has 262,144 bytes. With a header of 3 bytes, a token straddles the end of each chunk.
  std::string bytes(3, '\x7f');
  for (int i = 0; i < 200'000; ++i) bytes += bytes_of<uint32_t>(i == 65'535 ? 1'000'000 : i % 3 == 0 ? 0 : 70'000);
  const WrittenFile written("a", bytes);
  const InputFile file(written.path(), "file");
  const FileScan scan = scan_file(file, TokenLayout{DataFormat::kUint32, TokenType::kUint32, 3, 200'000});
  ASSERT_TRUE(scan.tokens);
  EXPECT_EQ(scan.tokens->smallest, 0);
  EXPECT_EQ(scan.tokens->largest, 1'000'000);
  EXPECT_EQ(scan.tokens->zeros, 66'666);
  EXPECT_EQ(scan.hash, scan_file(file).hash);
  EXPECT_FALSE(scan_file(file, TokenLayout{DataFormat::kUint32, TokenType::kUint32, 3, 0}).tokens);
}

}  // namespace
}  // namespace laptime
