// Divides the keys for backward into blocks and, if there are few heads, into parts of several blocks. Each part has
// its own grad_q sums for each query head, which are added up at the end.
#pragma once

#include "ops/scaled_dot_product_attention/call_cpu.h"

namespace laptime::LAPTIME_ISA::attention {

constexpr int64_t kKeyBlock = 256;               // keys in a block, packed together
constexpr int64_t kMaxWidth = kWidestFusedHead;  // maximum width of a head, so that a packed block fits in the scratch
constexpr int64_t kLeastParts = 16;              // with fewer heads, the keys of a head are divided into parts

// The parts of each key head, which have about equal work. They depend only on the shape, never on the number of
// threads.
struct KeyParts {
  int64_t blocks = 0;
  int64_t count = 0;  // number of parts per head
  int64_t group = 1;  // number of query heads per head of keys
  int64_t positions = 0;
  bool causal = true;

  KeyParts(int64_t kv_heads, int64_t group_size, int64_t length, bool is_causal)
      : blocks(ceil_div(length, kKeyBlock)), group(group_size), positions(length), causal(is_causal) {
    count = std::min(blocks, ceil_div(kLeastParts, kv_heads));
  }
  explicit KeyParts(const Signature& signature)
      : KeyParts(signature.in[1].shape()[0] * signature.in[1].shape()[1],
                 signature.in[0].shape()[1] / signature.in[1].shape()[1], signature.in[0].shape()[2],
                 signature.attributes.as<AttentionAttributes>().causal) {}

  // The first block of a part; each part has at least one block. first_block(count) is the end of the last part.
  int64_t first_block(int64_t part) const {
    // If causal, about (blocks - b) blocks of rows can attend to the keys of block b.
    const int64_t all = causal ? blocks * (blocks + 1) / 2 : blocks;
    int64_t work = 0;
    int64_t block = 0;
    for (int64_t before = 1; before <= part; ++before) {
      do {
        work += causal ? blocks - block : 1;
        ++block;
      } while (work * count < all * before);
    }
    return block;
  }
  // The first row that can attend to a key of the part.
  int64_t first_row(int64_t part) const { return causal ? first_block(part) * kKeyBlock : 0; }
};

// Sets grad_q [B, h, T, d] to `scale` times the sum over the parts that a row can attend to, in order. The sums of part
// p for head h start at (h * parts.count + p) * part_floats. Their rows are `pitch` floats apart.
template <class Element>
void sum_parts(const KernelCall& call, const AttentionShape& shape, const KeyParts& parts, const float* sums,
               int64_t part_floats, int64_t pitch, float scale) {
  const int64_t blocks = ceil_div(shape.positions, kKeyBlock);
  const auto sum_block = [&](int64_t index) {
    const int64_t head = index / blocks;
    const int64_t begin = index % blocks * kKeyBlock;
    const auto grad_q = head_rows<Element>(call.out[0], head);
    const float* const head_sums = sums + head * parts.count * part_floats;
    alignas(64) std::array<float, kMaxWidth> row_sums;
    for (int64_t row = begin; row < std::min(begin + kKeyBlock, shape.positions); ++row) {
      for (int64_t part = 0; part < parts.count && parts.first_row(part) <= row; ++part) {
        const float* const part_sums = head_sums + part * part_floats + row * pitch;
        for (int64_t i = 0; i < shape.width; ++i)
          row_sums[static_cast<size_t>(i)] = part == 0 ? part_sums[i] : row_sums[static_cast<size_t>(i)] + part_sums[i];
      }
      write_row(row_sums.data(), shape.width, scale, grad_q[row]);
    }
  };
  cpu::team_of(call).parallel_ranges(shape.heads * blocks, sum_block,
                                     moving((parts.count + 1) * shape.heads * shape.positions * shape.width));
}

}  // namespace laptime::LAPTIME_ISA::attention
