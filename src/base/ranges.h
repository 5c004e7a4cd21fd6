// Short forms of common loops over ranges, and of look-ups in them.
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <type_traits>
#include <vector>

namespace laptime {

// The results of `projection`, a function or a member, for each element. If T is given, they are converted to T.
template <class T = void, class Range, class Projection>
auto mapped(const Range& range, Projection projection) {
  using Result = std::remove_cvref_t<std::invoke_result_t<Projection&, decltype(*std::begin(range))>>;
  std::vector<std::conditional_t<std::is_void_v<T>, Result, T>> results;
  results.reserve(std::size(range));
  for (const auto& element : range) results.emplace_back(std::invoke(projection, element));
  return results;
}

// The first element whose `projection` equals the value; null if there is none.
template <std::ranges::borrowed_range Range, class Value, class Projection = std::identity>
auto* find_in(Range&& range, const Value& value, Projection projection = {}) {
  const auto found = std::ranges::find(range, value, projection);
  return found == std::end(range) ? nullptr : &*found;
}

template <class Value, class Range>
bool is_among(const Value& value, const Range& range) {
  return std::ranges::find(range, value) != std::end(range);
}

// The value of the key in the map; null if there is none.
template <class Map, class Key>
auto* at_key(Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

}  // namespace laptime
