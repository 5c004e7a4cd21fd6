// Packs records into bytes and unpacks them, field by field as the table of listed fields has them.
#include "record/listed_rows.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "record/listed_fields.h"

namespace laptime {
namespace {

constexpr size_t kBlockBytes = size_t{1} << 18U;  // a new one begins once it is full; no row is in two
// A text has its length before it, up to this one. A longer text is shared, as most such texts are, and has kShared and
// its index.
constexpr size_t kLongestText = 24;
constexpr unsigned char kShared = 0xFF;
// Of the configuration.
constexpr std::array<const char*, 3> kWords{"model", "pass", listed_fields::kDeviceKey};

class Packer {
 public:
  Packer(std::string& out, ListedRows::SharedTexts& texts) : out_(out), texts_(texts) {}

  void put(double number) {
    std::array<char, sizeof number> bytes{};
    std::memcpy(bytes.data(), &number, sizeof number);
    out_.append(bytes.data(), bytes.size());
  }

  // Seven bits in a byte, the lowest first. Negative numbers, which are rare, take ten bytes.
  void put(int64_t number) {
    auto rest = static_cast<uint64_t>(number);
    for (; rest >= 0x80; rest >>= 7U) put_byte(static_cast<unsigned char>(rest | 0x80U));
    put_byte(static_cast<unsigned char>(rest));
  }

  void put(Status status) { put_byte(static_cast<unsigned char>(status)); }

  void put(std::string_view text) {
    if (text.size() <= kLongestText) {
      put_byte(static_cast<unsigned char>(text.size()));
      out_ += text;
    } else {
      put_byte(kShared);
      put(static_cast<int64_t>(texts_.index_of(text)));
    }
  }
  void put(const std::string& text) { put(std::string_view(text)); }

  template <class T>
  void put(const std::optional<T>& value) {
    put_byte(value ? 1 : 0);
    if (value) put(*value);
  }

  void put(const std::map<std::string, double>& numbers) {
    put(static_cast<int64_t>(numbers.size()));
    for (const auto& [name, number] : numbers) {
      put(name);
      put(number);
    }
  }

 private:
  void put_byte(unsigned char byte) { out_ += static_cast<char>(byte); }

  std::string& out_;
  ListedRows::SharedTexts& texts_;
};

class Unpacker {
 public:
  Unpacker(const char* at, const ListedRows::SharedTexts& texts) : at_(at), texts_(texts) {}

  void take(double& number) {
    std::memcpy(&number, at_, sizeof number);
    at_ += sizeof number;
  }

  void take(int64_t& number) {
    uint64_t sum = 0;
    for (unsigned shift = 0;; shift += 7) {
      const unsigned char byte = take_byte();
      sum |= static_cast<uint64_t>(byte & 0x7FU) << shift;
      if (byte < 0x80) break;
    }
    number = static_cast<int64_t>(sum);
  }

  void take(Status& status) { status = static_cast<Status>(take_byte()); }
  void take(std::string& text) { text = take_text(); }

  template <class T>
  void take(std::optional<T>& value) {
    if (take_byte() != 0) {
      take(value ? *value : value.emplace());
    } else {
      value.reset();
    }
  }

  void take(std::map<std::string, double>& numbers) {
    const auto count = static_cast<size_t>(take_count());
    if (numbers.size() != count) numbers.clear();
    auto known = numbers.begin();
    for (size_t i = 0; i < count; ++i) {
      const std::string_view name = take_text();
      if (known != numbers.end() && known->first == name) {
        take(known->second);
        ++known;
      } else {
        numbers.erase(known, numbers.end());
        known = numbers.end();
        take(numbers[std::string(name)]);
      }
    }
  }

  int64_t take_count() {
    int64_t count = 0;
    take(count);
    return count;
  }

  std::string_view take_text() {
    const unsigned char size = take_byte();
    if (size == kShared) return texts_.at(static_cast<uint32_t>(take_count()));
    at_ += size;
    return {at_ - size, size};
  }

 private:
  unsigned char take_byte() { return static_cast<unsigned char>(*at_++); }

  const char* at_;
  const ListedRows::SharedTexts& texts_;
};

// Calls `visit` with each field of a row.
template <class Self, class Visit>
void visit_row(Self& record, Visit&& visit) {
  const auto of_row = [&](const char*, auto extent, auto& field) {
    if constexpr (extent() <= Extent::kRow) visit(field);
  };
  listed_fields::visit_names(record, of_row);
  listed_fields::visit_fields(record, of_row);
}

void pack_config(const JsonObject& config, Packer& packer) {
  for (const char* const key : kWords) packer.put(config.text(key));
}

void unpack_config(Unpacker& unpacker, JsonObject& config) {
  for (const char* const key : kWords) {
    const std::string_view word = unpacker.take_text();
    Json& value = config.json()[key];
    if (word.empty()) {
      value = nullptr;
    } else if (value.is_string()) {
      value.get_ref<std::string&>() = word;
    } else {
      value = std::string(word);
    }
  }
}

// The first and the last, or as many as there are.
void pack_losses(const std::vector<double>& losses, Packer& packer) {
  const size_t count = std::min<size_t>(losses.size(), 2);
  packer.put(static_cast<int64_t>(count));
  if (count > 0) packer.put(losses.front());
  if (count > 1) packer.put(losses.back());
}

void unpack_losses(Unpacker& unpacker, std::vector<double>& losses) {
  losses.resize(static_cast<size_t>(unpacker.take_count()));
  for (double& loss : losses) unpacker.take(loss);
}

// Under its name the time of the pass, or the only one.
void pack_time(const Record& record, Packer& packer) {
  const TimeStats* const main = record.main_time();
  packer.put(int64_t{main != nullptr});
  for (const auto& [name, time] : record.time) {
    if (&time != main) continue;
    packer.put(name);
    listed_fields::visit_figures(time, [&](const char*, const auto& figure) { packer.put(figure); });
  }
}

void unpack_time(Unpacker& unpacker, std::map<std::string, TimeStats>& times) {
  if (unpacker.take_count() == 0) {
    times.clear();
    return;
  }
  const std::string_view name = unpacker.take_text();
  if (times.empty() || times.begin()->first != name) times.clear();
  TimeStats& time = times.empty() ? times[std::string(name)] : times.begin()->second;
  listed_fields::visit_figures(time, [&](const char*, auto& figure) { unpacker.take(figure); });
}

}  // namespace

uint32_t ListedRows::SharedTexts::index_of(std::string_view text) {
  const auto found = indices_.find(text);
  if (found != indices_.end()) return found->second;
  const auto index = static_cast<uint32_t>(texts_.size());
  indices_.emplace(texts_.emplace_back(text), index);
  constexpr size_t kNode = 100;  // of the table and of the list, beside the text
  bytes_ += text.size() + kNode;
  return index;
}

void ListedRows::add(int64_t id, const Record& record) {
  if (blocks_.empty() || blocks_.back().size() >= kBlockBytes) {
    blocks_.emplace_back().reserve(kBlockBytes + 1024);
  }
  std::string& block = blocks_.back();
  ids_.push_back(id);
  places_.push_back({static_cast<uint32_t>(blocks_.size() - 1), static_cast<uint32_t>(block.size())});
  Packer packer(block, texts_);
  visit_row(record, [&](const auto& field) { packer.put(field); });
  pack_config(record.config, packer);
  pack_losses(record.loss.values, packer);
  pack_time(record, packer);
}

void ListedRows::each(const std::function<bool(int64_t id, const Record&)>& visit) const {
  Record record;
  for (size_t i = 0; i < ids_.size(); ++i) {
    Unpacker unpacker(blocks_[places_[i].block].data() + places_[i].offset, texts_);
    visit_row(record, [&](auto& field) { unpacker.take(field); });
    unpack_config(unpacker, record.config);
    unpack_losses(unpacker, record.loss.values);
    unpack_time(unpacker, record.time);
    if (!visit(ids_[i], record)) return;
  }
}

void ListedRows::reorder(std::span<const int64_t> ids) {
  std::unordered_map<int64_t, Place> places;
  places.reserve(ids_.size());
  for (size_t i = 0; i < ids_.size(); ++i) places.emplace(ids_[i], places_[i]);
  ids_.clear();
  places_.clear();
  for (const int64_t id : ids) {
    const auto found = places.find(id);
    if (found == places.end()) continue;
    ids_.push_back(id);
    places_.push_back(found->second);
  }
}

size_t ListedRows::bytes() const {
  return blocks_.size() * kBlockBytes + places_.size() * (sizeof(Place) + sizeof(int64_t)) + texts_.bytes();
}

}  // namespace laptime
