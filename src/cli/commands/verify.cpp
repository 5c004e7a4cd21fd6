// Verification of files one after the other.
#include "cli/commands/verify.h"

#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/destination.h"
#include "cli/progress.h"
#include "cli/user_store.h"
#include "data/golden.h"
#include "report/verification_text.h"
#include "table/text.h"
#include "verify/verify.h"

namespace laptime {
namespace {

// Each line made safe for a terminal: a file from outside may name its tensors as it likes.
std::string safe(const std::string& text) {
  std::string lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines += printable(std::string_view(text).substr(begin, end - begin)) + "\n";
    begin = end + 1;
  }
  return lines;
}

std::vector<OptionRow> engine_options() {
  std::vector<OptionRow> rows = option_rows<RunConfig>();
  std::erase_if(rows, [](const OptionRow& row) { return !row.option.configures_engine; });
  for (OptionRow& row : option_rows<OutputConfig>()) {
    if (row.option.flag == "store") rows.push_back(std::move(row));
  }
  for (OptionRow& row : option_rows<VerifyOptions>()) rows.push_back(std::move(row));
  return rows;
}

ExitCode run(const VerifyCommand& command) {
  // Reports a bad file, and options that do not fit a file, before anything runs.
  for (const std::string& file : command.files)
    require_possible(read_golden(file), command.machine, command.options.tf32);
  const VerifyKernels kernels{.known = stored_knowledge(command.store), .tf32 = command.options.tf32};
  ProgressLine line(standard_error());
  bool pass = true;
  for (size_t i = 0; i < command.files.size(); ++i) {
    const GoldenCase golden = read_golden(command.files[i]);
    const VerifyProgress progress = [&](const std::string& stage, Seconds elapsed) {
      line.show(i, fmt::format("[{}/{}] {}: {}", i + 1, command.files.size(), command.files[i], stage), elapsed);
    };
    const VerifiedFile verified = verify_golden(golden, command.machine, progress, find_device, kernels);
    line.clear();
    write_all(STDOUT_FILENO, safe(command.options.verbose ? print(verified) : summary_line(verified)),
              "standard output");
    pass = pass && verified.pass();
  }
  return pass ? ExitCode::kOk : ExitCode::kFailed;
}

}  // namespace

VerifyCommand parse_verify(const CommandWords& words) {
  if (words.positionals.empty()) throw Error("laptime verify: no file; give one or more FILE.safetensors, or folders of models with values");
  VerifyCommand verify{words.positionals, {}, {}, {}};
  OutputConfig output;
  for (const GivenFlag& given : words.flags) {
    if (assign_given(verify.options, given)) continue;
    given.flag == "store" ? assign_given(output, given) : assign_given(verify.machine, given);
  }
  verify.store = output.store;
  return verify;
}

constinit const Command kVerify{
    .name = "verify",
    .arguments = "FILE.safetensors|FOLDER... [OPTIONS]",
    .summary = "our engine against stored PyTorch values",
    .details =
        "Prints a line for each file, and below it the comparisons that failed. --verbose shows every comparison with "
        "its "
        "tolerance.",
    .options = engine_options,
    .parse = action_of<parse_verify, run>,
};

}  // namespace laptime
