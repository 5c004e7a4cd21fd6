// Computes outputs from inputs element by element.
#pragma once

#include "backend/cuda/eights.h"

namespace laptime::cuda {

// The number of groups of elements that a thread loads before it computes the first one.
constexpr int groups_in_flight(int operands) { return operands <= 2 ? 2 : 1; }

// Maps elements in groups. `type_of(k)` is the type of operand k; if it is a compile-time constant, no code for other
// types is compiled.
template <int kOut, int kIn, class TypeOf, class Body>
LAPTIME_DEVICE void map_eights(const Thread& thread, const Elements<kOut + kIn>& elements, const TypeOf& type_of,
                               const Body& body) {
  constexpr int kGroups = groups_in_flight(kOut + kIn);
  RawEight raw[kGroups][kIn];
  const auto load = [&](int g, int64_t index) {
    LAPTIME_UNROLL
    for (int k = 0; k < kIn; ++k) {
      const DeviceData& x = elements.operand[kOut + k];
      raw[g][k] = x.data != nullptr ? load_eight(thread, x, type_of(kOut + k), index * kEight) : RawEight{};
    }
  };
  const auto finish = [&](int g, int64_t index) {
    float in[kIn][kEight];
    float out[kOut][kEight];
    LAPTIME_UNROLL
    for (int k = 0; k < kIn; ++k) values_of(raw[g][k], type_of(kOut + k), in[k]);
    LAPTIME_UNROLL
    for (int i = 0; i < kEight; ++i) {
      float of_one[kIn];
      float results[kOut];
      for (int k = 0; k < kIn; ++k) of_one[k] = in[k][i];
      body(of_one, results);
      for (int k = 0; k < kOut; ++k) out[k][i] = results[k];
    }
    LAPTIME_UNROLL
    for (int k = 0; k < kOut; ++k) store_eight(thread, elements.operand[k], type_of(k), index * kEight, out[k]);
  };
  for_groups<kGroups>(thread, elements.count / kEight, load, finish);
}

template <int kOut, int kIn, class Body>
LAPTIME_DEVICE void map_fours(const Thread& thread, const Elements<kOut + kIn>& elements, const Body& body) {
  constexpr int kGroups = groups_in_flight(kOut + kIn);
  Four<float> in[kGroups][kIn];
  const auto at = [&](int k, int64_t index) {
    return reinterpret_cast<Four<float>*>(elements.operand[k].template at<float>(0)) + index;
  };
  const auto load = [&](int g, int64_t index) {
    LAPTIME_UNROLL
    for (int k = 0; k < kIn; ++k)
      in[g][k] = elements.operand[kOut + k].data != nullptr ? thread.load(at(kOut + k, index)) : Four<float>{};
  };
  const auto finish = [&](int g, int64_t index) {
    Four<float> out[kOut];
    LAPTIME_UNROLL
    for (int i = 0; i < kFour; ++i) {
      float of_one[kIn];
      float results[kOut];
      for (int k = 0; k < kIn; ++k) of_one[k] = in[g][k].of[i];
      body(of_one, results);
      for (int k = 0; k < kOut; ++k) out[k].of[i] = results[k];
    }
    LAPTIME_UNROLL
    for (int k = 0; k < kOut; ++k) thread.store(at(k, index), out[k]);
  };
  for_groups<kGroups>(thread, elements.count / kFour, load, finish);
}

// Calls body(in, out) for the elements of this thread. `in` holds the last kIn operands; `out` is stored to the first
// kOut operands. All of `in` is loaded before `out` is stored, so that a result may overwrite an operand. An absent
// operand reads as 0.
template <int kOut, int kIn, class Body>
LAPTIME_DEVICE void map_elements(const Thread& thread, const Elements<kOut + kIn>& elements, const Body& body) {
  const auto one = [&](const int64_t(&positions)[kOut + kIn]) {
    float in[kIn] = {};
    float out[kOut];
    for (int k = 0; k < kIn; ++k) {
      if (elements.operand[kOut + k].data != nullptr)
        in[k] = load(thread, elements.operand[kOut + k], positions[kOut + k]);
    }
    body(in, out);
    for (int k = 0; k < kOut; ++k) store(thread, elements.operand[k], positions[k], out[k]);
  };
  switch (elements.groups) {
    case Groups::kNone: return for_elements(thread, elements, [&](const auto& at) { one(at.of); });
    case Groups::kFoursOfFloat32: map_fours<kOut, kIn>(thread, elements, body); break;
    case Groups::kEightsOfBFloat16:
      map_eights<kOut, kIn>(
          thread, elements, [](int) { return DType::kBFloat16; }, body);
      break;
    case Groups::kEights:
      map_eights<kOut, kIn>(
          thread, elements, [&](int k) { return elements.operand[k].dtype; }, body);
      break;
  }
  const int64_t whole = elements.count - elements.count % group_size(elements.groups);
  for_indices(thread, elements.count - whole, [&](int64_t index) {
    int64_t positions[kOut + kIn];
    for (int64_t& position : positions) position = whole + index;
    one(positions);
  });
}

}  // namespace laptime::cuda
