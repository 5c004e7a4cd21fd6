// The CUDA backend on the fake GPU of tests/fake_cuda: memory, launches, marks, limits, sensors and failures.
#include "backend/cuda/cuda_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "ops/kernels_cuda.h"
#include "ops/pointwise/pointwise.h"

namespace laptime::test {
namespace {

using cuda::CudaBackend;
using testing::Each;
using testing::HasSubstr;

constexpr std::array<std::byte, 1> kImage{};  // the fake GPU does not read the image

class Cuda : public testing::Test {
 protected:
  std::unique_ptr<CudaBackend> open() {
    return std::make_unique<CudaBackend>(found_.driver, cuda::find_libraries(), cuda::nth_card(*found_.driver, 0),
                                         kernels_, kImage);
  }

  cuda::FoundDriver found_ = cuda::find_driver();
  std::shared_ptr<const KernelTable> kernels_ = std::make_shared<KernelTable>(cuda_kernels());
};

std::vector<float> floats_of(Backend& backend, DeviceMemory& memory, size_t count) {
  std::vector<float> values(count);
  backend.read(reinterpret_cast<std::byte*>(values.data()), memory.data(), static_cast<int64_t>(4 * count));
  return values;
}

TEST_F(Cuda, FindsTheGpu) {
  ASSERT_EQ(found_.missing, "");
  const cuda::Card card = cuda::nth_card(*found_.driver, 0);
  EXPECT_EQ(card.name, "fake card");
  EXPECT_EQ(card.compute_capability, 90);
  EXPECT_EQ(card.memory_bytes, int64_t{4} << 30);
  EXPECT_EQ(card.uuid.size(), 32U);
}

TEST_F(Cuda, AllocationsAreInitialisedAndCounted) {
  const auto backend = open();
  auto zeros = backend->allocate(400);
  EXPECT_THAT(floats_of(*backend, *zeros, 100), Each(0.0F));
  {
    const auto nan = backend->allocate(40, Contents::kNan);
    EXPECT_THAT(floats_of(*backend, *nan, 10), Each(testing::IsNan()));
    EXPECT_EQ(backend->peak_held_bytes(), 440);
  }
  backend->reset_peak_held_bytes();
  EXPECT_EQ(backend->peak_held_bytes(), 400);
  EXPECT_NE(backend->allocate(0)->data(), nullptr);
}

TEST_F(Cuda, AllocationBeyondDeviceMemoryThrows) {
  const auto backend = open();
  try {
    backend->allocate(int64_t{5} << 30);
    FAIL();
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.bytes_requested(), int64_t{5} << 30);
    EXPECT_EQ(error.bytes_available(), (int64_t{4} << 30) - int64_t{cuda::BlasProducts::kWorkspaceBytes});
  }
}

// Elements in GPU memory with the initial value 2. Each launch squares them in place.
class Squares {
 public:
  explicit Squares(CudaBackend& backend) : backend_(backend), memory_(backend.allocate(4 * kCount)) {
    std::vector<float> start(kCount, 2.0F);
    backend.write(memory_->data(), reinterpret_cast<const std::byte*>(start.data()), 4 * kCount);
  }
  void enqueue() {
    const Kernel& kernel = backend_.kernels(kSquare)[0];
    const TensorView x{memory_->data(), contiguous_type(DType::kFloat32, {kCount})};
    const Attributes none;
    backend_.launch({.kernel = &kernel, .attributes = &none, .in = {&x, 1}, .out = {&x, 1}});
  }
  std::vector<float> values() { return floats_of(backend_, *memory_, kCount); }

  static constexpr int64_t kCount = 1000;

 private:
  CudaBackend& backend_;
  std::unique_ptr<DeviceMemory> memory_;
};

TEST_F(Cuda, TransfersWaitForEarlierLaunches) {
  const auto backend = open();
  Squares squares(*backend);
  for (int times = 0; times < 3; ++times) squares.enqueue();
  EXPECT_THAT(squares.values(), Each(256.0F));
}

TEST_F(Cuda, MarksWaitForEarlierWork) {
  const auto backend = open();
  Squares squares(*backend);
  const Seconds begin = backend->now();
  backend->mark(0);
  squares.enqueue();
  backend->pause(Seconds{0.02});
  backend->mark(2);
  backend->mark(1);
  backend->synchronize();
  const Seconds end = backend->now();
  EXPECT_GE(backend->time_of_mark(0), begin);
  EXPECT_GE((backend->time_of_mark(2) - backend->time_of_mark(0)).count(), 0.019);
  EXPECT_GE(backend->time_of_mark(1), backend->time_of_mark(2));
  EXPECT_GE(end, backend->time_of_mark(1));
}

// Executor::cost_of_mark() relies on this when it times marks with lower indices than an existing mark.
TEST_F(Cuda, MarksWithLowerIndicesCreateNoEvents) {
  static int created = 0;
  static const auto create = found_.driver->cuEventCreate;
  auto driver = std::make_shared<cuda::Driver>(*found_.driver);
  driver->cuEventCreate = [](cuda::EventHandle* event, unsigned flags) {
    ++created;
    return create(event, flags);
  };
  CudaBackend backend(driver, {}, cuda::nth_card(*driver, 0), kernels_, kImage);
  backend.mark(9);
  const int before = created;
  for (size_t index = 0; index < 9; ++index) backend.mark(index);
  EXPECT_EQ(created, before);
  backend.synchronize();
  EXPECT_GE(backend.time_of_mark(0), backend.time_of_mark(9));
}

TEST_F(Cuda, RecordingReplaysLaunchesAndMarks) {
  CudaBackend backend(found_.driver, {}, cuda::nth_card(*found_.driver, 0), kernels_, kImage, {.records_steps = true});
  Squares squares(backend);
  const std::unique_ptr<Recording> recording = backend.record([&] {
    backend.mark(0);
    squares.enqueue();
    backend.pause(Seconds{0.01});
    backend.mark(1);
  });
  ASSERT_NE(recording, nullptr);
  EXPECT_THAT(squares.values(), Each(2.0F));
  Seconds last{};
  for (const float expected : {4.0F, 16.0F, 256.0F}) {
    recording->run();
    backend.synchronize();
    EXPECT_THAT(squares.values(), Each(expected));
    EXPECT_GT(backend.time_of_mark(0), last);
    EXPECT_GE((backend.time_of_mark(1) - backend.time_of_mark(0)).count(), 0.009);
    last = backend.time_of_mark(1);
  }
}

// Vectors in one block of memory, and a random sequence of subtractions of these vectors.
class Differences {
 public:
  explicit Differences(CudaBackend& backend) : backend_(backend), memory_(backend.allocate(4 * kVectors * kCount)) {
    std::mt19937 draw(7);
    for (Difference& one : sequence_) {
      for (int* const vector : {&one.left, &one.right, &one.result}) *vector = static_cast<int>(draw() % kVectors);
    }
  }
  std::vector<float> start() const {
    std::vector<float> values(kVectors * kCount);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 37);
    return values;
  }
  void write(const std::vector<float>& values) {
    backend_.write(memory_->data(), reinterpret_cast<const std::byte*>(values.data()), 4 * kVectors * kCount);
  }
  std::vector<float> read() { return floats_of(backend_, *memory_, kVectors * kCount); }
  void enqueue() {
    const Attributes none;
    const auto view = [&](int vector) {
      return TensorView{memory_->data() + 4 * kCount * vector, contiguous_type(DType::kFloat32, {kCount})};
    };
    for (const Difference& one : sequence_) {
      const std::array<TensorView, 2> in{view(one.left), view(one.right)};
      const TensorView out = view(one.result);
      backend_.launch({.kernel = &backend_.kernels(kSub)[0], .attributes = &none, .in = in, .out = {&out, 1}});
    }
  }
  // The values after all subtractions.
  std::vector<float> expected() const {
    std::vector<float> values = start();
    const auto at = [&](int vector, int64_t i) -> float& { return values[static_cast<size_t>(vector * kCount + i)]; };
    for (const Difference& one : sequence_) {
      for (int64_t i = 0; i < kCount; ++i) at(one.result, i) = at(one.left, i) - at(one.right, i);
    }
    return values;
  }

 private:
  static constexpr int64_t kVectors = 12, kCount = 20;
  struct Difference {
    int left = 0, right = 0, result = 0;
  };
  CudaBackend& backend_;
  std::unique_ptr<DeviceMemory> memory_;
  std::array<Difference, 50> sequence_;
};

TEST_F(Cuda, RecordingOrdersLaunchesThatShareBytes) {
  CudaBackend backend(found_.driver, {}, cuda::nth_card(*found_.driver, 0), kernels_, kImage, {.records_steps = true});
  Differences differences(backend);
  for (const bool latest_first : {false, true}) {
    if (latest_first) setenv("LAPTIME_FAKE_CUDA_EAGER", "1", 1);
    const std::unique_ptr<Recording> recording = backend.record([&] {
      backend.mark(0);
      differences.enqueue();
      backend.mark(1);
    });
    for (int run = 0; run < 2; ++run) {
      differences.write(differences.start());
      recording->run();
      backend.synchronize();
      EXPECT_EQ(differences.read(), differences.expected()) << latest_first;
      EXPECT_LE(backend.time_of_mark(0), backend.time_of_mark(1));
    }
  }
  unsetenv("LAPTIME_FAKE_CUDA_EAGER");
}

// Launches that change a number that is not among their operands. Only a mark between two launches orders them.
struct Unordered {
  static inline TensorView number;
  static inline const Kernel* square = nullptr;
  static inline const Kernel* add = nullptr;

  static void run_square(const KernelCall& call) {
    square->launch({*square->op, call.attributes, {&number, 1}, {&number, 1}, nullptr, call.queue});
  }
  static void run_double(const KernelCall& call) {
    const std::array<TensorView, 2> twice{number, number};
    add->launch({*add->op, call.attributes, twice, {&number, 1}, nullptr, call.queue});
  }
};

TEST_F(Cuda, IndependentRecordedLaunchesMayRunInAnyOrder) {
  CudaBackend backend(found_.driver, {}, cuda::nth_card(*found_.driver, 0), kernels_, kImage, {.records_steps = true});
  const std::unique_ptr<DeviceMemory> memory = backend.allocate(8);
  Unordered::number = {memory->data(), contiguous_type(DType::kFloat32, {1})};
  Unordered::square = &backend.kernels(kSquare)[0];
  Unordered::add = &backend.kernels(kAdd)[0];
  const Kernel square{.op = &kSquare, .name = "square", .launch = Unordered::run_square};
  const Kernel twice{.op = &kAdd, .name = "double", .launch = Unordered::run_double};
  const Attributes none;
  const auto value_after = [&](bool latest_first, bool has_mark) {
    if (latest_first) setenv("LAPTIME_FAKE_CUDA_EAGER", "1", 1);
    const std::unique_ptr<Recording> recording = backend.record([&] {
      backend.mark(0);
      backend.launch({.kernel = &square, .attributes = &none, .in = {}, .out = {}});
      if (has_mark) backend.mark(1);
      backend.launch({.kernel = &twice, .attributes = &none, .in = {}, .out = {}});
      backend.mark(2);
    });
    const float two = 2;
    backend.write(memory->data(), reinterpret_cast<const std::byte*>(&two), 4);
    recording->run();
    backend.synchronize();
    unsetenv("LAPTIME_FAKE_CUDA_EAGER");
    return floats_of(backend, *memory, 1)[0];
  };
  EXPECT_EQ(value_after(false, false), 8);
  EXPECT_EQ(value_after(true, false), 16);
  EXPECT_EQ(value_after(true, true), 8);
}

TEST_F(Cuda, LaunchesRunAfterAFailedRecording) {
  CudaBackend backend(found_.driver, {}, cuda::nth_card(*found_.driver, 0), kernels_, kImage, {.records_steps = true});
  Squares squares(backend);
  const auto fail = [&] {
    squares.enqueue();
    throw Error("failed");
  };
  EXPECT_THROW(backend.record(fail), Error);
  squares.enqueue();
  EXPECT_THAT(squares.values(), Each(4.0F));
  const std::unique_ptr<Recording> recording = backend.record([&] { squares.enqueue(); });
  recording->run();
  EXPECT_THAT(squares.values(), Each(16.0F));
}

TEST_F(Cuda, RecordThrowsOutOfMemoryIfMemoryIsFull) {
  CudaBackend backend(found_.driver, {}, cuda::nth_card(*found_.driver, 0), kernels_, kImage, {.records_steps = true});
  Squares squares(backend);
  setenv("LAPTIME_FAKE_CUDA_TAKEN", std::to_string(int64_t{4} << 30).c_str(), 1);
  EXPECT_THROW(backend.record([&] { squares.enqueue(); }), OutOfMemory);
  unsetenv("LAPTIME_FAKE_CUDA_TAKEN");
  squares.enqueue();
  EXPECT_THAT(squares.values(), Each(4.0F));
}

TEST_F(Cuda, ActivityRecordsGiveBusyTime) {
  const auto backend = open();
  Squares squares(*backend);
  squares.enqueue();
  squares.values();  // waits for the launch, so that the activity records exclude it
  const Activities activities = backend->watch([&] {
    squares.enqueue();
    backend->pause(Seconds{0.05});
    squares.enqueue();
    backend->synchronize();
  });
  EXPECT_EQ(activities.missing, "");
  EXPECT_EQ(activities.kernels, 2);
  EXPECT_EQ(activities.copies, 0);
  EXPECT_GT(activities.busy.count(), 0);
  const Activities of_memory = backend->watch([&] { backend->allocate(100); });
  EXPECT_EQ(of_memory.copies, 1);
}

TEST_F(Cuda, PoolTracksRequestedAndReservedBytes) {
  CudaBackend backend(found_.driver, {}, cuda::nth_card(*found_.driver, 0), kernels_, kImage, {.pools_steps = true});
  EXPECT_EQ(open()->step_pool(), nullptr);
  {
    const std::unique_ptr<StepPool> pool = backend.step_pool();
    std::byte* const first = pool->allocate(1000);
    std::byte* const second = pool->allocate(500);
    pool->free(first);
    pool->free(pool->allocate(100));
    EXPECT_EQ(pool->peak_requested_bytes(), 1500);
    EXPECT_EQ(pool->peak_reserved_bytes(), 2 << 20);
    EXPECT_EQ(backend.peak_held_bytes(), 1500);
    pool->free(second);
    EXPECT_THROW(pool->allocate(int64_t{5} << 30), OutOfMemory);
  }
  backend.reset_peak_held_bytes();
  EXPECT_EQ(backend.peak_held_bytes(), 0);
}

TEST_F(Cuda, FreedBytesStayValidForEarlierLaunches) {
  CudaBackend backend(found_.driver, {}, cuda::nth_card(*found_.driver, 0), kernels_, kImage, {.pools_steps = true});
  const std::unique_ptr<DeviceMemory> result = backend.allocate(40);
  const std::unique_ptr<StepPool> pool = backend.step_pool();
  std::byte* const passing = pool->allocate(40);
  const std::vector<float> start(10, 3.0F);
  backend.write(passing, reinterpret_cast<const std::byte*>(start.data()), 40);
  const TensorView from{passing, contiguous_type(DType::kFloat32, {10})};
  const TensorView to{result->data(), contiguous_type(DType::kFloat32, {10})};
  const Attributes none;
  backend.launch({.kernel = &backend.kernels(kSquare)[0], .attributes = &none, .in = {&from, 1}, .out = {&to, 1}});
  pool->free(passing);
  EXPECT_THAT(floats_of(backend, *result, 10), Each(9.0F));
}

TEST_F(Cuda, MeasuresDeviceLimits) {
  const auto backend = open();
  std::map<std::string, double> values;
  for (const DType factors : {DType::kFloat32, DType::kBFloat16}) {
    for (const DeviceLimit& limit : backend->limits(factors)) values[limit.name] = limit.measure().value;
  }
  EXPECT_THAT(values, testing::SizeIs(3));  // both types have the same bandwidth limit
  for (const auto& [name, value] : values) EXPECT_GT(value, 0) << name;
  EXPECT_TRUE(values.contains("bfloat16_product_flops_per_second/cublaslt"));
  CudaBackend tf32(found_.driver, cuda::find_libraries(), cuda::nth_card(*found_.driver, 0), kernels_, kImage,
                   {.tf32 = true});
  EXPECT_EQ(tf32.limits(DType::kFloat32).back().name, "tf32_product_flops_per_second/cublaslt");
  CudaBackend without(found_.driver, {}, cuda::nth_card(*found_.driver, 0), kernels_, kImage);
  EXPECT_EQ(without.limits(DType::kFloat32).size(), 1U);  // only the bandwidth limit, because there is no cuBLASLt
}

TEST_F(Cuda, ReadsTheSensorsOfTheGpu) {
  const auto backend = open();
  const Sensors before = backend->sensors().value();
  const Sensors after = backend->sensors().value();
  EXPECT_EQ(before.clock_hz, 1.98e9);
  EXPECT_EQ(before.memory_clock_hz, 3.201e9);
  EXPECT_EQ(before.power_watts, 300);
  EXPECT_EQ(before.temperature_celsius, 55);
  EXPECT_DOUBLE_EQ(*after.joules - *before.joules, 2);
  EXPECT_EQ(before.other_processes, 1);
  EXPECT_FALSE(before.uncorrected_errors);
  EXPECT_TRUE(before.slowed_by.empty());  // an idle GPU is not throttled
}

// Launches a kernel that does not exist.
void launch_unknown(const KernelCall& call) {
  static_cast<cuda::Queue&>(call.queue).launch({.kernel = "unknown_kernel", .blocks = 1, .threads = 32});
}

TEST_F(Cuda, FailedLaunchThrowsAtTheNextSynchronize) {
  const auto backend = open();
  const Kernel kernel{.op = &kSquare, .name = "unknown", .launch = launch_unknown};
  const Attributes none;
  backend->launch({.kernel = &kernel, .attributes = &none, .in = {}, .out = {}});
  try {
    backend->synchronize();
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("unknown_kernel failed: named symbol not found"));
  }
  backend->synchronize();  // does not throw, because the error has been reported
}

TEST_F(Cuda, LaunchThatLacksMemoryThrowsOutOfMemory) {
  auto driver = std::make_shared<cuda::Driver>(*found_.driver);
  driver->cuLaunchKernel = [](auto...) { return cuda::kOutOfMemory; };
  CudaBackend backend(driver, {}, cuda::nth_card(*driver, 0), kernels_, kImage);
  Squares squares(backend);
  squares.enqueue();
  EXPECT_THROW(backend.synchronize(), OutOfMemory);
}

}  // namespace
}  // namespace laptime::test
