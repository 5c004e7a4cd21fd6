// Kernel trials with libraries that refuse kernels.
#include "measure/kernel_trial.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "base/error.h"
#include "support/points.h"
#include "support/twins.h"

namespace laptime {
namespace {

// Refuses each kernel of a library once.
class RefusingBackend : public cpu::CpuBackend {
 public:
  explicit RefusingBackend(std::shared_ptr<const KernelTable> kernels) : CpuBackend(std::move(kernels), 1) {}

  void prepare(const Kernel& kernel, const Signature& signature) override {
    if (kernel.library != nullptr && refused_.insert(&kernel).second) throw Error("the library refuses " + kernel.name);
    CpuBackend::prepare(kernel, signature);
  }

 private:
  std::set<const Kernel*> refused_;
};

TEST(KernelTrial, ThrowsTheRefusalIfLibrariesRefuseAllKernels) {
  const RunConfig config = test::point_of({{"d-model", "16"},
                                           {"num-layers", "1"},
                                           {"num-heads", "2"},
                                           {"vocab", "32"},
                                           {"context", "8"},
                                           {"batch", "1"},
                                           {"device", "cpu"},
                                           {"threads", "1"}})
                               .config;
  Device device = test::find_device_with_twins(config);
  std::vector<Kernel> kernels;
  for (const OpCard* const op : device.kernels->ops()) {
    for (const Kernel& kernel : device.kernels->of(*op)) {
      kernels.push_back(kernel);
      if (kernel.name != kReferenceName) kernels.back().library = "a library";
    }
  }
  device.kernels = std::make_shared<const KernelTable>(std::move(kernels));
  RefusingBackend backend(device.kernels);
  const Prepared prepared = prepare(config, device, {});
  EXPECT_THROW(try_kernels(prepared, backend), Error);
}

}  // namespace
}  // namespace laptime
