// CardMemory: copies of tensors in device memory, including their guard zones.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "support/operand.h"

namespace laptime::test {

class CardMemory {
 public:
  explicit CardMemory(Backend& card) : card_(card) {}

  // Copies a tensor to the device. The tensor must outlive this object.
  void put(GuardedTensor& tensor);
  // Returns the view of the device copy that corresponds to `view`, which must show a tensor passed to put(). A view
  // without memory is returned unchanged.
  TensorView on_card(const TensorView& view) const;
  std::vector<TensorView> on_card(const std::vector<TensorView>& views) const;
  // Copies all tensors back to the host.
  void fetch();

 private:
  struct Copy {
    GuardedTensor* tensor = nullptr;
    std::byte* begin = nullptr;  // start of the guard zone before the elements
  };

  std::byte* take(int64_t bytes);

  Backend& card_;
  int64_t taken_ = 0;                                 // bytes used in the block that all launches share
  std::vector<std::unique_ptr<DeviceMemory>> large_;  // for tensors that do not fit in the shared block
  std::map<const std::byte*, Copy> copies_;           // keyed by the address of the elements on the host
};

}  // namespace laptime::test
