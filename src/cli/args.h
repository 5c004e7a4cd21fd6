// The command line: words in, one plain command out.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/option.h"
#include "config/output_config.h"
#include "config/run_config.h"
#include "config/sweep.h"

namespace laptime {

// `laptime bench`, and `laptime attention`, which is a sweep of attention alone.
struct BenchCommand {
  Sweep sweep;
};

enum class Dump : uint8_t { kNone, kGraph, kPlan };

constexpr auto choices_of(Dump) {
  return std::array{Choice<Dump>{Dump::kNone, "none"}, Choice<Dump>{Dump::kGraph, "graph"},
                    Choice<Dump>{Dump::kPlan, "plan"}};
}

struct ExplainCommand {
  Sweep sweep;
  Dump dump = Dump::kNone;
};

struct VerifyCommand {
  std::vector<std::string> files;
  RunConfig machine;  // only the options of the engine (Option::of_engine) are the user's
};

struct ShowCommand {
  std::string filter;  // empty: every record
  OutputConfig output;
};

enum class ListTopic : uint8_t { kModels, kDevices, kKernels, kMetrics, kOptions };

constexpr auto choices_of(ListTopic) {
  return std::array{Choice<ListTopic>{ListTopic::kModels, "models"}, Choice<ListTopic>{ListTopic::kDevices, "devices"},
                    Choice<ListTopic>{ListTopic::kKernels, "kernels"},
                    Choice<ListTopic>{ListTopic::kMetrics, "metrics"},
                    Choice<ListTopic>{ListTopic::kOptions, "options"}};
}

struct ListCommand {
  ListTopic topic = ListTopic::kModels;
};

struct HelpCommand {
  std::string text;
};

struct VersionCommand {};

using Command =
    std::variant<BenchCommand, ExplainCommand, VerifyCommand, ShowCommand, ListCommand, HelpCommand, VersionCommand>;

// The words after the program's name. Reads the file of --config. Error for anything that is not a command: what is
// wrong, where, and the nearest known word.
Command parse_arguments(const std::vector<std::string>& words);

}  // namespace laptime
