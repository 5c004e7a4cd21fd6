// Rows of option tables, and the tables of RunConfig and OutputConfig.
#include "config/option_table.h"

#include "config/output_config.h"
#include "config/run_config.h"

namespace laptime {

OptionRow option_row(const Option& option, ValueKind kind, bool is_optional, std::vector<std::string_view> choices,
                     std::string initial) {
  return {.option = option,
          .kind = kind,
          .is_optional = is_optional,
          .choices = std::move(choices),
          .fallback = option.otherwise.empty() ? std::move(initial) : std::string(option.otherwise)};
}

template std::vector<OptionRow> option_rows<RunConfig>();
template std::vector<OptionRow> option_rows<OutputConfig>();
template std::optional<Option> find_option<RunConfig>(std::string_view);
template std::optional<Option> find_option<OutputConfig>(std::string_view);
template bool assign(RunConfig&, std::string_view, std::string_view, std::string_view);
template bool assign(OutputConfig&, std::string_view, std::string_view, std::string_view);
template std::optional<std::string> option_text(const RunConfig&, std::string_view);
template std::optional<std::string> option_text(const OutputConfig&, std::string_view);

}  // namespace laptime
