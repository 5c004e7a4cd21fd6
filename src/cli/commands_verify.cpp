// laptime verify: stored values against ours.
#include <unistd.h>

#include <algorithm>

#include "base/host_clock.h"
#include "cli/commands.h"
#include "cli/destination.h"
#include "cli/progress.h"
#include "data/golden.h"
#include "report/text.h"
#include "report/verification_text.h"
#include "verify/verify.h"

namespace laptime {
namespace {

// A file from outside may name its tensors as it likes: each line is made safe, and stays a line.
std::string safe(const std::string& text) {
  std::string lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines += printable(std::string_view(text).substr(begin, end - begin)) + "\n";
    begin = end + 1;
  }
  return lines;
}

}  // namespace

ExitCode run_command(const VerifyCommand& command) {
  for (const std::string& file : command.files) read_golden(file);  // a bad file is noticed before anything runs
  ProgressLine line(standard_error());
  bool pass = true;
  for (size_t i = 0; i < command.files.size(); ++i) {
    const GoldenCase golden = read_golden(command.files[i]);
    const VerifyProgress progress = [&](const std::string& stage) {
      line.show(i, fmt::format("[{}/{}] {}: {}", i + 1, command.files.size(), command.files[i], stage), host_now());
    };
    const VerifiedFile verified = verify_golden(golden, command.machine, progress);
    line.clear();
    write_all(STDOUT_FILENO, safe(print(verified)), "standard output");
    pass = pass && verified.pass();
  }
  return pass ? ExitCode::kOk : ExitCode::kFailed;
}

}  // namespace laptime
