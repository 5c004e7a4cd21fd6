// Cards of collective communication. The byte count of an op is the number of bytes that this rank sends, which is the
// minimum for an all-reduce, a reduce-scatter or an all-gather of this size (Rabenseifner 2004).
#include "ops/collective/collective.h"

namespace laptime {
namespace {

void check_operand(const TensorType& type) {
  LAPTIME_CHECK(type.layout.is_contiguous(), "communicated tensor {} is not contiguous", type.text());
}

std::vector<TensorType> infer_same(const Attributes&, std::span<const TensorType> in) {
  for (const TensorType& type : in) check_operand(type);
  return {in.begin(), in.end()};
}

// Returns the type of a view of the rank's chunk, given the type of the whole tensor.
TensorType chunk_in(const TensorType& whole, const GroupAttributes& group) {
  const int64_t chunk = whole.numel() / group.ranks;
  LAPTIME_CHECK(chunk * group.ranks == whole.numel(), "{} ranks cannot divide {} into equal chunks", group.ranks,
                whole.text());
  TensorType type = contiguous_type(whole.dtype, {chunk});
  type.layout.offset = whole.layout.offset + group.rank * chunk;
  return type;
}

std::vector<TensorType> infer_chunks_in_place(const Attributes& attributes, std::span<const TensorType> in) {
  std::vector<TensorType> out;
  out.reserve(in.size());
  for (const TensorType& type : in) {
    check_operand(type);
    out.push_back(chunk_in(type, attributes.as<GroupAttributes>()));
  }
  return out;
}

std::vector<TensorType> infer_chunks(const Attributes& attributes, std::span<const TensorType> in) {
  std::vector<TensorType> out = infer_chunks_in_place(attributes, in);
  for (TensorType& type : out) type.layout.offset = 0;
  return out;
}

std::vector<TensorType> infer_gathered(const Attributes& attributes, std::span<const TensorType> in) {
  std::vector<TensorType> out;
  out.reserve(in.size());
  for (const TensorType& type : in) {
    check_operand(type);
    out.push_back(contiguous_type(type.dtype, {attributes.as<GroupAttributes>().ranks * type.numel()}));
  }
  return out;
}

std::vector<TensorType> infer_gathered_in_place(const Attributes& attributes, std::span<const TensorType> in) {
  std::vector<TensorType> out = infer_gathered(attributes, in);
  for (size_t i = 0; i < in.size(); ++i) {
    out[i].layout.offset = in[i].layout.offset - attributes.as<GroupAttributes>().rank * in[i].numel();
    LAPTIME_CHECK(out[i].layout.offset >= 0, "{} is not this rank's chunk of a tensor", in[i].text());
  }
  return out;
}

int64_t bytes_of_inputs(const Signature& s) {
  Size bytes;
  for (const TensorType& type : s.in) bytes += type.bytes();
  return bytes.value();
}

// The concatenated tensors are divided into one chunk per rank. Each rank first sends every chunk but its own to the
// rank that sums that chunk, and then sends its own summed chunk to all other ranks.
int64_t all_reduce_bytes(const Signature& s) {
  const auto& group = s.attributes.as<GroupAttributes>();
  Size elements;
  for (const TensorType& type : s.in) elements += type.numel();
  const int64_t chunk = chunk_begin(elements.value(), group.ranks, group.rank + 1) -
                        chunk_begin(elements.value(), group.ranks, group.rank);
  return ((elements + Size(chunk) * (group.ranks - 2)) * size_of(s.in[0].dtype)).value();
}

int64_t reduce_scatter_bytes(const Signature& s) {
  const auto& group = s.attributes.as<GroupAttributes>();
  return bytes_of_inputs(s) / group.ranks * (group.ranks - 1);
}

int64_t all_gather_bytes(const Signature& s) {
  return (Size(bytes_of_inputs(s)) * (s.attributes.as<GroupAttributes>().ranks - 1)).value();
}

double sum_flops(const Signature& s) {
  const auto& group = s.attributes.as<GroupAttributes>();
  double elements = 0;
  for (const TensorType& type : s.in) elements += static_cast<double>(type.numel());
  return elements * static_cast<double>(group.ranks - 1) / static_cast<double>(group.ranks);
}

}  // namespace

const OpCard kWaitForRanks = {.name = "wait_for_ranks",
                              .kind = OpKind::kWait,
                              .infer = infer_same,
                              .bytes = [](const Signature&) { return int64_t{0}; },
                              .updates_each = true};
const OpCard kAllReduce = {.name = "all_reduce",
                           .kind = OpKind::kCommunication,
                           .infer = infer_same,
                           .flops = sum_flops,
                           .bytes = all_reduce_bytes,
                           .updates_each = true,
                           .wait = &kWaitForRanks};
const OpCard kReduceScatter = {.name = "reduce_scatter",
                               .kind = OpKind::kCommunication,
                               .infer = infer_chunks,
                               .flops = sum_flops,
                               .bytes = reduce_scatter_bytes,
                               .wait = &kWaitForRanks};
const OpCard kReduceScatterInPlace = {.name = "reduce_scatter_in_place",
                                      .kind = OpKind::kCommunication,
                                      .infer = infer_chunks_in_place,
                                      .flops = sum_flops,
                                      .bytes = reduce_scatter_bytes,
                                      .updates_each = true,
                                      .wait = &kWaitForRanks};
const OpCard kAllGather = {.name = "all_gather",
                           .kind = OpKind::kCommunication,
                           .infer = infer_gathered,
                           .bytes = all_gather_bytes,
                           .wait = &kWaitForRanks,
                           .is_made_where_read = true};
const OpCard kAllGatherInPlace = {.name = "all_gather_in_place",
                                  .kind = OpKind::kCommunication,
                                  .infer = infer_gathered_in_place,
                                  .bytes = all_gather_bytes,
                                  .updates_each = true,
                                  .wait = &kWaitForRanks};

std::string collective_refusal(const Signature& signature) {
  for (const TensorType& type : signature.in) {
    if (type.dtype != DType::kFloat32) return "not float32";
    if (!type.layout.is_contiguous()) return "not contiguous";
  }
  return {};
}

std::span<const OpCard* const> collective_cards() {
  static constexpr const OpCard* kCards[] = {&kAllReduce, &kReduceScatter,    &kReduceScatterInPlace,
                                             &kAllGather, &kAllGatherInPlace, &kWaitForRanks};
  return kCards;
}

}  // namespace laptime
