// laptime list: what there is to choose from.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/destination.h"
#include "cli/help.h"
#include "config/model_presets.h"
#include "prepare/device.h"
#include "prepare/inventory.h"
#include "record/metrics.h"
#include "report/text.h"

namespace laptime {
namespace {

using Lines = std::vector<std::vector<std::string>>;

// Columns as wide as they must be; the first line is the header.
std::string aligned(const Lines& lines) {
  std::vector<size_t> widths;
  for (const auto& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], display_width(line[i]));
  }
  std::string text;
  for (const auto& line : lines) {
    std::string row;
    for (size_t i = 0; i < line.size(); ++i) row += pad_right(line[i], widths[i] + 2);
    text += row.erase(row.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string models() {
  Lines lines{{"model", "alias", "edition", "d_model", "d_ff", "layers", "heads", "vocab", "context"}};
  for (const ModelPreset& model : model_presets()) {
    const auto number_or = [](const std::optional<int64_t>& value) {
      return value ? std::to_string(*value) : std::string("of the edition");
    };
    lines.push_back({std::string(model.name), std::string(model.alias),
                     model.only ? std::string(name_of(*model.only)) : "any", std::to_string(model.d_model),
                     std::to_string(model.d_ff), std::to_string(model.num_layers), std::to_string(model.num_heads),
                     number_or(model.vocab_size), number_or(model.context_length)});
  }
  return aligned(lines);
}

std::string devices() {
  Lines lines{{"device", "what it is"}};
  for (const DeviceSummary& device : list_devices()) lines.push_back({device.name, device.text});
  return aligned(lines);
}

std::string kernels() {
  Lines lines{{"op", "device", "kernels, the preferred first"}};
  for (const KernelText& op : list_kernels()) {
    lines.push_back({op.op, op.device, fmt::format("{}", fmt::join(op.kernels, ", "))});
  }
  return aligned(lines);
}

std::string metric_table() {
  Lines lines{{"metric", "unit", "better", "what it is", "formula"}};
  for (const Metric& metric : metrics()) {
    lines.push_back({std::string(metric.tag), std::string(name_of(metric.unit)), std::string(name_of(metric.better)),
                     std::string(metric.description), std::string(metric.formula)});
  }
  return aligned(lines);
}

std::string listing(ListTopic topic) {
  switch (topic) {
    case ListTopic::kModels: return models();
    case ListTopic::kDevices: return devices();
    case ListTopic::kKernels: return kernels();
    case ListTopic::kMetrics: return metric_table();
    case ListTopic::kOptions: return options_listing();
  }
  return {};
}

}  // namespace

ExitCode run_command(const ListCommand& command) {
  write_all(STDOUT_FILENO, listing(command.topic), "standard output");
  return ExitCode::kOk;
}

}  // namespace laptime
