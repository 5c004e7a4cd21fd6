// Golden files: all of them can be read and are complete, changed numbers are detected, and malformed metadata is
// rejected.
#include "data/golden.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <random>

#include "base/json.h"
#include "base/words.h"
#include "data/golden_compare.h"
#include "data/written_file.h"
#include "model/parameters.h"
#include "model/validate.h"
#include "support/golden_path.h"
#include "support/golden_truth.h"
#include "support/json_pointer.h"

namespace laptime {
namespace {

using test::compare;
using test::golden_path;
using test::kBFloat16;
using test::kFloat32;
using test::truth_of;

std::vector<std::string> golden_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(LAPTIME_GOLDEN_DIR)) {
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool all_pass(const std::vector<Comparison>& comparisons) {
  return std::all_of(comparisons.begin(), comparisons.end(), [](const Comparison& c) { return c.pass; });
}

std::vector<std::string> failures(const std::vector<Comparison>& comparisons) {
  std::vector<std::string> names;
  for (const Comparison& comparison : comparisons) {
    if (!comparison.pass) names.push_back(comparison.what);
  }
  return names;
}

TEST(Golden, ReadsEveryFile) {
  const std::vector<std::string> files = golden_files();
  ASSERT_EQ(files.size(), 10U);
  for (const std::string& path : files) {
    SCOPED_TRACE(path);
    const GoldenCase golden = read_golden(path);
    EXPECT_EQ(golden.losses.size(), static_cast<size_t>(golden.steps));
    EXPECT_EQ(golden.keys.size(), 1 + 3 * parameter_list(golden.model).size());
    EXPECT_EQ(golden.keys.size(), golden.norms.size());
    EXPECT_EQ(golden.exact, golden.float32.torch_error.losses.has_value());
    EXPECT_EQ(golden.exact ? golden.keys.size() : 0, golden.bfloat16.torch_error.tensors.size());
    EXPECT_EQ(golden.exact, golden.eager_float32_peaks.has_value());
    EXPECT_GT(golden.autocast_dtypes.size(), 20U);
    EXPECT_GT(golden.float32.eager.forward_ops.size(), 50U);
    EXPECT_GT(golden.bfloat16.eager.backward_ops.size(), 50U);
    EXPECT_NO_THROW(validate(run_config_of(golden, kBFloat16)));
  }
}

TEST(Golden, ReadsTheFields) {
  const GoldenCase golden = read_golden(golden_path("tiny_2025_clip"));
  EXPECT_EQ(golden.model.edition, Edition::k2025);
  EXPECT_EQ(golden.model.d_ff, 104);
  EXPECT_EQ(golden.model.vocab_size, 97);
  EXPECT_EQ(golden.model.context_length, 18);
  EXPECT_EQ(golden.model.batch_size, 3);
  EXPECT_EQ(golden.clip_norm, 0.5);
  EXPECT_EQ(golden.seed, 2);
  EXPECT_EQ(golden.steps, 10);
  EXPECT_EQ(golden.losses[0], 4.904832372976722);
  EXPECT_EQ(golden.float32.losses[9], 3.336886405944824);
  EXPECT_EQ(golden.grad_norm, 1.3635249231897433);
  EXPECT_EQ(golden.eager_float32_peaks->inference, 180900);
  EXPECT_EQ(golden.eager_float32_peaks->forward_backward, 614660);
  EXPECT_EQ(golden.autocast_dtypes.at("layers.0.attn.scores"), "bfloat16");
  EXPECT_EQ(golden.keys.front(), "logits");
  EXPECT_EQ(golden.keys.back(), "after10/lm_head.weight");
  const RunConfig config = run_config_of(golden, kFloat32);
  EXPECT_EQ(config.clip_norm, 0.5);
  EXPECT_EQ(config.init, WeightInit::kStream);
  const GoldenCase other = read_golden(golden_path("tiny_2024_tied_bias"));
  EXPECT_EQ(other.optimizer, Optimizer::kTorch);
  EXPECT_TRUE(other.model.bias && other.model.weight_tie);
  EXPECT_TRUE(read_golden(golden_path("tiny_gpt2")).model.bias);
  EXPECT_FALSE(read_golden(golden_path("small_2025")).exact);
  ASSERT_TRUE(golden.float16);
  EXPECT_EQ(golden.precisions().back(), Precision::kFloat16);
  EXPECT_EQ(golden.float16->loss_scales, std::vector<double>(10, 65536));
  EXPECT_EQ(run_config_of(golden, Precision::kFloat16).loss_scale, "dynamic");
  EXPECT_EQ(run_config_of(golden, Precision::kBFloat16).loss_scale, "none");
}

TEST(Golden, SlowFindsEveryFileEqualToItself) {
  for (const std::string& path : golden_files()) {
    SCOPED_TRACE(path);
    const GoldenCase golden = read_golden(path);
    const std::vector<Comparison> own = check_golden_file(golden);
    EXPECT_TRUE(all_pass(own)) << joined(failures(own), ", ");
    for (const Precision precision : golden.precisions()) {
      for (const std::string& key : golden.keys) {
        const Comparison result = compare(golden, precision, key, truth_of(golden, key));
        EXPECT_TRUE(result.pass) << key;
        EXPECT_EQ(result.distance, 0) << key;
        EXPECT_EQ(result.skipped, key.starts_with("after") && key.ends_with("k_proj.bias")) << key;
      }
      for (int64_t step = 0; step < golden.steps; ++step) {
        EXPECT_EQ(compare_loss(golden, precision, step, golden.losses[static_cast<size_t>(step)]).distance, 0);
        EXPECT_TRUE(
            compare_loss(golden, precision, step, golden.values(precision).losses[static_cast<size_t>(step)]).pass);
      }
      EXPECT_TRUE(compare_saved_bytes(golden, precision, golden.values(precision).eager.saved_bytes).pass);
    }
    for (const auto& [name, dtype] : golden.autocast_dtypes)
      EXPECT_TRUE(compare_dtype(golden, Precision::kBFloat16, name, dtype).pass);
    if (!golden.float16) continue;
    for (const auto& [name, dtype] : golden.autocast_dtypes) {
      const char* const lower = dtype == "bfloat16" ? "float16" : "float32";
      EXPECT_TRUE(compare_dtype(golden, Precision::kFloat16, name, lower).pass) << name;
    }
    EXPECT_TRUE(compare_loss_scale(golden, 0, 65536).pass);
    EXPECT_FALSE(compare_loss_scale(golden, 0, 32768).pass);
  }
}

// A golden file split into its parts, which a test can change and reassemble.
struct Parts {
  Json header;
  Json metadata;
  std::string data;

  explicit Parts(const std::string& name) {
    const std::string bytes = bytes_of_file(golden_path(name));
    uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof(length));
    header = Json::parse(bytes.substr(8, length));
    metadata = Json::parse(header["__metadata__"]["laptime"].get<std::string>());
    data = bytes.substr(8 + length);
  }

  std::string bytes() const {
    Json whole = header;
    whole["__metadata__"]["laptime"] = metadata.dump();
    return safetensors_bytes(whole.dump(), data);
  }

  // Flips one bit in the second highest byte of an element.
  void flip(const std::string& name, size_t element, size_t size) {
    const auto begin = header[name]["data_offsets"][0].get<size_t>();
    data[begin + element * size + size - 2] = static_cast<char>(data[begin + element * size + size - 2] ^ 0x20);
  }

  void drop(const std::string& name) {  // renames the tensor, because every byte must belong to a tensor
    header["other/" + name] = header[name];
    header.erase(name);
  }
};

// Names of the checks that the changed file fails: its own checks, and comparisons with the unchanged values.
std::vector<std::string> noticed(const Parts& parts, const std::string& name) {
  const WrittenFile file("changed.safetensors", parts.bytes());
  const GoldenCase changed = read_golden(file.path());
  const GoldenCase good = read_golden(golden_path(name));
  std::vector<std::string> names = failures(check_golden_file(changed));
  for (const std::string& key : good.keys) {
    if (!compare(changed, kFloat32, key, truth_of(good, key)).pass) names.push_back(key);
  }
  for (int64_t step = 0; step < good.steps; ++step) {
    const Comparison result = compare_loss(changed, kFloat32, step, good.losses[static_cast<size_t>(step)]);
    if (!result.pass) names.push_back(result.what);
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(Golden, DetectsChangedNumber) {
  const std::string name = "tiny_2025_clip";
  EXPECT_EQ(noticed(Parts(name), name), Names{});
  Parts logits(name);
  logits.flip("logits", 100, 8);
  EXPECT_EQ(noticed(logits, name), (Names{"file: norm of logits", "logits"}));
  Parts after(name);
  after.flip("after10/layers.1.ffn.w2.weight", 77, 8);
  EXPECT_EQ(noticed(after, name),
            (Names{"file: norm of after10/layers.1.ffn.w2.weight", "after10/layers.1.ffn.w2.weight"}));
  Parts weight(name);
  weight.flip("weight/ln_final.weight", 3, 4);
  EXPECT_EQ(noticed(weight, name), Names{"file: weight/ln_final.weight"});
  Parts tokens(name);
  tokens.flip("tokens", 3, 4);
  EXPECT_EQ(noticed(tokens, name), Names{"file: tokens"});
  Parts loss(name);
  loss.metadata["losses"][4] = loss.metadata["losses"][4].get<double>() * 1.0001;
  EXPECT_TRUE(noticed(loss, name).back() == "loss of step 4");
  Parts own(name);
  own.metadata["losses_bfloat16"][4] = own.metadata["losses_bfloat16"][4].get<double>() * 1.001;
  EXPECT_EQ(noticed(own, name), Names{"file: error of the bfloat16 losses"});
  Parts norm(name);
  norm.metadata["norms"]["grad/ln_final.weight"]["norm"] = 0.07;
  EXPECT_EQ(noticed(norm, name), (Names{"file: norm of grad/ln_final.weight", "file: norm of the gradients"}));
  Parts saved(name);
  saved.metadata["eager_bfloat16"]["saved_bytes"] = 1;
  EXPECT_EQ(noticed(saved, name), Names{"file: bfloat16 saved bytes"});
}

TEST(Golden, DetectsChangedSample) {
  const std::string name = "head80_gpt2";
  Parts sample(name);
  sample.flip("sample/grad/ln_final.bias", 7, 8);
  EXPECT_EQ(noticed(sample, name), Names{"grad/ln_final.bias"});
  Parts place(name);
  place.data[place.header["sample_at/logits"]["data_offsets"][0].get<size_t>()] ^= 1;
  EXPECT_EQ(noticed(place, name).front(), "file: sample_at/logits");
  // A gradient with changed sample positions cannot show which weights to skip, so the comparison skips none.
  Parts elsewhere(name);
  const std::string gradient = "sample_at/grad/layers.0.attn.k_proj.bias";
  elsewhere.data[elsewhere.header[gradient]["data_offsets"][0].get<size_t>()] ^= 1;
  EXPECT_EQ(noticed(elsewhere, name), Names{"file: " + gradient});
}

TEST(Golden, OptionalFieldsMayBeAbsentOrNull) {
  Parts parts("tiny_2025");
  parts.metadata.erase("grad_norm");
  parts.metadata.erase("bias");
  parts.metadata["eager_float32_peak_bytes"] = nullptr;
  parts.metadata["torch_error"] = nullptr;
  const WrittenFile file("a.safetensors", parts.bytes());
  const GoldenCase golden = read_golden(file.path());
  EXPECT_TRUE(all_pass(check_golden_file(golden)));
  EXPECT_DOUBLE_EQ(compare(golden, kBFloat16, "logits", truth_of(golden, "logits")).allowed, 2 * 4e-3);
  parts.metadata.erase("torch_error");
  parts.metadata["bias"] = nullptr;
  parts.metadata.erase("eager_float32_peak_bytes");
  file.write(parts.bytes());
  EXPECT_TRUE(compare_inference_peak(read_golden(file.path()), 1).skipped);
}

std::string message_for(const Parts& parts) {
  const WrittenFile file("bad.safetensors", parts.bytes());
  std::string message = error_of([&] { read_golden(file.path()); });
  EXPECT_SAYS(message, file.path());
  return message;
}

TEST(Golden, SlowRejectsMalformedMetadata) {
  const auto message = [](const char* pointer, const Json& value) {
    Parts parts("tiny_2025");
    at_pointer(parts.metadata, pointer) = value;
    return message_for(parts);
  };
  EXPECT_SAYS(message("/edition", "2023"), "'edition'");
  EXPECT_SAYS(message("/optimizer", 2025), "'optimizer'");
  EXPECT_SAYS(message("/steps", 0), "'steps'");
  EXPECT_SAYS(message("/steps", 9), "'losses'");
  EXPECT_SAYS(message("/steps", 1e3), "'steps'");
  EXPECT_SAYS(message("/seed", -1), "'seed'");
  EXPECT_SAYS(message("/seed", 18446744073709551615ULL), "'seed'");
  EXPECT_SAYS(message("/clip", 0), "'clip'");
  EXPECT_SAYS(message("/truth", "float16"), "'truth'");
  EXPECT_SAYS(message("/losses/3", "4"), "'losses'[3] is \"4\"");
  EXPECT_SAYS(message("/losses", Json::object()), "'losses'");
  EXPECT_SAYS(message("/d_model", 41), "41");
  EXPECT_SAYS(message("/d_model", int64_t{1} << 62), "d-model");
  EXPECT_SAYS(message("/d_model", 80), "the model needs [97, 80]");
  EXPECT_SAYS(message("/num_heads", 0), "'num_heads'");
  EXPECT_SAYS(message("/num_layers", 3), "layers.2");
  EXPECT_SAYS(message("/tied", 1), "'tied'");
  EXPECT_SAYS(message("/tied", true), "weight-tie");
  EXPECT_SAYS(message("/norms/logits/shape/0", -1), "'shape'");
  EXPECT_SAYS(message("/norms/logits/shape/0", 4), "'logits'");
  EXPECT_SAYS(message("/torch_error/float32/logits", -1), "'logits'");
  EXPECT_SAYS(message("/eager_float32/saved/0", Json::array({1})), "'saved'[0]");
  EXPECT_SAYS(message("/eager_float32/saved_bytes", "many"), "'saved_bytes'");
  EXPECT_SAYS(message("/autocast_dtypes", 3), "'autocast_dtypes'");
  Json deep = 1;
  for (int i = 0; i < 20; ++i) deep = Json::array({deep});
  EXPECT_SAYS(message("/comment", deep), "levels deep");

  for (const char* key : {"edition", "seed", "losses", "norms", "eager_bfloat16", "truth", "tied"}) {
    Parts parts("tiny_2025");
    parts.metadata.erase(key);
    EXPECT_SAYS(message_for(parts), fmt::format("'{}'", key));
  }
}

TEST(Golden, RejectsInvalidMetadataJson) {
  const auto refused = [](const std::string& text) {
    const std::string header = Json{{"__metadata__", {{"laptime", text}}}}.dump();
    const WrittenFile file("a.safetensors", safetensors_bytes(header, ""));
    return error_of([&] { read_golden(file.path()); });
  };
  EXPECT_SAYS(refused("{"), "not valid JSON");
  EXPECT_SAYS(refused("[]"), "should be an object");
  EXPECT_SAYS(refused("{\"seed\":NaN}"), "not valid JSON");
  EXPECT_SAYS(refused("{\"seed\":1e999}"), "out of range");
  std::string long_text;
  long_text.resize(16'000'001, ' ');
  EXPECT_SAYS(refused(long_text), "16000000");
  const WrittenFile plain("a.safetensors", safetensors_bytes("{}", ""));
  EXPECT_SAYS(error_of([&] { read_golden(plain.path()); }), "not a file of stored PyTorch values");
}

TEST(Golden, RejectsShapesThatOverflow) {
  EXPECT_THROW((StoredNorm{.norm = 1, .shape = {int64_t{1} << 62U, 4}}.numel()), Error);
}

TEST(Golden, RejectsMissingOrMisshapenTensors) {
  Parts missing("tiny_2025");
  missing.drop("grad/ln_final.weight");
  EXPECT_SAYS(message_for(missing), "'sample_at/grad/ln_final.weight'");
  Parts turned("tiny_2025");
  turned.header["logits"]["shape"] = {18, 3, 97};
  EXPECT_SAYS(message_for(turned), "[18, 3, 97]");
  Parts flat("tiny_2025");
  flat.header["tokens"]["shape"] = {54};
  EXPECT_SAYS(message_for(flat), "'tokens'");
  Parts far("head64_2025");
  const auto begin = far.header["sample_at/logits"]["data_offsets"][0].get<size_t>();
  far.data.replace(begin, 8, bytes_of<int64_t>(int64_t{2} * 96 * 1000));
  EXPECT_SAYS(message_for(far), "position 192000");
  far.data.replace(begin, 8, bytes_of<int64_t>(-1));
  EXPECT_SAYS(message_for(far), "position -1");
  Parts square("head64_2025");
  square.header["sample/logits"]["shape"] = {8, 8};
  EXPECT_SAYS(message_for(square), "two vectors of the same length");
}

// A mutated metadata text is either read or rejected with an Error.
TEST(Golden, SlowSurvivesMutatedMetadata) {
  const Parts parts("head64_2025");
  const std::string good = parts.metadata.dump();
  const WrittenFile file("a.safetensors", parts.bytes());
  std::mt19937_64 random(3);  // the same mutations in every run
  constexpr std::string_view kWords = "{}[]\",:0123456789-e.nul";
  int read = 0;
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    std::string text = good;
    for (size_t i = 0; i < 1 + random() % 3; ++i) {
      const size_t at = random() % text.size();
      if (random() % 3 == 0) {
        text.erase(at, 1 + random() % 20);
      } else {
        text[at] = kWords[random() % kWords.size()];
      }
    }
    Json header = parts.header;
    header["__metadata__"]["laptime"] = text;
    file.write(safetensors_bytes(header.dump(), parts.data));
    try {
      check_golden_file(read_golden(file.path()));
      ++read;
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(read, 30);
  EXPECT_GT(refused, 30);
}

}  // namespace
}  // namespace laptime
