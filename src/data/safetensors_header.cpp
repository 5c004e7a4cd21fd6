// Parses the header's JSON strictly, event by event, and rejects whatever the format does not allow.
#include "data/safetensors_header.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/ranges.h"
#include "base/words.h"

namespace laptime {
namespace {

struct TypeRow {
  StoredType type;
  std::string_view name;
  int64_t bytes;
};

constexpr std::array<TypeRow, 9> kTypes{{{StoredType::kF64, "F64", 8},
                                         {StoredType::kF32, "F32", 4},
                                         {StoredType::kF16, "F16", 2},
                                         {StoredType::kBF16, "BF16", 2},
                                         {StoredType::kI64, "I64", 8},
                                         {StoredType::kI32, "I32", 4},
                                         {StoredType::kI16, "I16", 2},
                                         {StoredType::kU8, "U8", 1},
                                         {StoredType::kBool, "BOOL", 1}}};

const TypeRow& row_of(StoredType type) { return *find_in(kTypes, type, &TypeRow::type); }

constexpr std::string_view kRemedy = "write the file again with a safetensors library";

// An entry while it is being read; offsets count from the end of the header.
struct Entry {
  std::string name;
  std::optional<std::string> type;
  std::optional<std::vector<uint64_t>> shape;
  std::optional<std::vector<uint64_t>> offsets;
};

// Receives JSON events; every function returns true or throws Error.
class HeaderEvents {
 public:
  explicit HeaderEvents(std::string file) : file_(std::move(file)) {}

  std::vector<Entry> entries;
  std::map<std::string, std::string> metadata;

  bool start_object(size_t) {
    if (place_ == Place::kOutside) {
      place_ = Place::kTop;
    } else if (place_ == Place::kTop) {
      place_ = key_ == "__metadata__" ? Place::kMetadata : Place::kEntry;
      if (place_ == Place::kEntry) entries.push_back(Entry{.name = key_, .type = {}, .shape = {}, .offsets = {}});
    } else {
      unexpected("an object");
    }
    return true;
  }

  bool end_object() {
    if (place_ == Place::kEntry) {
      const Entry& entry = entries.back();
      if (!entry.type || !entry.shape || !entry.offsets) fail("dtype, shape or data_offsets is missing");
    }
    place_ = place_ == Place::kTop ? Place::kOutside : Place::kTop;
    return true;
  }

  bool key(std::string& name) {
    if (place_ == Place::kEntry) {
      field_ = name;
    } else if (place_ == Place::kMetadata) {
      field_ = name;
      if (metadata.contains(name)) fail(fmt::format("the key {} occurs twice", quote(name)));
    } else {
      key_ = name;
    }
    return true;
  }

  bool string(std::string& value) {
    if (place_ == Place::kMetadata) {
      metadata.emplace(field_, std::move(value));
    } else if (place_ == Place::kEntry && field_ == "dtype" && !entries.back().type) {
      entries.back().type = std::move(value);
    } else {
      unexpected("a string");
    }
    return true;
  }

  bool start_array(size_t) {
    if (place_ != Place::kEntry) unexpected("an array");
    std::optional<std::vector<uint64_t>>& list = this->list();
    if (list) fail(fmt::format("{} occurs twice", quote(field_)));
    list.emplace();
    place_ = Place::kList;
    return true;
  }

  bool end_array() {
    place_ = Place::kEntry;
    return true;
  }

  bool number_unsigned(uint64_t value) {
    if (place_ != Place::kList) unexpected("a number");
    std::vector<uint64_t>& list = *this->list();
    const size_t longest = field_ == "shape" ? kMaxRank : 2;
    if (list.size() == longest) fail(fmt::format("{} has more than {} numbers", quote(field_), longest));
    list.push_back(value);
    return true;
  }

  bool number_integer(int64_t) { unexpected("a negative number"); }
  bool number_float(double, const std::string&) { unexpected("a fraction"); }
  bool boolean(bool) { unexpected("a boolean"); }
  bool null() { unexpected("null"); }
  bool binary(std::vector<uint8_t>&) { unexpected("binary data"); }

  bool parse_error(size_t position, const std::string& token, const nlohmann::json::exception&) {
    throw Error::format("{}: the header is not valid JSON at byte {}, near {}; {}", file_, kLengthBytes + position - 1,
                        quote(token), kRemedy);
  }

 private:
  enum class Place { kOutside, kTop, kMetadata, kEntry, kList };

  [[noreturn]] void fail(const std::string& what) const {
    throw Error::format("{}: header, entry {}: {}; {}", file_, quote(key_), what, kRemedy);
  }

  [[noreturn]] void unexpected(const char* what) const {
    if (place_ == Place::kOutside) throw Error::format("{}: the header is {}, not an object; {}", file_, what, kRemedy);
    if (place_ == Place::kTop) fail(fmt::format("it is {}, not an object", what));
    fail(fmt::format("{} must not be {} here: the field is unknown, repeated or of another type", quote(field_), what));
  }

  std::optional<std::vector<uint64_t>>& list() {
    if (field_ == "shape") return entries.back().shape;
    if (field_ == "data_offsets") return entries.back().offsets;
    unexpected("an array");
  }

  std::string file_;
  Place place_ = Place::kOutside;
  std::string key_;    // key at the top level
  std::string field_;  // field within the entry
};

// Converts the entry to a tensor and checks it; `data` is the first byte after the header.
StoredTensor tensor_of(const Entry& entry, int64_t data, int64_t file_size, const std::string& file) {
  const auto fail = [&](const std::string& what) {
    throw Error::format("{}: tensor {}: {}; {}", file, quote(entry.name), what, kRemedy);
  };
  const TypeRow* const row = find_in(kTypes, *entry.type, &TypeRow::name);
  if (row == nullptr) {
    throw Error::format(
        "{}: tensor {}: dtype {} is not supported; convert it to F32, BF16, F16, F64 or an integer type", file,
        quote(entry.name), quote(*entry.type));
  }
  StoredTensor tensor{.name = entry.name, .type = row->type, .shape = {}, .begin = 0, .bytes = 0};
  uint64_t expected = static_cast<uint64_t>(row->bytes);
  for (const uint64_t size : *entry.shape) {
    if (size > INT64_MAX || __builtin_mul_overflow(expected, size, &expected) || expected > INT64_MAX) {
      fail(fmt::format("shape [{}] needs more bytes than 63 bits can count", joined(*entry.shape, ", ")));
    }
    tensor.shape.push_back(static_cast<int64_t>(size));
  }
  // A size of zero would hide an overflow of the other sizes, so it counts as one here.
  uint64_t largest = 1;
  for (const uint64_t size : *entry.shape) {
    if (__builtin_mul_overflow(largest, std::max<uint64_t>(size, 1), &largest) || largest > INT64_MAX) {
      fail(fmt::format("shape [{}] has more elements than 63 bits can count", joined(*entry.shape, ", ")));
    }
  }
  if (entry.offsets->size() != 2) fail(fmt::format("data_offsets has {} numbers, not 2", entry.offsets->size()));
  const uint64_t begin = (*entry.offsets)[0];
  const uint64_t end = (*entry.offsets)[1];
  const auto available = static_cast<uint64_t>(file_size - data);
  if (begin > end || end > available) {
    throw Error::format(
        "{}: tensor {}: data_offsets [{}, {}] are not a range in the {} bytes after the header (file of {} "
        "bytes); the file is truncated or damaged; copy or download it again",
        file, quote(entry.name), begin, end, available, file_size);
  }
  if (end - begin != expected) {
    fail(fmt::format("{} {} takes {} bytes, but its data_offsets [{}, {}] cover {}", *entry.type, tensor.shape.text(),
                     expected, begin, end, end - begin));
  }
  tensor.begin = data + static_cast<int64_t>(begin);
  tensor.bytes = static_cast<int64_t>(expected);
  return tensor;
}

void check_names(const std::vector<StoredTensor>& tensors, const std::string& file) {
  auto names = mapped<std::string_view>(tensors, &StoredTensor::name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) throw Error::format("{}: tensor {} occurs twice; {}", file, quote(*twice), kRemedy);
}

// The format allows neither gaps nor overlaps: each tensor begins where the previous one ends, and the last one extends
// to the end of the file.
void check_coverage(const std::vector<StoredTensor>& tensors, int64_t data, int64_t file_size,
                    const std::string& file) {
  int64_t end = data;
  for (const StoredTensor& tensor : tensors) {
    if (tensor.begin != end) {
      throw Error::format("{}: tensor {} begins at byte {}, {} the end of the previous tensor at byte {}; {}", file,
                          quote(tensor.name), tensor.begin, tensor.begin < end ? "before" : "after", end, kRemedy);
    }
    end = tensor.begin + tensor.bytes;
  }
  if (end != file_size) {
    throw Error::format("{}: the tensors end at byte {}, but the file at byte {}; {}", file, end, file_size, kRemedy);
  }
}

}  // namespace

int64_t size_of(StoredType type) { return row_of(type).bytes; }
std::string_view name_of(StoredType type) { return row_of(type).name; }

SafetensorsHeader parse_safetensors_header(std::string_view text, int64_t file_size, const std::string& file) {
  HeaderEvents events(file);
  nlohmann::json::sax_parse(text.begin(), text.end(), &events);
  const int64_t data = static_cast<int64_t>(kLengthBytes + text.size());
  SafetensorsHeader header;
  header.metadata = std::move(events.metadata);
  header.tensors.reserve(events.entries.size());
  for (const Entry& entry : events.entries) header.tensors.push_back(tensor_of(entry, data, file_size, file));
  std::sort(header.tensors.begin(), header.tensors.end(), [](const StoredTensor& a, const StoredTensor& b) {
    return std::tie(a.begin, a.bytes, a.name) < std::tie(b.begin, b.bytes, b.name);
  });
  check_names(header.tensors, file);
  check_coverage(header.tensors, data, file_size, file);
  return header;
}

}  // namespace laptime
