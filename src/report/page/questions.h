// The answers of a page to questions about times and launches. Each has no lines where the records do not answer it.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "report/page/page_view.h"

namespace laptime {

inline constexpr size_t kMostAnswers = 6;

// What the records say, and what follows from it or why nothing does.
struct Answers {
  std::vector<std::string> lines{};
  std::string conclusion{};

  bool is_full(size_t most = kMostAnswers) const { return lines.size() >= most; }
  void add(std::string line) { lines.push_back(std::move(line)); }
};

// "all 4", "3 of 4".
std::string how_many(size_t some, size_t all);

// Of traced launches.
Answers top_kernel(const PageView& view);
Answers other_kernels(const PageView& view);
Answers product_share(const PageView& view);
Answers softmax(const PageView& view);
Answers gain_of_compile(const PageView& view);
Answers casts(const PageView& view);

}  // namespace laptime
