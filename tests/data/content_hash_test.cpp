// The content hash: equal for equal bytes whatever the name, another for any other bytes.
#include "data/content_hash.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "data/written_file.h"

namespace laptime {
namespace {

uint64_t hash_of(const std::string& bytes, const std::string& name = "a") {
  const WrittenFile file(name, bytes);
  return content_hash(InputFile(file.path(), "file"));
}

TEST(ContentHash, DependsOnTheBytesAlone) {
  EXPECT_EQ(hash_of("some text", "a"), hash_of("some text", "b"));
  EXPECT_NE(hash_of("some text"), hash_of("some texu"));
}

TEST(ContentHash, EveryLengthAndEveryByteCounts) {
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

TEST(ContentHash, DependsOnOrderAcrossPieces) {
  std::string large(600'000, 'x');  // more than two pieces
  const uint64_t first = hash_of(large);
  large[300'000] = 'y';
  const uint64_t middle = hash_of(large);
  large[300'000] = 'x';
  large[300'032] = 'y';  // one block later, in the same stream
  const uint64_t later = hash_of(large);
  large[300'032] = 'x';
  large.back() = 'y';
  EXPECT_EQ((std::set<uint64_t>{first, middle, later, hash_of(large)}.size()), 4U);
}

}  // namespace
}  // namespace laptime
