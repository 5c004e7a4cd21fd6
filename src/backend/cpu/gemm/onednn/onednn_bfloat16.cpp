// Computes bfloat16 products with oneDNN's matmul primitive. The team keeps one primitive for each block shape.
#include <dnnl.hpp>

#include <array>
#include <map>
#include <memory>
#include <new>

#include "backend/cpu/gemm/onednn/onednn_gemm.h"
#include "backend/cpu/openmp.h"
#include "base/error.h"

namespace laptime::cpu {
namespace {

using dnnl::memory;

// The float32 accumulator of a block, rows x columns, must fit into the scratch of a thread.
constexpr GemmCut::Limits kLimits{.rows = 512, .columns = 384, .row_multiple = 16, .column_multiple = 48};

// The key of a primitive: everything that the primitive depends on.
struct BlockKey {
  int64_t rows = 0, columns = 0, depth = 0;
  int64_t a_leading = 0, b_leading = 0, c_leading = 0;
  bool a_transposed = false, b_transposed = false, bias = false;
  bool wide = false;        // the result is float32
  bool accumulate = false;  // the product is added to the existing result
  friend auto operator<=>(const BlockKey&, const BlockKey&) = default;
};

BlockKey key_of(const GemmShape& shape, const GemmCut& cut, bool last_row, bool last_column, const BfloatForm& form) {
  const BlasLayout a = *blas_layout(shape.a, shape.m, shape.k);
  const BlasLayout b = *blas_layout(shape.b, shape.k, shape.n);
  return {cut.rows(last_row),
          cut.columns(last_column),
          shape.k,
          a.leading,
          b.leading,
          shape.n,
          a.transposed,
          b.transposed,
          form.bias,
          form.wide_result,
          form.accumulate};
}

memory::desc matrix(int64_t rows, int64_t columns, int64_t leading, bool transposed, bool wide = false) {
  return {{rows, columns},
          wide ? memory::data_type::f32 : memory::data_type::bf16,
          transposed ? memory::dims{1, leading} : memory::dims{leading, 1}};
}

struct Descriptors {
  memory::desc a, b, c, bias;
};
Descriptors descriptors(const BlockKey& key) {
  return {matrix(key.rows, key.depth, key.a_leading, key.a_transposed),
          matrix(key.depth, key.columns, key.b_leading, key.b_transposed),
          matrix(key.rows, key.columns, key.c_leading, false, key.wide), matrix(1, key.columns, key.columns, false)};
}

// Describes the product of a block, with a scratchpad that the caller provides: oneDNN's own scratchpad could serve
// only one thread at a time.
dnnl::matmul::primitive_desc describe(const BlockKey& key, const dnnl::engine& engine) {
  use_one_openmp_thread();
  const Descriptors operands = descriptors(key);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (key.accumulate) {
    dnnl::post_ops sum;
    sum.append_sum();
    attributes.set_post_ops(sum);
  }
  const dnnl::matmul::desc desc = key.bias ? dnnl::matmul::desc(operands.a, operands.b, operands.bias, operands.c)
                                           : dnnl::matmul::desc(operands.a, operands.b, operands.c);
  return {desc, attributes, engine};
}

// The primitive of one product, with separate operand handles for each thread of the team.
class BlockProduct {
 public:
  BlockProduct(const BlockKey& key, const dnnl::engine& engine, Team& team)
      : BlockProduct(key, describe(key, engine), engine, team) {}

  void run(int thread, const void* a, const void* b, const void* bias, void* c) const {
    use_one_openmp_thread();
    const ThreadHandles& use = handles_[static_cast<size_t>(thread)];
    use.a.set_data_handle(const_cast<void*>(a));
    use.b.set_data_handle(const_cast<void*>(b));
    use.bias.set_data_handle(const_cast<void*>(bias));
    use.c.set_data_handle(c);
    const std::array<dnnl_exec_arg_t, 5> arguments{{{DNNL_ARG_SRC, use.a.get()},
                                                    {DNNL_ARG_WEIGHTS, use.b.get()},
                                                    {DNNL_ARG_DST, use.c.get()},
                                                    {DNNL_ARG_SCRATCHPAD, use.scratch.get()},
                                                    {DNNL_ARG_BIAS, use.bias.get()}}};
    const dnnl_status_t status =
        dnnl_primitive_execute(primitive_.get(), use.stream.get(), has_bias_ ? 5 : 4, arguments.data());
    LAPTIME_CHECK(status == dnnl_success, "matmul: status {}", static_cast<int>(status));
  }

 private:
  struct ThreadHandles {
    dnnl::stream stream;
    memory a, b, bias, c, scratch;
  };

  BlockProduct(const BlockKey& key, const dnnl::matmul::primitive_desc& description, const dnnl::engine& engine,
               Team& team)
      : primitive_(description), has_bias_(key.bias) {
    const Descriptors operands = descriptors(key);
    for (int thread = 0; thread < team.size(); ++thread) {
      handles_.push_back({dnnl::stream(engine), memory(operands.a, engine, nullptr),
                          memory(operands.b, engine, nullptr), memory(operands.bias, engine, nullptr),
                          memory(operands.c, engine, nullptr),
                          memory(description.scratchpad_desc(), engine, team.scratch(thread))});
    }
  }

  dnnl::matmul primitive_;
  bool has_bias_;
  std::vector<ThreadHandles> handles_;
};

// The primitives that a team has prepared.
class BlockProducts {
 public:
  explicit BlockProducts(Team& team) : team_(team), engine_(dnnl::engine::kind::cpu, 0) {}

  void make(const BlockKey& key) {
    std::unique_ptr<BlockProduct>& slot = products_[key];
    if (slot == nullptr) slot = std::make_unique<BlockProduct>(key, engine_, team_);
  }
  const BlockProduct& find(const BlockKey& key) const {
    const auto found = products_.find(key);
    LAPTIME_CHECK(found != products_.end(), "a product of {} x {} x {} was not prepared", key.rows, key.columns,
                  key.depth);
    return *found->second;
  }

 private:
  Team& team_;
  dnnl::engine engine_;
  std::map<BlockKey, std::unique_ptr<BlockProduct>> products_;
};

std::string block_refusal(const BlockKey& key, const dnnl::engine& engine) {
  const dnnl::matmul::primitive_desc description = describe(key, engine);
  if (std::string_view(description.impl_info_str()).starts_with("ref"))
    return "oneDNN has only its reference kernel for bfloat16 on this processor";
  const auto scratch = static_cast<int64_t>(description.scratchpad_desc().get_size());
  if (scratch > Team::kScratchBytes)
    return fmt::format("oneDNN needs {} bytes of scratch memory per thread, but only {} are available", scratch,
                       Team::kScratchBytes);
  return "";
}

}  // namespace

std::string onednn_bfloat16_refusal(const GemmShape& shape, const BfloatForm& form) {
  if (std::string reason = onednn_layout_refusal(shape); !reason.empty()) return reason;
  const GemmCut cut(shape, kLimits);
  try {
    const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    for (const bool last_row : {false, true}) {
      for (const bool last_column : {false, true}) {
        if (std::string reason = block_refusal(key_of(shape, cut, last_row, last_column, form), engine);
            !reason.empty())
          return reason;
      }
    }
  } catch (const dnnl::error& error) {
    return fmt::format("oneDNN: {}", error.what());
  }
  return "";
}

void prepare_onednn_bfloat16(Team& team, const GemmShape& shape, const BfloatForm& form) {
  const GemmCut cut(shape, kLimits);
  auto& products = team.resident<BlockProducts>();
  try {
    for (const bool last_row : {false, true}) {
      for (const bool last_column : {false, true}) products.make(key_of(shape, cut, last_row, last_column, form));
    }
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
    throw Error::format("oneDNN cannot prepare a product of {} x {} x {}: {}", shape.m, shape.n, shape.k, error.what());
  }
}

void onednn_bfloat16_gemm(Team& team, const Gemm& gemm) {
  const GemmShape& shape = gemm.shape;
  const GemmCut cut(shape, kLimits);
  const BfloatForm form{gemm.bias.present, gemm.c_dtype == DType::kFloat32, gemm.addend.present};
  const auto& products = team.resident<BlockProducts>();
  // Indexed by whether the block is at the lower edge, and whether it is at the right edge.
  std::array<std::array<const BlockProduct*, 2>, 2> product{};
  for (const bool last_row : {false, true}) {
    for (const bool last_column : {false, true}) {
      product[last_row ? 1 : 0][last_column ? 1 : 0] = &products.find(key_of(shape, cut, last_row, last_column, form));
    }
  }
  const int64_t size = size_of(DType::kBFloat16);
  const auto multiply_block = [&](int64_t index, int thread) {
    const GemmBlock block = cut[index];
    const size_t last_row = block.row + block.rows == shape.m ? 1 : 0;
    const size_t last_column = block.column + block.columns == shape.n ? 1 : 0;
    product[last_row][last_column]->run(thread, gemm.a.data + position_in_a(shape, block) * size,
                                        gemm.b.data + position_in_b(shape, block) * size,
                                        form.bias ? gemm.bias.data + block.column * size : nullptr,
                                        gemm.c + position_in_c(shape, block) * size_of(gemm.c_dtype));
  };
  team.parallel_for(cut.count(), multiply_block, {shape.flops()});
}

}  // namespace laptime::cpu
