// Communication between fake GPUs: order, times, recordings and failures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.h"
#include "ops/collective/collective.h"
#include "ops/pointwise/pointwise.h"
#include "support/cuda/fake_ranks.h"
#include "support/types.h"

namespace laptime::test {
namespace {

using cuda::CudaBackend;
using testing::Each;
using testing::HasSubstr;

// A vector in GPU memory that a kernel doubles and a collective sums over the ranks.
class Summed {
 public:
  Summed(CudaBackend& backend, const LocalGroup& group)
      : backend_(backend),
        memory_(backend.allocate(4 * kCount)),
        view_{memory_->data(), floats({kCount})},
        sum_attributes_(GroupAttributes{group.size(), group.rank()}) {
    write(1);
  }
  void write(float value) {
    const std::vector<float> values(kCount, value);
    backend_.write(memory_->data(), reinterpret_cast<const std::byte*>(values.data()), 4 * kCount);
  }
  std::vector<float> values() {
    std::vector<float> values(kCount);
    backend_.read(reinterpret_cast<std::byte*>(values.data()), memory_->data(), 4 * kCount);
    return values;
  }
  void enqueue_double() {
    const std::array<TensorView, 2> in{view_, view_};
    launch(kAdd, in, {}, false);
  }
  void enqueue_sum() { launch(kAllReduce, {&view_, 1}, sum_attributes_, true); }

 private:
  static constexpr int64_t kCount = 300;

  void launch(const OpCard& op, std::span<const TensorView> in, const Attributes& attributes, bool communicates) {
    backend_.launch({.kernel = &backend_.kernels(op).front(),
                     .attributes = &attributes,
                     .in = in,
                     .out = {&view_, 1},
                     .communicates = communicates});
  }

  CudaBackend& backend_;
  std::unique_ptr<DeviceMemory> memory_;
  TensorView view_;
  Attributes sum_attributes_;
};

TEST(CudaCommunication, IsOrderedWithKernels) {
  for (const bool eager : {false, true}) {
    if (eager) setenv("LAPTIME_FAKE_CUDA_EAGER", "1", 1);
    run_cuda_ranks(2, 2, {}, [](CudaBackend& backend, LocalGroup& group) {
      Summed x(backend, group);
      x.enqueue_double();  // each element is now 2
      x.enqueue_sum();     // 4
      x.enqueue_sum();     // 8
      backend.wait_for_communication(2);
      x.enqueue_double();  // 16
      backend.synchronize();
      EXPECT_THAT(x.values(), Each(16.0F));
    });
  }
  unsetenv("LAPTIME_FAKE_CUDA_EAGER");
}

TEST(CudaCommunication, RecordsTheTimesOfLaunchesAndWaits) {
  run_cuda_ranks(2, 2, {}, [](CudaBackend& backend, LocalGroup& group) {
    Summed x(backend, group);
    const Seconds begin = backend.now();
    x.enqueue_sum();
    if (group.rank() == 1) backend.pause(Seconds{0.02});
    x.enqueue_sum();
    backend.wait_for_communication(1);
    backend.wait_for_communication(2);
    backend.synchronize();
    const Seconds end = backend.now();
    const CommunicationTimes times = backend.communication_times();
    ASSERT_EQ(times.launches.size(), 2U);
    EXPECT_LE(begin, times.launches[0].begin);
    EXPECT_LE(times.launches[0].begin, times.launches[0].end);
    EXPECT_LE(times.launches[0].end, times.launches[1].begin);
    EXPECT_LE(times.launches[1].end, end);
    EXPECT_GT(times.waited.count(), 0);
    EXPECT_LE(times.waited, end - begin);
    backend.synchronize();
    EXPECT_EQ(backend.communication_times().launches.size(), 2U)
        << "a synchronization without launches changed the times";
  });
}

TEST(CudaCommunication, RecordingIncludesCommunication) {
  run_cuda_ranks(2, 2, {.records_steps = true}, [](CudaBackend& backend, LocalGroup& group) {
    Summed x(backend, group);
    const std::unique_ptr<Recording> recording = backend.record([&] {
      backend.mark(0);
      x.enqueue_double();
      x.enqueue_sum();
      backend.wait_for_communication(1);
      backend.mark(1);
    });
    EXPECT_THAT(x.values(), Each(1.0F));
    for (const float expected : {4.0F, 16.0F, 64.0F}) {
      recording->run();
      backend.synchronize();
      EXPECT_THAT(x.values(), Each(expected));
      const CommunicationTimes times = backend.communication_times();
      ASSERT_EQ(times.launches.size(), 1U);
      EXPECT_LE(backend.time_of_mark(0), times.launches[0].begin);
      EXPECT_LE(times.launches[0].end, backend.time_of_mark(1));
    }
    x.enqueue_sum();
    backend.wait_for_communication(1);
    backend.synchronize();
    EXPECT_THAT(x.values(), Each(128.0F));
  });
}

TEST(CudaCommunication, RejectsARecordingThatDoesNotWaitForCommunication) {
  run_cuda_ranks(2, 2, {.records_steps = true}, [](CudaBackend& backend, LocalGroup& group) {
    Summed x(backend, group);
    EXPECT_THROW(backend.record([&] { x.enqueue_sum(); }), Error);
  });
}

TEST(CudaCommunication, NcclFailureThrowsAndAbortsCollectives) {
  setenv("LAPTIME_FAKE_NCCL_FAIL", "6@2", 1);
  run_cuda_ranks(2, 2, {}, [](CudaBackend& backend, LocalGroup& group) {
    Summed x(backend, group);
    x.enqueue_sum();
    x.enqueue_sum();
    backend.wait_for_communication(2);
    try {
      backend.synchronize();
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("communication with another rank failed: remote process exited"));
    }
  });
  unsetenv("LAPTIME_FAKE_NCCL_FAIL");
}

TEST(CudaCommunication, RejectsRanksThatShareAGpu) {
  setenv("LAPTIME_FAKE_CUDA_CARDS", "1", 1);
  const cuda::FoundDriver found = cuda::find_driver();
  run_ranks(2, [&](LocalGroup& group) {
    CudaBackend backend(found.driver, {}, cuda::nth_card(*found.driver, 0),
                        std::make_shared<KernelTable>(cuda_kernels()), std::array<std::byte, 1>{});
    try {
      backend.join(group);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("Duplicate GPU"));
    }
  });
  unsetenv("LAPTIME_FAKE_CUDA_CARDS");
}

}  // namespace
}  // namespace laptime::test
