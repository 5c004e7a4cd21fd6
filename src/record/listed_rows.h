// ListedRows: what Extent::kRow reads of many records, held in some 300 bytes for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "record/record.h"

namespace laptime {

class ListedRows {
 public:
  // What is no part of Extent::kRow is not kept.
  void add(int64_t id, const Record& record);

  // Goes through the records, until `visit` returns false.
  void each(const std::function<bool(int64_t id, const Record&)>& visit) const;

  std::span<const int64_t> ids() const { return ids_; }
  // Puts the records into the order of these ids, and leaves out those that are not among them.
  void reorder(std::span<const int64_t> ids);

  size_t bytes() const;  // of memory, about

  // Texts that are too long for a row, each held once.
  class SharedTexts {
   public:
    uint32_t index_of(std::string_view text);
    std::string_view at(uint32_t index) const { return texts_[index]; }
    size_t bytes() const { return bytes_; }

   private:
    std::deque<std::string> texts_;  // which stay where they are
    std::unordered_map<std::string_view, uint32_t> indices_;
    size_t bytes_ = 0;
  };

 private:
  struct Place {
    uint32_t block = 0;
    uint32_t offset = 0;
  };

  std::vector<int64_t> ids_;
  std::vector<Place> places_;
  std::vector<std::string> blocks_;
  SharedTexts texts_;
};

}  // namespace laptime
