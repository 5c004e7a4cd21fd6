// Matrix products in oneDNN. Each call to the library uses one thread and computes a block whose bounds depend only on
// the shape, so that results are bit-identical for any number of threads.
#pragma once

#include <string>

#include "backend/cpu/gemm/gemm.h"
#include "backend/cpu/team.h"

namespace laptime::cpu {

// Computes c (rows, columns) = a (rows, depth) b (depth, columns) + (accumulate ? c : 0) in float32, on the calling
// thread.
struct SgemmCall {
  int64_t rows = 0, columns = 0, depth = 0;
  const float* a = nullptr;
  BlasLayout a_layout;
  const float* b = nullptr;
  BlasLayout b_layout;
  float* c = nullptr;
  int64_t c_leading = 0;
  bool accumulate = false;
};
void onednn_sgemm(const SgemmCall& call);

// Makes oneDNN generate the code of its sgemm. The first call in a process takes about 25 ms, later ones microseconds.
void prepare_onednn_sgemm();

// Returns an empty string if oneDNN can read the operands, otherwise the reason why not.
std::string onednn_layout_refusal(const GemmShape& shape);

// Computes a float32 GEMM, for which onednn_layout_refusal must be empty.
void onednn_float32_gemm(Team& team, const Gemm& gemm);

// Options of a product with bfloat16 factors.
struct BfloatForm {
  bool bias = false;         // a bfloat16 bias is added
  bool wide_result = false;  // the result is float32; otherwise it is bfloat16
  bool accumulate = false;   // the product is added to the existing result
};

// Multiplies bfloat16 factors, accumulates in float32 and rounds once. If there is an addend, it must already be in c.
// onednn_bfloat16_refusal queries oneDNN for each block shape, which takes about 0.1 ms. prepare_onednn_bfloat16
// creates the primitives that products of this shape and form look up in the team, and throws Error if oneDNN cannot.
std::string onednn_bfloat16_refusal(const GemmShape& shape, const BfloatForm& form);
void prepare_onednn_bfloat16(Team& team, const GemmShape& shape, const BfloatForm& form);
void onednn_bfloat16_gemm(Team& team, const Gemm& gemm);

}  // namespace laptime::cpu
