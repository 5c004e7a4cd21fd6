// Golden files. The input up to the first zero byte is the metadata, and the remaining bytes fill the tensors.
#include "base/json.h"
#include "data/golden.h"

#include "data/golden_compare.h"
#include "data/init.h"
#include "data/written_file.h"
#include "fuzz/fuzz_target.h"
#include "model/parameters.h"

namespace laptime::fuzz {
namespace {

ModelConfig small_model() {
  ModelConfig model;
  model.edition = Edition::k2025;
  model.batch_size = 1;
  model.vocab_size = 5;
  model.context_length = 2;
  model.d_model = 4;
  model.d_ff = 4;
  model.num_layers = 1;
  model.num_heads = 2;
  return model;
}

// Names and shapes of all tensors in a golden file of two steps. The file stores two samples of each tensor.
std::vector<std::pair<std::string, std::vector<int64_t>>> keys_of(const ModelConfig& model) {
  std::vector<std::pair<std::string, std::vector<int64_t>>> keys{
      {"logits", {model.batch_size, model.context_length, model.vocab_size}}};
  for (const char* group : {"grad/", "after1/", "after2/"}) {
    for (const ParameterSpec& parameter : parameter_list(model))
      keys.emplace_back(group + parameter.name, parameter.shape);
  }
  return keys;
}

std::string metadata() {
  const ModelConfig model = small_model();
  const Json eager{{"forward_ops", {"add float32 [2]"}},
                   {"backward_ops", Json::array()},
                   {"saved_bytes", 8},
                   {"saved", {{8, "float32", {2}}}}};
  Json norms = Json::object();
  for (const auto& [key, shape] : keys_of(model)) norms[key] = {{"norm", 1.5}, {"shape", shape}};
  const Json json{{"edition", "2025"},
                  {"batch_size", model.batch_size},
                  {"vocab_size", model.vocab_size},
                  {"context_length", model.context_length},
                  {"d_model", model.d_model},
                  {"d_ff", model.d_ff},
                  {"num_layers", model.num_layers},
                  {"num_heads", model.num_heads},
                  {"tied", false},
                  {"bias", nullptr},
                  {"optimizer", "2025"},
                  {"clip", 1.0},
                  {"seed", 3},
                  {"steps", 2},
                  {"truth", "float64"},
                  {"losses", {1.5, 1.25}},
                  {"losses_float32", {1.5, 1.25}},
                  {"losses_bfloat16", {1.5, 1.25}},
                  {"torch_error", {{"float32", {{"losses", 1e-7}, {"logits", 1e-7}}}, {"bfloat16", nullptr}}},
                  {"eager_float32", eager},
                  {"eager_bfloat16", eager},
                  {"autocast_dtypes", {{"layers.0.attn.scores", "bfloat16"}}},
                  {"grad_norm", 2.0},
                  {"eager_float32_peak_bytes", {{"inference", 100}, {"forward_backward", 200}}},
                  {"norms", norms}};
  return json.dump();
}

std::string file_bytes(std::string_view metadata, std::string_view numbers) {
  constexpr int64_t kTensorBytes = 16;  // two elements of eight bytes
  Json header{{"__metadata__", {{"laptime", metadata}}}};
  std::string data;
  for (const auto& [key, shape] : keys_of(small_model())) {
    for (const char* group : {"sample_at/", "sample/"}) {
      const auto begin = static_cast<int64_t>(data.size());
      header[group + key] = {{"dtype", group == std::string("sample/") ? "F64" : "I64"},
                             {"shape", {2}},
                             {"data_offsets", {begin, begin + kTensorBytes}}};
      const std::string_view taken = numbers.substr(0, kTensorBytes);
      data += taken;
      data.resize(static_cast<size_t>(begin + kTensorBytes), '\0');
      numbers.remove_prefix(taken.size());
    }
  }
  return safetensors_bytes(header.dump(), data);
}

}  // namespace

std::vector<std::string> seeds() {
  const std::string valid = metadata();
  return {valid, valid + '\0' + std::string("\x03\0\0\0\0\0\0\0\x01", 9)};
}

std::vector<std::string> words() {
  return {"\"norms\":",  "\"norm\":",       "\"shape\":", "\"steps\":", "\"d_model\":", "\"gpt2\"",  "\"2024\"",
          "\"losses\":", "\"grad_norm\":",  "[1,2]",      "{}",         "null",         "true",      "\"float32\"",
          "\"clip\":",   "\"num_layers\":", "1e308",      "0",          "-1",           "1000000000"};
}

}  // namespace laptime::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace laptime;
  const std::string_view text = fuzz::text_of(data, size);
  const size_t end = std::min(text.find('\0'), text.size());
  const fuzz::InputAsFile input(fuzz::file_bytes(text.substr(0, end), text.substr(std::min(end + 1, text.size()))));
  fuzz::accept_or_refuse([&] {
    const GoldenCase golden = read_golden(input.path());
    check_golden_file(golden);
    for (const Precision precision : {Precision::kFloat32, Precision::kBFloat16}) {
      compare_loss(golden, precision, 0, 1.0);
      compare_grad_norm(golden, precision, 1.0);
      compare_saved_bytes(golden, precision, 8);
      run_config_of(golden, precision);
    }
  });
  return 0;
}
