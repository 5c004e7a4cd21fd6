// Moves tensors between the host and a device.
#include "support/card_memory.h"

#include "base/checked.h"
#include "base/error.h"

namespace laptime::test {

namespace {

constexpr size_t kAlignment = 64;  // alignment of the elements in bytes, as on the host
constexpr int64_t kSharedBytes = int64_t{64} << 20;

}  // namespace

// Allocating and freeing device memory takes longer than a small kernel, so launches share one block. Old contents
// do no harm, because every byte of a tensor is written before the kernel runs.
std::byte* CardMemory::take(int64_t bytes) {
  static std::map<Backend*, std::unique_ptr<DeviceMemory>> shared;
  if (taken_ + bytes > kSharedBytes) {
    large_.push_back(card_.allocate(bytes));
    return large_.back()->data();
  }
  std::unique_ptr<DeviceMemory>& memory = shared[&card_];
  if (memory == nullptr) memory = card_.allocate(kSharedBytes);
  std::byte* const at = memory->data() + taken_;
  taken_ += align_up(bytes, int64_t{kAlignment});
  return at;
}

void CardMemory::put(GuardedTensor& tensor) {
  const std::span<std::byte> bytes = tensor.with_guards();
  const size_t before = static_cast<size_t>(tensor.view().data - bytes.data());
  std::byte* const memory = take(static_cast<int64_t>(bytes.size() + kAlignment));
  const Copy copy{&tensor, memory + (kAlignment - before % kAlignment) % kAlignment};
  card_.write(copy.begin, bytes.data(), static_cast<int64_t>(bytes.size()));
  copies_[tensor.view().data] = copy;
}

TensorView CardMemory::on_card(const TensorView& view) const {
  if (view.data == nullptr) return view;
  const auto found = copies_.find(view.data);
  LAPTIME_CHECK(found != copies_.end(), "{} was not passed to put()", view.type.text());
  const Copy& copy = found->second;
  return {copy.begin + (view.data - copy.tensor->with_guards().data()), view.type};
}

std::vector<TensorView> CardMemory::on_card(const std::vector<TensorView>& views) const {
  std::vector<TensorView> copies;
  copies.reserve(views.size());
  for (const TensorView& view : views) copies.push_back(on_card(view));
  return copies;
}

void CardMemory::fetch() {
  for (auto& [address, copy] : copies_) {
    const std::span<std::byte> bytes = copy.tensor->with_guards();
    card_.read(bytes.data(), copy.begin, static_cast<int64_t>(bytes.size()));
  }
}

}  // namespace laptime::test
