// Verification of golden files: they pass with every kernel, all values are compared, and any changed number is
// detected.
#include "verify/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <tuple>

#include "backend/cpu/cpu_backend.h"
#include "base/json.h"
#include "data/golden_compare.h"
#include "data/written_file.h"
#include "model/parameters.h"
#include "ops/embedding/embedding.h"
#include "ops/rope/rope.h"
#include "prepare/knowledge.h"
#include "prepare/prepare.h"
#include "report/verification_text.h"
#include "support/golden_path.h"
#include "support/guarded_backend.h"

namespace laptime {
namespace {

using test::golden_path;
using testing::HasSubstr;
using testing::Not;

RunConfig on_threads(int64_t threads) {
  RunConfig machine;
  machine.device = "cpu";
  machine.threads = threads;
  return machine;
}

VerifiedFile verified(const std::string& path, int64_t threads = 2) {
  return verify_golden(read_golden(path), on_threads(threads));
}

std::map<std::string, size_t> counts_of(const VerifiedFile& file) {
  std::map<std::string, size_t> counts;
  for (const VerifiedGroup& group : file.groups) counts[group.name] += group.comparisons.size();
  return counts;
}

// Names of the groups in which a comparison fails.
std::vector<std::string> failing_groups(const VerifiedFile& file) {
  std::vector<std::string> names;
  for (const VerifiedGroup& group : file.groups) {
    if (!group.pass()) names.push_back(group.name);
  }
  return names;
}

class VerifyFile : public testing::TestWithParam<const char*> {};

TEST_P(VerifyFile, PassesEveryComparison) {
  const GoldenCase golden = read_golden(golden_path(GetParam()));
  const VerifiedFile file = verify_golden(golden, on_threads(2));
  EXPECT_TRUE(file.pass()) << print(file);

  const size_t parameters = parameter_list(golden.model).size();
  const auto steps = static_cast<size_t>(golden.steps);
  std::map<std::string, size_t> expected;
  for (const Precision precision : golden.precisions()) {
    const std::string dtype(name_of(precision));
    expected[dtype + " losses"] = steps;
    expected[dtype + " logits"] = 1;
    expected[dtype + " gradients"] = parameters + (golden.clip_norm ? 1 : 0);
    expected[dtype + " weights after 1 step"] = parameters;
    expected[fmt::format("{} weights after {} steps", dtype, steps)] = parameters;
  }
  expected["float32 memory"] = 3;
  for (const std::string dtype : {"bfloat16", "float16"}) {
    if (dtype == "float16" && !golden.float16) continue;
    expected[dtype + " memory"] = 1;
    expected[dtype + " dtypes"] = golden.autocast_dtypes.size();
  }
  if (golden.float16) expected["float16 loss scale"] = steps;
  expected["file"] = check_golden_file(golden).size();
  EXPECT_EQ(counts_of(file), expected);
}

std::string name_of_case(const testing::TestParamInfo<const char*>& parameter) { return parameter.param; }

// Every edition of tests/golden, tied weights, biases, clipping, and heads of 64 columns.
INSTANTIATE_TEST_SUITE_P(Small, VerifyFile,
                         testing::Values("tiny_2024_tied_bias", "tiny_2025_clip", "tiny_2026", "tiny_gpt2",
                                         "head64_2025"),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(Slow, VerifyFile,
                         testing::Values("tiny_2024", "tiny_2025", "tiny_2025_torch_adamw", "head80_gpt2",
                                         "small_2025"),
                         name_of_case);

// All golden files except small_2025, in each engine mode, with and without recomputation, using the kernels that are
// fastest in a trial.
class VerifyEngine : public testing::TestWithParam<std::tuple<const char*, Mode, const char*>> {};

RunConfig engine(Mode mode, const char* recompute) {
  RunConfig machine = on_threads(2);
  machine.mode = mode;
  machine.recompute = recompute;
  return machine;
}

const VerifyKernels kRaced{[](const std::string&) { return MachineKnowledge(); }};

TEST_P(VerifyEngine, PassesWithTheFastestKernels) {
  const auto& [name, mode, recompute] = GetParam();
  const GoldenCase golden = read_golden(golden_path(name));
  const VerifiedFile file = verify_golden(golden, engine(mode, recompute), {}, find_device, kRaced);
  EXPECT_TRUE(file.pass()) << print(file);
  std::map<std::string, size_t> counts = counts_of(file);
  for (const Precision precision : golden.precisions()) {
    const std::string dtype(name_of(precision));
    EXPECT_EQ(counts[dtype + " losses"], static_cast<size_t>(golden.steps));
    EXPECT_EQ(counts[dtype + " logits"], 1U);
    EXPECT_GE(counts[dtype + " gradients"], parameter_list(golden.model).size());
  }
  EXPECT_THAT(file.machine, HasSubstr("fastest measured kernels"));
}

INSTANTIATE_TEST_SUITE_P(Slow, VerifyEngine,
                         testing::Combine(testing::Values("tiny_2024", "tiny_2024_tied_bias", "tiny_2025",
                                                          "tiny_2025_clip", "tiny_2025_torch_adamw", "tiny_2026",
                                                          "tiny_gpt2", "head64_2025", "head80_gpt2"),
                                          testing::Values(Mode::kEager, Mode::kCompile),
                                          testing::Values("none", "block")),
                         [](const auto& parameter) {
                           return fmt::format("{}_{}_{}", std::get<0>(parameter.param),
                                              name_of(std::get<1>(parameter.param)), std::get<2>(parameter.param));
                         });

// The inference pass, whose peak is compared, does not launch the op.
TEST(VerifyDelay, AcceptsADelayOfABackwardOp) {
  RunConfig machine = on_threads(1);
  machine.delay = "embedding_backward=1us";
  const VerifiedFile file = verify_golden(read_golden(golden_path("tiny_2026")), machine);
  EXPECT_TRUE(file.pass()) << print(file);
  EXPECT_THAT(file.machine, HasSubstr("--delay embedding_backward=1us"));
  EXPECT_EQ(counts_of(file).at("float32 memory"), 3U);
}

TEST(VerifyKernelChoices, AreLookedUpByDevice) {
  std::set<std::string> asked;
  const VerifyKernels stored{[&](const std::string& device) {
    asked.insert(device);
    return MachineKnowledge();
  }};
  const GoldenCase golden = read_golden(golden_path("head64_2025"));
  EXPECT_TRUE(verify_golden(golden, engine(Mode::kCompile, "none"), {}, find_device, stored).pass());
  EXPECT_EQ(asked, std::set<std::string>{device_key(find_device(on_threads(2)))});
}

// The pinned kernel belongs to a bfloat16 step. Bfloat16 steps use it, and float32 steps ignore it without an error.
TEST(VerifyKernelChoices, UseTheKernelsFile) {
  const GoldenCase golden = read_golden(golden_path("tiny_2025"));
  const auto verify_with = [&](const std::string& signature, const std::string& kernel) {
    const Json use{{"op", signature.substr(0, signature.find('('))}, {"signature", signature}, {"kernel", kernel}};
    const WrittenFile file("kernels.json", Json{{"kernels", Json::array({use})}}.dump());
    RunConfig machine = on_threads(1);
    machine.kernels = file.path();
    return verify_golden(golden, machine);
  };
  RunConfig config = run_config_of(golden, Precision::kBFloat16);
  config.device = "cpu";
  config.threads = 1;
  const Plan plan = prepare(config, find_device(config), {}, {.outputs = {.logits = true, .gradients = true}}).plan;
  const auto product = std::find_if(plan.steps.begin(), plan.steps.end(), [](const PlanStep& step) {
    return step.signature().text().starts_with("matmul(") && step.in[0].type.dtype == DType::kBFloat16;
  });
  ASSERT_NE(product, plan.steps.end());
  const std::string signature = product->signature().text();
  const VerifiedFile file = verify_with(signature, kReferenceName);
  EXPECT_TRUE(file.pass()) << print(file);
  EXPECT_THAT(file.machine, HasSubstr("kernels.json"));
  EXPECT_THAT(error_of([&] { verify_with("matmul(of another step)", kReferenceName); }),
              HasSubstr("contains no kernel choice for"));
}

// A device on which the kernels of each op are rotated by `number`, but the reference stays last. With `references`,
// ops that have a reference have no other kernel.
FindDevice reordered(size_t number, bool references) {
  return [=](const RunConfig& config) {
    Device device = find_device(config);
    std::vector<Kernel> kernels;
    for (const OpCard* op : device.kernels->ops()) {
      std::vector<Kernel> of_op(device.kernels->of(*op).begin(), device.kernels->of(*op).end());
      std::vector<Kernel> last;
      if (of_op.back().name == kReferenceName) {
        last.push_back(of_op.back());
        of_op.pop_back();
      }
      if (references && !last.empty()) of_op.clear();
      if (!of_op.empty())
        std::rotate(of_op.begin(), of_op.begin() + static_cast<std::ptrdiff_t>(number % of_op.size()), of_op.end());
      for (const auto* part : {&of_op, &last}) kernels.insert(kernels.end(), part->begin(), part->end());
    }
    auto table = std::make_shared<const KernelTable>(std::move(kernels));
    device.kernels = table;
    device.open = [table, threads = device.threads.value()](int) {
      return std::make_unique<cpu::CpuBackend>(table, threads);
    };
    return device;
  };
}

TEST(Verify, PassesWithEveryKernel) {
  for (const char* name : {"tiny_2025_clip", "tiny_gpt2"}) {
    const GoldenCase golden = read_golden(golden_path(name));
    for (const size_t number : {1, 2, 3, 4}) {
      const VerifiedFile file = verify_golden(golden, on_threads(1), {}, reordered(number, false));
      EXPECT_TRUE(file.pass()) << "order " << number << "\n" << print(file);
    }
  }
}

// A device on which the embedding gradients are 1 % too large.
Device device_with_scaled_gradient(const RunConfig& config) {
  static const Kernel kOriginal = [&] {
    const Device device = find_device(config);
    for (const OpCard* op : device.kernels->ops()) {
      if (std::string_view(op->name) == "embedding_backward") return device.kernels->of(*op).front();
    }
    return Kernel{};
  }();
  Device device = find_device(config);
  std::vector<Kernel> kernels;
  for (const OpCard* op : device.kernels->ops()) {
    for (Kernel kernel : device.kernels->of(*op)) {
      if (op == kOriginal.op) {
        kernel.launch = [](const KernelCall& call) {
          kOriginal.launch(call);
          for (int64_t i = 0; i < call.out[0].numel(); ++i) call.out[0].put(i, 1.01 * call.out[0].at(i));
        };
      }
      kernels.push_back(kernel);
    }
  }
  device.kernels = std::make_shared<const KernelTable>(std::move(kernels));
  device.open = [table = device.kernels, threads = device.threads.value()](int) {
    return std::make_unique<cpu::CpuBackend>(table, threads);
  };
  return device;
}

TEST(Verify, RejectsOnePercentGradientError) {
  const VerifiedFile file =
      verify_golden(read_golden(golden_path("tiny_2025")), on_threads(1), {}, device_with_scaled_gradient);
  EXPECT_FALSE(file.pass());
  for (const VerifiedGroup& group : file.groups) {
    if (group.name == "float32 gradients") {
      EXPECT_FALSE(group.pass());
    }
    if (group.name == "float32 logits") {
      EXPECT_TRUE(group.pass());
    }
  }
}

TEST(Verify, SlowPassesWithReferenceKernels) {
  const GoldenCase golden = read_golden(golden_path("tiny_2024_tied_bias"));
  const VerifiedFile file = verify_golden(golden, on_threads(1), {}, reordered(0, true));
  EXPECT_TRUE(file.pass()) << print(file);
}

TEST(Verify, PassesOnADeviceWithGuardedMemory) {
  for (const char* name : {"tiny_2025_clip", "tiny_gpt2", "tiny_2024_tied_bias"}) {
    const VerifiedFile file =
        verify_golden(read_golden(golden_path(name)), on_threads(2), {}, test::find_guarded_device);
    EXPECT_TRUE(file.pass()) << print(file);
  }
}

// A copy of tiny_2025_clip with changed metadata, or with changed bytes in one tensor.
class ChangedGolden {
 public:
  ChangedGolden() : bytes_(bytes_of_file(golden_path("tiny_2025_clip"))) {
    uint64_t length = 0;
    std::memcpy(&length, bytes_.data(), sizeof(length));
    header_ = Json::parse(bytes_.substr(8, length));
    data_ = bytes_.substr(8 + length);
    metadata = Json::parse(header_["__metadata__"]["laptime"].get<std::string>());
  }

  Json metadata;

  // Adds a number to one element of a float64 tensor.
  void add_to(const std::string& tensor, size_t element, double difference) {
    const auto begin = header_[tensor]["data_offsets"][0].get<size_t>() + element * sizeof(double);
    double value = 0;
    std::memcpy(&value, data_.data() + begin, sizeof(value));
    value += difference;
    std::memcpy(data_.data() + begin, &value, sizeof(value));
  }

  VerifiedFile verified() {
    header_["__metadata__"]["laptime"] = metadata.dump();
    const WrittenFile file("changed.safetensors", safetensors_bytes(header_.dump(), data_));
    return laptime::verified(file.path());
  }

 private:
  std::string bytes_;
  Json header_;
  std::string data_;
};

TEST(VerifyChanged, UnchangedFilePasses) { EXPECT_TRUE(ChangedGolden().verified().pass()); }

TEST(VerifyChanged, DetectsChangedLoss) {
  ChangedGolden golden;
  golden.metadata["losses"][7] = golden.metadata["losses"][7].get<double>() * (1 + 3e-6);
  const VerifiedFile file = golden.verified();
  EXPECT_FALSE(file.pass());
  EXPECT_THAT(failing_groups(file), testing::Contains("float32 losses"));
  EXPECT_THAT(print(file), HasSubstr("float32 losses:  FAIL  loss of step 7  distance"));
}

TEST(VerifyChanged, DetectsChangedGradient) {
  ChangedGolden golden;
  golden.add_to("grad/layers.1.ffn.w3.weight", 4159, 1e-4);
  EXPECT_THAT(failing_groups(golden.verified()), testing::Contains("float32 gradients"));
}

TEST(VerifyChanged, DetectsChangedLogitsAndWeights) {
  ChangedGolden golden;
  golden.add_to("logits", 0, 1e-2);
  golden.add_to("after1/ln_final.weight", 0, 1e-2);
  golden.add_to("after10/layers.0.ln1.weight", 39, 1e-2);
  const std::vector<std::string> failing = failing_groups(golden.verified());
  EXPECT_THAT(failing, testing::Contains("float32 logits"));
  EXPECT_THAT(failing, testing::Contains("float32 weights after 1 step"));
  EXPECT_THAT(failing, testing::Contains("float32 weights after 10 steps"));
}

TEST(VerifyChanged, DetectsChangedSavedBytes) {
  for (const std::string dtype : {"float32", "bfloat16", "float16"}) {
    ChangedGolden golden;
    Json& memory = golden.metadata["eager_" + dtype];
    memory["saved_bytes"] = memory["saved_bytes"].get<int64_t>() + 4;
    memory["saved"][0][0] = memory["saved"][0][0].get<int64_t>() + 4;  // keeps the file consistent
    EXPECT_EQ(failing_groups(golden.verified()), std::vector<std::string>{dtype + " memory"});
  }
}

TEST(VerifyChanged, DetectsChangedPeaks) {
  for (const char* peak : {"inference", "forward_backward"}) {
    ChangedGolden golden;
    Json& bytes = golden.metadata["eager_float32_peak_bytes"][peak];
    bytes = bytes.get<int64_t>() * 11 / 10;
    EXPECT_EQ(failing_groups(golden.verified()), std::vector<std::string>{"float32 memory"});
  }
}

TEST(VerifyChanged, DetectsChangedDtype) {
  ChangedGolden golden;
  golden.metadata["autocast_dtypes"]["layers.1.attn.scores"] = "float32";
  const VerifiedFile file = golden.verified();
  EXPECT_EQ(failing_groups(file), std::vector<std::string>{"bfloat16 dtypes"});
  EXPECT_THAT(print(file), HasSubstr("bfloat16, PyTorch float32"));
}

TEST(VerifyChanged, DetectsChangedFloat16DtypeAndLossScale) {
  ChangedGolden golden;
  golden.metadata["loss_scales_float16"][3] = 32768;
  golden.metadata["autocast_dtypes_float16"]["layers.1.attn.scores"] = "bfloat16";
  const std::vector<std::string> expected{"float16 dtypes", "float16 loss scale"};
  EXPECT_EQ(failing_groups(golden.verified()), expected);
}

TEST(VerifyChanged, SkipsFloat16IfTheFileHasNone) {
  ChangedGolden golden;
  golden.metadata.erase("losses_float16");
  EXPECT_FALSE(counts_of(golden.verified()).contains("float16 losses"));
  EXPECT_TRUE(failing_groups(golden.verified()).empty());
}

TEST(VerifyChanged, DetectsUnknownName) {
  ChangedGolden golden;
  golden.metadata["autocast_dtypes"]["layers.9.attn.scores"] = "bfloat16";
  EXPECT_EQ(failing_groups(golden.verified()), std::vector<std::string>{"bfloat16 dtypes"});
}

TEST(VerifyChanged, DetectsChangedGradientNorm) {
  ChangedGolden golden;
  golden.metadata["grad_norm"] = golden.metadata["grad_norm"].get<double>() * 1.001;
  EXPECT_THAT(failing_groups(golden.verified()), testing::Contains("float32 gradients"));
}

TEST(VerifyChanged, DetectsChangedSeed) {
  ChangedGolden golden;
  golden.metadata["seed"] = 77;
  EXPECT_FALSE(golden.verified().pass());
}

TEST(VerifyText, ListsEveryComparison) {
  const VerifiedFile file = verified(golden_path("tiny_2024"));
  const std::string text = print(file);
  for (const VerifiedGroup& group : file.groups) {
    for (const Comparison& comparison : group.comparisons) EXPECT_THAT(text, HasSubstr("  ok    " + comparison.what));
  }
  EXPECT_THAT(text, HasSubstr("edition 2024, 2 layers x 40, 5 heads"));
  EXPECT_THAT(text, HasSubstr("2 threads"));
  EXPECT_THAT(text, HasSubstr("\npassed\n"));
  EXPECT_THAT(text, Not(HasSubstr("FAIL")));
}

TEST(VerifyText, SummaryIsOneLineFollowedByFailures) {
  VerifiedFile file{"a.safetensors: a model", "cpu", {{"logits", {}}, {"gradients", {}}}, {}};
  file.groups[0].comparisons.push_back({"logits", 1, 10, true, false, ""});
  file.groups[1].comparisons.push_back({"grad/a", 2, 4, true, false, ""});
  file.groups[1].comparisons.push_back({"grad/b", 0, 0, true, true, "not in the file"});
  EXPECT_EQ(summary_line(file), "passed  a.safetensors (cpu): 2 compared, 1 skipped\n");
  file.groups[0].comparisons.push_back({"more", 20, 10, false, false, ""});
  EXPECT_EQ(summary_line(file),
            "NOT PASSED  a.safetensors (cpu): 3 compared, 1 skipped\n"
            "  logits:  FAIL  more  distance 20         allowed 10\n");
  EXPECT_EQ(summary_line({"a.safetensors: a model", "cpu", {}, "no memory"}),
            "NOT PASSED  a.safetensors (cpu); not run: no memory\n");
}

TEST(VerifyText, RepeatsFailuresAtTheEnd) {
  VerifiedFile file{"a model", "cpu", {{"float32 losses", {}}}, {}};
  file.groups[0].comparisons.push_back({"loss of step 0", 0.5, 0.25, false, false, "note"});
  file.groups[0].comparisons.push_back({"loss of step 1", 0, 0, true, true, "not in the file"});
  EXPECT_FALSE(file.pass());
  EXPECT_EQ(print(file),
            "a model\n"
            "on cpu\n"
            "\n"
            "float32 losses\n"
            "  FAIL  loss of step 0  distance 0.5        allowed 0.25       note\n"
            "  skip  loss of step 1  not in the file\n"
            "\n"
            "summary\n"
            "                  compared  failed  skipped  closest to its limit\n"
            "  float32 losses         1       1        1  0.5 of 0.25 (loss of step 0)\n"
            "failed\n"
            "  float32 losses:  FAIL  loss of step 0  distance 0.5        allowed 0.25       note\n"
            "NOT PASSED\n");
}

TEST(VerifyText, FileWithoutComparisonsFails) { EXPECT_FALSE(VerifiedFile{}.pass()); }

TEST(Verify, CountsConstantsComputedInsideAStep) {
  Builder build;
  rope_table(build, {8, 4, 10'000, DType::kFloat32});  // a buffer of the module, so not computed in a step
  EXPECT_EQ(constant_bytes_of_step(build.graph()), 0);
  arange(build, 8);  // int64 positions, which PyTorch computes in each step
  EXPECT_EQ(constant_bytes_of_step(build.graph()), 8 * 8);
}

TEST(Verify, ReportsProgress) {
  std::vector<std::string> stages;
  Seconds last{};
  verify_golden(read_golden(golden_path("tiny_2026")), on_threads(1), [&](const std::string& stage, Seconds elapsed) {
    stages.push_back(stage);
    EXPECT_GE(elapsed, last);  // the elapsed time covers all precisions
    last = elapsed;
  });
  ASSERT_EQ(stages.size(), 33U);
  EXPECT_EQ(stages[1], "float32: step 1 of 10");
  EXPECT_EQ(stages.back(), "float16: step 10 of 10");
}

TEST(Verify, RejectsDeviceThatComputesNoValues) {
  RunConfig machine;
  machine.device = "roofline:h100";
  EXPECT_THAT(error_of([&] { verify_golden(read_golden(golden_path("tiny_2026")), machine); }),
              HasSubstr("does not compute values"));
}

// Limits the address space, which sanitizers do not support.
TEST(Verify, SlowRejectsAFileThatDoesNotFitInMemory) {
  const auto refused = [] {
    const GoldenCase golden = read_golden(golden_path("small_2025"));
    const rlimit limit{2UL << 30U, 2UL << 30U};
    setrlimit(RLIMIT_AS, &limit);
    const VerifiedFile file = verify_golden(golden, on_threads(1));
    const bool told = print(file).find("not run: predicted: ") != std::string::npos;
    std::exit(!file.pass() && told ? 0 : 1);  // NOLINT(concurrency-mt-unsafe): runs in its own process
  };
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(refused(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace laptime
