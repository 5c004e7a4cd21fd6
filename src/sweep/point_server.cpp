// Runs the point in a child process, like a sweep on this machine, and forwards its messages. Ignores failed writes: if
// the sweep has ended, the input ends as well.
#include "sweep/point_server.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/cores.h"
#include "base/error.h"
#include "measure/describe.h"
#include "measure/run_one.h"
#include "sweep/child.h"
#include "sweep/child_messages.h"
#include "sweep/claims.h"
#include "sweep/launch_messages.h"
#include "sweep/line_input.h"
#include "sweep/measured_point.h"
#include "sweep/pipe.h"
#include "sweep/stop_signals.h"
#include "sweep/sweep_points.h"

namespace laptime {
namespace {

// Waits until this process has claimed its cores. None if a signal arrives or the input ends first.
std::optional<CoreClaim> claim_cores(int input, StopSignals& signals) {
  constexpr int kPause = 2;  // milliseconds
  const std::vector<int64_t> cores = allowed_cores();
  for (;;) {
    if (std::optional<CoreClaim> claim = CoreClaim::take(cores)) return claim;
    // The sweep sends nothing before the hello, so any event on the input means that the sweep has ended.
    std::array<pollfd, 2> waiting{pollfd{input, POLLIN, 0}, pollfd{signals.descriptor(), POLLIN, 0}};
    if (poll(waiting.data(), waiting.size(), kPause) > 0) return std::nullopt;
  }
}

ResolvedPoint checked_point(const PointRequest& request) {
  SweepPoint point = point_of(request);
  try {
    return check_inputs({point}).front();
  } catch (const Error& error) {  // the point is invalid
    point.invalid = error.what();
    return point;
  }
}

Record describe(const ResolvedPoint& point, const PointRequest& request) {
  Record record = describe_point(point);
  record.sweep = request.sweep;
  record.run = request.run;
  record.asked_hash = request.asked_hash;
  return record;
}

PointResult run(const ResolvedPoint& point, const Record& described, const MachineKnowledge& known, int input,
                int output, StopSignals& signals) {
  if (!point.invalid.empty()) return refused_point(point, described);
  ChildCallbacks callbacks;
  callbacks.progress = [output](const PointProgress& progress, Seconds) { write_all(output, message_text(progress)); };
  callbacks.output = [](std::string_view text) { write_all(STDERR_FILENO, text); };
  return measured_point(point, described, known, {}, {.timeout = Seconds(point.config.timeout), .asker = input},
                        signals, callbacks);
}

}  // namespace

void serve_point(int input, int output) {
  StopSignals signals;
  LineInput lines(input, signals, kMaxDocumentBytes);
  const std::optional<LineInput::Line> first = lines.next();
  if (!first) {
    write_all(output, message_text(PointHello{.device = {}, .binary = this_binary().id, .asked = false}));
    throw Error("laptime point: no point on standard input; laptime bench --launcher sends one");
  }
  const std::optional<PointRequest> request = parse_request(first->text);
  if (!request) {
    write_all(output, message_text(PointHello{.device = {}, .binary = this_binary().id}));
    return;
  }
  const std::optional<CoreClaim> claim = claim_cores(input, signals);
  if (!claim) return;
  const ResolvedPoint point = checked_point(*request);
  const Record described = describe(point, *request);
  write_all(output, message_text(PointHello{.device = point.device_key, .binary = described.binary.id}));
  const std::optional<LineInput::Line> known = lines.next();
  if (!known || !known->is_complete || lines.has_more()) return;  // the sweep has ended or asked to stop
  write_all(output, message_text(run(point, described, parse_known(known->text), input, output, signals)));
}

}  // namespace laptime
