// Initial weights from a file: names and values, files of a different model, and a cropped position table.
#include "data/weights.h"

#include <gtest/gtest.h>

#include "base/words.h"
#include "data/golden.h"
#include "data/init.h"
#include "data/written_file.h"
#include "support/golden_path.h"

namespace laptime {
namespace {

using test::golden_path;

RunConfig config_for(const std::string& name) {
  RunConfig config = run_config_of(read_golden(golden_path(name)), Precision::kFloat32);
  config.init = WeightInit::kEdition;
  config.weights = golden_path(name);
  return config;
}

std::vector<float> filled(const StartingWeights& weights, const ParameterSpec& parameter) {
  size_t numel = 1;
  for (const int64_t size : parameter.shape) numel *= static_cast<size_t>(size);
  std::vector<float> values(numel);
  weights.fill(parameter, 0, values);
  return values;
}

TEST(StartingWeights, ReadsWeightsOfAGoldenFile) {
  for (const char* name : {"tiny_2025", "tiny_2024_tied_bias", "tiny_gpt2"}) {
    const RunConfig config = config_for(name);
    const StartingWeights weights(config);
    for (const ParameterSpec& parameter : parameter_list(config.model)) {
      std::vector<float> expected(filled(weights, parameter).size());
      fill_parameter(parameter, WeightInit::kStream, config.seed, 0, expected);
      EXPECT_EQ(filled(weights, parameter), expected) << parameter.name;
    }
  }
}

TEST(StartingWeights, GeneratesWeightsWithoutAFile) {
  RunConfig config = config_for("tiny_2025");
  config.weights.clear();
  const ParameterSpec parameter = parameter_list(config.model).front();
  std::vector<float> expected(filled(StartingWeights(config), parameter).size());
  fill_parameter(parameter, WeightInit::kEdition, config.seed, 0, expected);
  EXPECT_EQ(filled(StartingWeights(config), parameter), expected);
}

TEST(StartingWeights, CroppingTakesTheFirstRowsOfThePositionTable) {
  RunConfig config = config_for("tiny_2024");
  config.crop_context = 5;
  const StartingWeights weights(config);
  const std::vector<ParameterSpec> parameters = parameter_list(config.step_model());
  const ParameterSpec& table = parameters[1];
  ASSERT_EQ(table.shape, (std::vector<int64_t>{5, 40}));
  std::vector<float> expected(200);
  fill_parameter(table, WeightInit::kStream, config.seed, 0, expected);
  EXPECT_EQ(filled(weights, table), expected);
}

TEST(StartingWeights, RejectsWeightsOfAnotherModel) {
  const auto message = [](auto change) {
    RunConfig config = config_for("tiny_2024");
    change(config);
    return error_of([&] { StartingWeights weights(config); });
  };
  EXPECT_SAYS(message([](RunConfig& c) { c.model.d_ff = 100; }), "has shape [104, 40], but the model needs [100, 40]");
  EXPECT_SAYS(message([](RunConfig& c) { c.model.edition = Edition::k2025; }),
              "no tensor 'weight/layers.0.ffn.w3.weight'");
  EXPECT_SAYS(message([](RunConfig& c) { c.model.num_layers = 1; }), "no parameter for tensor 'weight/layers.1.");
  EXPECT_SAYS(message([](RunConfig& c) { c.model.num_layers = 3; }), "no tensor 'weight/layers.2.");
  EXPECT_SAYS(message([](RunConfig& c) { c.model.bias = true; }), ".bias'");
  EXPECT_SAYS(message([](RunConfig& c) { c.model.context_length = 19; }), "the model needs [19, 40]");
  EXPECT_SAYS(message([](RunConfig& c) { c.model.weight_tie = true; }), "tensor 'weight/lm_head.weight' differs from");
  EXPECT_SAYS(message([](RunConfig& c) { c.weights = "/nowhere"; }), "No such file");
}

TEST(StartingWeights, AcceptsNamesWithoutPrefixAndACopyOfTheTiedHead) {
  RunConfig config;
  config.model.edition = Edition::k2024;
  config.model.weight_tie = true;
  config.model.d_model = 2;
  config.model.d_ff = 2;
  config.model.num_layers = 1;
  config.model.num_heads = 1;
  config.model.vocab_size = 2;
  std::vector<ParameterSpec> stored = parameter_list(config.model);
  stored.push_back(stored.front());
  stored.back().name = stored.front().stored_again_as;
  std::string header = "{";
  std::string data;
  for (const ParameterSpec& parameter : stored) {
    const size_t begin = data.size();
    int64_t numel = 1;
    for (const int64_t size : parameter.shape) numel *= size;
    for (int64_t i = 0; i < numel; ++i) data += bytes_of(static_cast<double>(i) + 0.5);
    header +=
        fmt::format(R"({}"{}":{{"dtype":"F64","shape":[{}],"data_offsets":[{},{}]}})", header.size() > 1 ? "," : "",
                    parameter.name, joined(parameter.shape, ","), begin, data.size());
  }
  const WrittenFile file("w.safetensors", safetensors_bytes(header + "}", data));
  config.weights = file.path();
  const StartingWeights weights(config);
  EXPECT_EQ(filled(weights, stored.front()), (std::vector<float>{0.5F, 1.5F, 2.5F, 3.5F}));
}

}  // namespace
}  // namespace laptime
