// Runs the toy model from an exercise in the source documents under autocast.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/random.h"
#include "demo/cells.h"
#include "demo/demo.h"
#include "demo/graph_run.h"
#include "model/demonstrations/demonstrations.h"
#include "passes/pipeline.h"

namespace laptime {
namespace {

constexpr std::array<const char*, 4> kParameters{"fc1.weight", "ln.weight", "ln.bias", "fc2.weight"};
constexpr std::array<const char*, 4> kValues{"first layer", "layer norm", "logits", "loss"};

std::string gradient_of(const char* parameter) { return fmt::format("grad/{}", parameter); }

// Two wrong answers in one of the source documents.
struct DocumentAnswer {
  std::string_view value, dtype;
};
constexpr std::array kWrongAnswers{DocumentAnswer{"parameters", "float16"}, DocumentAnswer{"first layer", "float32"}};

Graph toy_model(DType real, std::optional<DType> lower) {
  return run_passes(toy_model_graph(real), {.keep = {"layer_norm"}, .lower = lower});
}

// x is 0 ... 4, the targets are zeros, and the weights of linear layers are uniform between -1/2 and 1/2. Layer norm
// has weights of 1 and biases of 0.
void write_inputs(GraphRun& run) {
  std::vector<double> x(ToySizes::kInputs);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  run.write("x", x);
  run.write("targets", std::vector<double>(ToySizes::kOutputs, 0));
  run.write("ln.weight", std::vector<double>(ToySizes::kHidden, 1));
  run.write("ln.bias", std::vector<double>(ToySizes::kHidden, 0));
  const auto weights = [&](const char* name, int64_t count) {
    std::vector<double> values(static_cast<size_t>(count));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(static_cast<double>(splitmix64(fnv1a64(name) + i) >> 11U) * 0x1p-53 - 0.5);
    run.write(name, values);
  };
  weights("fc1.weight", ToySizes::kHidden * ToySizes::kInputs);
  weights("fc2.weight", ToySizes::kOutputs * ToySizes::kHidden);
}

std::string dtype_of(const Graph& graph, const std::string& name) {
  ValueId value = graph.find_output(name);
  if (!value.valid()) value = graph.find_source(name);
  return std::string(name_of(graph.value(value).type.dtype));
}

// The common dtype of the named values; "mixed" if they differ, and empty if there are none.
template <class Names>
std::string common_dtype(const Graph& graph, const Names& names) {
  std::string common;
  for (const auto& name : names) {
    const std::string dtype = dtype_of(graph, name);
    common = common.empty() || common == dtype ? dtype : "mixed";
  }
  return common;
}

}  // namespace

PointAnswer demonstrate_autocast() {
  const std::array<std::optional<DType>, 3> lowers{DType::kFloat16, DType::kBFloat16, std::nullopt};
  Table dtypes = table_of("dtypes", "number types", text_of_rows("value", "value"));
  Table errors = table_of("errors", "relative error against float64", text_of_rows("value", "value"));
  const std::vector<std::string> gradients = mapped(kParameters, gradient_of);
  dtypes.add({"parameters"});
  for (const char* const value : kValues) dtypes.add({value});
  dtypes.add({"gradients"});
  for (const char* const value : kValues) errors.add({value});
  for (const std::string& gradient : gradients) errors.add({"gradient of " + gradient.substr(5)});

  GraphRun exact(toy_model(DType::kFloat64, {}));
  write_inputs(exact);
  exact.run();
  std::vector<std::string> outputs(kValues.begin(), kValues.end());
  outputs.insert(outputs.end(), gradients.begin(), gradients.end());
  for (const std::optional<DType> lower : lowers) {
    const std::string key = lower ? std::string(name_of(*lower)) : "float32";
    const Graph graph = toy_model(DType::kFloat32, lower);
    dtypes.columns.push_back(text_of_rows(key, lower ? key + " autocast" : key));
    errors.columns.push_back({.key = key, .title = lower ? key + " autocast" : key});
    size_t row = 0;
    dtypes.rows[row++].cells.emplace_back(common_dtype(graph, kParameters));
    for (const char* const value : kValues) dtypes.rows[row++].cells.emplace_back(dtype_of(graph, value));
    dtypes.rows[row].cells.emplace_back(common_dtype(graph, gradients));
    GraphRun run(graph);
    write_inputs(run);
    run.run();
    for (size_t i = 0; i < outputs.size(); ++i)
      errors.rows[i].cells.push_back(error_cell(relative_error(run.output(outputs[i]), exact.output(outputs[i]))));
  }
  PointAnswer answer{.name = "demo autocast"};
  answer.say(
      "Linear(5, 10) -> ReLU -> LayerNorm(10) -> Linear(10, 20), x = 0 ... 4, mean squared error against zeros. "
      "Autocast lowers the precision of matrix products only; parameters and their gradients stay float32.");
  std::string wrong;
  for (const DocumentAnswer& wrong_answer : kWrongAnswers) {
    const auto row = std::find_if(dtypes.rows.begin(), dtypes.rows.end(),
                                  [&](const TableRow& one) { return one.cells[0].value == wrong_answer.value; });
    if (row != dtypes.rows.end() && row->cells[1].value != wrong_answer.dtype)
      wrong += fmt::format("{}{} in {} (it is {})", wrong.empty() ? "" : ", ", wrong_answer.value, wrong_answer.dtype,
                           row->cells[1].value.get<std::string>());
  }
  if (!wrong.empty())
    answer.say(
        fmt::format("This is an exercise from the course that defines the models. One published solution states "
                    "for float16: {}. That is wrong.",
                    wrong));
  answer.show(std::move(dtypes));
  answer.show(std::move(errors));
  return answer;
}

}  // namespace laptime
