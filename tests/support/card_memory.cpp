// Moves tensors between the host and a device.
#include "support/card_memory.h"

#include "base/error.h"

namespace laptime::test {

void CardMemory::put(GuardedTensor& tensor) {
  constexpr size_t kAlignment = 64;  // alignment of the elements, as on the host
  const std::span<std::byte> bytes = tensor.with_guards();
  const size_t before = static_cast<size_t>(tensor.view().data - bytes.data());
  Copy copy{&tensor, card_.allocate(static_cast<int64_t>(bytes.size() + kAlignment)), nullptr};
  copy.begin = copy.memory->data() + (kAlignment - before % kAlignment) % kAlignment;
  card_.write(copy.begin, bytes.data(), static_cast<int64_t>(bytes.size()));
  copies_[tensor.view().data] = std::move(copy);
}

TensorView CardMemory::on_card(const TensorView& view) const {
  if (view.data == nullptr) return view;
  const auto found = copies_.find(view.data);
  LAPTIME_CHECK(found != copies_.end(), "{} was not put", view.type.text());
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
