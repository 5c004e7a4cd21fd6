// Keys in blocks, and for few heads the blocks in parts, each with sums of its own of the gradient of the queries.
#pragma once

#include <array>

#include "ops/scaled_dot_product_attention/call_cpu.h"

namespace laptime::LAPTIME_ISA {

constexpr int64_t kKeyBlock = 256;   // keys that are packed together
constexpr int64_t kWidest = 256;     // of a head, so that a block fits in the scratch
constexpr int64_t kLeastParts = 16;  // for fewer heads than that, a head's keys are cut into parts

// Blocks of keys in parts of about the same work, by shape alone.
struct KeyParts {
  int64_t blocks = 0;
  int64_t count = 0;  // parts of each head
  int64_t positions = 0;
  bool causal = true;

  KeyParts(int64_t heads, int64_t length, bool is_causal)
      : blocks((length + kKeyBlock - 1) / kKeyBlock), positions(length), causal(is_causal) {
    count = std::min(blocks, (kLeastParts + heads - 1) / heads);
  }
  explicit KeyParts(const Signature& signature)
      : KeyParts(signature.in[0].shape()[0] * signature.in[0].shape()[1], signature.in[0].shape()[2],
                 signature.attributes.as<AttentionAttributes>().causal) {}

  // The first block of a part; that of part `count` is the end.
  int64_t first_block(int64_t part) const {
    // Block b meets about blocks - b blocks of rows if causal.
    const int64_t all = causal ? blocks * (blocks + 1) / 2 : blocks;
    int64_t work = 0;
    int64_t block = 0;
    for (; block < blocks && work * count < all * part; ++block) work += causal ? blocks - block : 1;
    return block;
  }
  // The first row that meets a part.
  int64_t first_row(int64_t part) const { return causal ? first_block(part) * kKeyBlock : 0; }
};

// grad_q: of each row the sums of the parts that it meets, in order, times `scale`. Those of part p of a head start at
// (head * parts.count + p) * part_floats, a row at `pitch`.
template <class Element>
void add_parts(const KernelCall& call, const AttentionShape& shape, const KeyParts& parts, const float* sums,
               int64_t part_floats, int64_t pitch, float scale) {
  const int64_t blocks = (shape.positions + kKeyBlock - 1) / kKeyBlock;
  cpu::team_of(call).parallel_for(shape.heads * blocks, [&](int64_t index) {
    const int64_t head = index / blocks;
    const int64_t begin = index % blocks * kKeyBlock;
    const auto grad_q = head_rows<Element>(call.out[0], head);
    const float* const of_head = sums + head * parts.count * part_floats;
    alignas(64) std::array<float, kWidest> row_sums;
    for (int64_t row = begin; row < std::min(begin + kKeyBlock, shape.positions); ++row) {
      for (int64_t part = 0; part < parts.count && parts.first_row(part) <= row; ++part) {
        const float* const its = of_head + part * part_floats + row * pitch;
        for (int64_t i = 0; i < shape.width; ++i)
          row_sums[static_cast<size_t>(i)] = part == 0 ? its[i] : row_sums[static_cast<size_t>(i)] + its[i];
      }
      write_row(row_sums.data(), shape.width, scale, grad_q[row]);
    }
  });
}

}  // namespace laptime::LAPTIME_ISA
