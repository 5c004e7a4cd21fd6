// Computes outputs from inputs element by element.
#pragma once

#include <cstddef>
#include <type_traits>

#include "backend/cuda/words.h"

namespace laptime::cuda {

// The number of groups of elements that a thread loads before it computes the first one.
constexpr int groups_in_flight(int operands) { return operands <= 2 ? 2 : 1; }

// Moves groups of kSize adjacent elements. `type_of(k)` is the type of operand k; if it is a compile-time constant, no
// code for other types is compiled.
template <int kSize, class TypeOf>
struct AdjacentGroups {
  TypeOf type_of;

  LAPTIME_DEVICE Words load(const Thread& thread, const DeviceData& x, int k, int64_t position) const {
    return load_group<kSize>(thread, x, type_of(k), position);
  }
  LAPTIME_DEVICE void values(const Words& raw, int k, float (&out)[kSize]) const { values_of(raw, type_of(k), out); }
  LAPTIME_DEVICE void store(const Thread& thread, const DeviceData& y, int k, int64_t position,
                            const float (&values)[kSize]) const {
    store_group(thread, y, type_of(k), position, values);
  }
};

// Maps the first `count` groups of kSize elements. `positions_of(index)` returns the position of group `index` in each
// operand. `groups` loads, converts and stores groups, as AdjacentGroups does. Unless `start` is nullptr, each thread
// calls start() once, after its first loads, and stores nothing if the result is false.
template <int kSize, int kGroups, int kOut, int kIn, class PositionsOf, class MoveGroups, class Start, class Body>
LAPTIME_DEVICE void map_groups_at(const Thread& thread, const Elements<kOut + kIn>& elements, int64_t count,
                                  const PositionsOf& positions_of, const MoveGroups& groups, const Start& start,
                                  const Body& body) {
  Words raw[kGroups][kIn];
  const auto load = [&](int g, int64_t index) {
    const auto positions = positions_of(index);
    LAPTIME_UNROLL
    for (int k = 0; k < kIn; ++k) {
      const DeviceData& x = elements.operand[kOut + k];
      raw[g][k] = x.data != nullptr ? groups.load(thread, x, kOut + k, positions.of[kOut + k]) : Words{};
    }
  };
  const auto finish = [&](int g, int64_t index) {
    const auto positions = positions_of(index);
    float in[kIn][kSize];
    float out[kOut][kSize];
    LAPTIME_UNROLL
    for (int k = 0; k < kIn; ++k) groups.values(raw[g][k], kOut + k, in[k]);
    LAPTIME_UNROLL
    for (int i = 0; i < kSize; ++i) {
      float of_one[kIn];
      float results[kOut];
      for (int k = 0; k < kIn; ++k) of_one[k] = in[k][i];
      body(of_one, results);
      for (int k = 0; k < kOut; ++k) out[k][i] = results[k];
    }
    LAPTIME_UNROLL
    for (int k = 0; k < kOut; ++k) groups.store(thread, elements.operand[k], k, positions.of[k], out[k]);
  };
  if constexpr (std::is_same_v<Start, std::nullptr_t>) {
    for_groups<kGroups>(thread, count, load, finish);
  } else {
    for_groups<kGroups>(thread, count, load, start, finish);
  }
}

// Like map_groups_at, for operands that all have element i at position i. `type_of` is as in AdjacentGroups.
template <int kSize, int kGroups, int kOut, int kIn, class TypeOf, class Start, class Body>
LAPTIME_DEVICE void map_groups(const Thread& thread, const Elements<kOut + kIn>& elements, int64_t count,
                               const TypeOf& type_of, const Start& start, const Body& body) {
  const auto positions_of = [](int64_t index) {
    typename Walk<kOut + kIn>::Positions positions;
    LAPTIME_UNROLL
    for (int64_t& position : positions.of) position = index * kSize;
    return positions;
  };
  map_groups_at<kSize, kGroups, kOut, kIn>(thread, elements, count, positions_of,
                                           AdjacentGroups<kSize, TypeOf>{type_of}, start, body);
}

// Maps one element. All of `in` is loaded before `out` is stored.
template <int kOut, int kIn, class Body>
LAPTIME_DEVICE void map_one(const Thread& thread, const Elements<kOut + kIn>& elements,
                            const int64_t (&positions)[kOut + kIn], const Body& body) {
  float in[kIn] = {};
  float out[kOut];
  for (int k = 0; k < kIn; ++k) {
    if (elements.operand[kOut + k].data != nullptr)
      in[k] = load(thread, elements.operand[kOut + k], positions[kOut + k]);
  }
  body(in, out);
  for (int k = 0; k < kOut; ++k) store(thread, elements.operand[k], positions[k], out[k]);
}

// Maps the elements after the last whole group, or all elements if they are accessed one by one.
template <int kOut, int kIn, class Body>
LAPTIME_DEVICE void map_rest(const Thread& thread, const Elements<kOut + kIn>& elements, const Body& body) {
  if (elements.groups == Groups::kNone)
    return for_elements(thread, elements, [&](const auto& at) { map_one<kOut, kIn>(thread, elements, at.of, body); });
  const int64_t whole = elements.count - elements.count % group_size(elements.groups);
  for_indices(thread, elements.count - whole, [&](int64_t index) {
    int64_t positions[kOut + kIn];
    for (int64_t& position : positions) position = whole + index;
    map_one<kOut, kIn>(thread, elements, positions, body);
  });
}

// Calls body(in, out) for the elements of this thread. `in` holds the last kIn operands; `out` is stored to the first
// kOut operands. All of `in` is loaded before `out` is stored, so that a result may overwrite an operand. An absent
// operand reads as 0.
template <int kOut, int kIn, class Body>
LAPTIME_DEVICE void map_elements(const Thread& thread, const Elements<kOut + kIn>& elements, const Body& body) {
  constexpr int kGroups = groups_in_flight(kOut + kIn);
  const int64_t count = elements.count / group_size(elements.groups);
  const auto type_of = [&](int k) { return elements.operand[k].dtype; };
  switch (elements.groups) {
    case Groups::kNone: break;
    case Groups::kFoursOfFloat32:
      map_groups<kFour, kGroups, kOut, kIn>(
          thread, elements, count, [](int) { return DType::kFloat32; }, nullptr, body);
      break;
    case Groups::kEightsOfBFloat16:
      map_groups<kEight, kGroups, kOut, kIn>(
          thread, elements, count, [](int) { return DType::kBFloat16; }, nullptr, body);
      break;
    case Groups::kEights:
      map_groups<kEight, kGroups, kOut, kIn>(thread, elements, count, type_of, nullptr, body);
      break;
    case Groups::kFours: map_groups<kFour, kGroups, kOut, kIn>(thread, elements, count, type_of, nullptr, body); break;
  }
  map_rest<kOut, kIn>(thread, elements, body);
}

// The number of groups that a thread of map_walked_fours() loads before it computes the first one.
constexpr int kWalkedInFlight = 2;

// Moves groups of four elements along the last axis of a walk. Along this axis, the elements of an operand, which may
// be bools, are adjacent, or one element is repeated.
template <int kOperands>
struct WalkedFours {
  const Elements<kOperands>& elements;

  LAPTIME_DEVICE bool repeats(int k) const { return elements.walk.stride[k][elements.walk.rank - 1] == 0; }
  LAPTIME_DEVICE Words load(const Thread& thread, const DeviceData& x, int k, int64_t position) const {
    if (repeats(k)) return {{std::bit_cast<uint32_t>(cuda::load(thread, x, position)), 0, 0, 0}};
    if (x.dtype == DType::kBool)
      return {{thread.load(reinterpret_cast<const uint32_t*>(x.at<uint8_t>(position))), 0, 0, 0}};
    return load_group<kFour>(thread, x, x.dtype, position);
  }
  LAPTIME_DEVICE void values(const Words& raw, int k, float (&out)[kFour]) const {
    const DType dtype = elements.operand[k].dtype;
    if (repeats(k)) {
      LAPTIME_UNROLL
      for (float& value : out) value = std::bit_cast<float>(raw.of[0]);
    } else if (dtype == DType::kBool) {
      LAPTIME_UNROLL
      for (int i = 0; i < kFour; ++i) out[i] = static_cast<float>(raw.of[0] >> (8 * i) & 0xFFU);
    } else {
      values_of(raw, dtype, out);
    }
  }
  LAPTIME_DEVICE void store(const Thread& thread, const DeviceData& y, int, int64_t position,
                            const float (&values)[kFour]) const {
    store_group(thread, y, y.dtype, position, values);
  }
};

// Like map_elements, for operands that satisfy walks_in_fours(). Inputs may be broadcast or bools.
template <int kOut, int kIn, class Body>
LAPTIME_DEVICE void map_walked_fours(const Thread& thread, const Elements<kOut + kIn>& elements, const Body& body) {
  map_groups_at<kFour, kWalkedInFlight, kOut, kIn>(
      thread, elements, elements.count / kFour, [&](int64_t index) { return elements.walk.at(index * kFour); },
      WalkedFours<kOut + kIn>{elements}, nullptr, body);
}

// Like map_elements, for Groups::kFours and kNone, if the body needs numbers that start() computes. Every thread of the
// block calls start() once, while the thread's first kGroups groups are loaded. If start() returns false, nothing is
// stored.
template <int kGroups, int kOut, int kIn, class Start, class Body>
LAPTIME_DEVICE void map_elements_after(const Thread& thread, const Elements<kOut + kIn>& elements, const Start& start,
                                       const Body& body) {
  bool goes_on = false;
  map_groups<kFour, kGroups, kOut, kIn>(
      thread, elements, elements.groups == Groups::kNone ? 0 : elements.count / kFour,
      [&](int k) { return elements.operand[k].dtype; }, [&] { return goes_on = start(); }, body);
  if (goes_on) map_rest<kOut, kIn>(thread, elements, body);
}

}  // namespace laptime::cuda
