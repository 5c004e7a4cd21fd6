// Runs cuDNN attention with the fake library of tests/fake_cuda. Also makes plans with the real library, without a GPU.
#include "backend/cuda/libraries/dnn_attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/error.h"
#include "support/error_of.h"

namespace laptime::test {
namespace {

using cuda::Dnn;
using cuda::DnnAttention;
using cuda::DnnAttentions;
using testing::HasSubstr;

// In memory, the heads of each position are adjacent, as in a model.
DnnAttention attention_of(int64_t batch, int64_t heads, int64_t kv_heads, int64_t positions, int64_t width) {
  const DnnAttention::Strides strides{positions * heads * width, width, heads * width};
  const DnnAttention::Strides of_keys{positions * kv_heads * width, width, kv_heads * width};
  return {.batch = batch,
          .heads = heads,
          .kv_heads = kv_heads,
          .positions = positions,
          .width = width,
          .q = strides,
          .k = of_keys,
          .v = of_keys,
          .values = strides,
          .grad_values = strides,
          .grad_q = strides,
          .grad_k = of_keys,
          .grad_v = of_keys};
}

// Sets an environment variable for the lifetime of the object.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;
  ~Setting() { unsetenv(name_); }

 private:
  const char* name_;
};

std::string error_of(DnnAttentions& attentions, const DnnAttention& attention) {
  return test::error_of([&] { attentions.prepare(attention); });
}

TEST(DnnAttention, IgnoresOldOrMissingLibrary) {
  EXPECT_NE(cuda::find_dnn(), nullptr);
  EXPECT_EQ(cuda::find_dnn("libcudnn_of_nobody.so.9"), nullptr);
  const Setting old("LAPTIME_FAKE_CUDNN_VERSION", "91002");
  EXPECT_EQ(cuda::find_dnn(), nullptr);
}

TEST(DnnAttention, ErrorNamesUnsupportedShape) {
  DnnAttentions attentions(cuda::find_dnn());
  DnnAttention attention = attention_of(1, 2, 2, 16, 8);
  attention.backward = true;
  {
    const Setting refuses("LAPTIME_FAKE_CUDNN_REFUSES", "1");
    EXPECT_THAT(error_of(attentions, attention), HasSubstr("cuDNN has no plan for attention [1, 2, 16, 8] in bfloat16, "
                                                           "backward; name laptime's own kernel in a --kernels file"));
  }
  EXPECT_EQ(error_of(attentions, attention), "");
}

TEST(DnnAttention, ErrorNamesFailedCall) {
  DnnAttentions attentions(cuda::find_dnn());
  const DnnAttention attention = attention_of(1, 1, 1, 4, 8);
  attentions.prepare(attention);
  EXPECT_THAT(attentions.run(attention, {}, nullptr), HasSubstr("cudnnBackendExecute failed: CUDNN_STATUS_BAD_PARAM"));
}

// JSON properties of a device, which cuDNN accepts instead of a handle if there is no GPU.
std::string device_text(int compute_capability, int processors, int shared_bytes) {
  return fmt::format(
      R"({{"deviceVer":{},"multiProcessorCount":{},"maxSharedMemoryPerBlockOptin":{},"driverVer":13000,)"
      R"("totalGlobalMem":80000000000,"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],)"
      R"("regsPerBlock":65536,"warpSize":32,"maxSharedMemoryPerBlock":49152,"reservedSharedMemoryPerBlock":1024,)"
      R"("maxRegistersPerSM":65536,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,"pciDeviceId":0,)"
      R"("isTccDriver":0,"supportCoopLaunch":1,"smClockRateKHz":1500000,"memClockRateKHz":2000000,)"
      R"("l2CacheSize":50000000,"deviceName":"described","cudaDeviceId":0}})",
      10 * compute_capability, processors, shared_bytes);
}

// The real library accepts our graphs and compiles its kernels for GPUs that this machine does not have. The kernels do
// not run.
TEST(DnnAttention, SlowRealLibraryHasPlansForEveryGpuGeneration) {
  const char* const library = std::getenv("LAPTIME_CUDNN");
  if (library == nullptr) GTEST_SKIP() << "set LAPTIME_CUDNN to the path of libcudnn, or run the test cudnn_plans";
  const std::shared_ptr<const Dnn> dnn = cuda::find_dnn(library);
  if (dnn == nullptr) GTEST_SKIP() << library << " is older than cuDNN 9.18, or cannot be loaded";
  struct Generation {
    int compute_capability, processors, shared_bytes;
  };
  for (const Generation& card : {Generation{80, 108, 166'912}, {90, 132, 232'448}, {100, 148, 232'448}}) {
    const std::string text = device_text(card.compute_capability, card.processors, card.shared_bytes);
    cuda::DnnDescriptor device(dnn, cuda::dnn::kDevice);
    device.set(cuda::dnn::kDeviceJson, cuda::dnn::kCharValue, std::span<const char>(text.c_str(), text.size() + 1));
    device.finalize("describing a device");
    const auto expect_plan = [&](const DnnAttention& attention) {
      SCOPED_TRACE(fmt::format("compute capability {}, {} heads of keys, backward {}", card.compute_capability,
                               attention.kv_heads, attention.backward));
      const auto plan = plan_of(attention, dnn, {.device = &device});
      EXPECT_LE(plan->workspace_bytes(), workspace_of(attention));
    };
    expect_plan(attention_of(4, 12, 12, 256, 64));
    expect_plan(attention_of(4, 12, 4, 256, 64));
    DnnAttention backward = attention_of(4, 12, 12, 256, 64);
    backward.backward = true;
    expect_plan(backward);
    // Backward for one query head of each group; 12 query heads share 4 key heads.
    DnnAttention of_member = attention_of(4, 4, 4, 256, 64);
    of_member.backward = true;
    for (DnnAttention::Strides* const strides :
         {&of_member.q, &of_member.values, &of_member.grad_values, &of_member.grad_q})
      *strides = {int64_t{256} * 12 * 64, int64_t{3} * 64, int64_t{12} * 64};
    expect_plan(of_member);
  }
}

}  // namespace
}  // namespace laptime::test
