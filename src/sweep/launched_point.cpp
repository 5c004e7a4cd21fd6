// Starts the launcher of a point, exchanges messages through it, and ends it within its time limits.
#include "sweep/launched_point.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/error.h"
#include "base/host_clock.h"
#include "sweep/child_messages.h"
#include "sweep/start_program.h"

namespace laptime {
namespace {

constexpr Seconds kResultGrace{60};        // time for a process to report that its point timed out
constexpr Seconds kStopGrace{30};          // time for a stopped point to send its samples
constexpr Seconds kLauncherExitGrace{30};  // time for a launcher to exit after the result
constexpr Seconds kLauncherEndGrace{5};    // time for a launcher to end its program before we kill the launcher
constexpr size_t kKeptText = size_t{16} << 10U;

void keep_end(std::string& text, std::string_view more) {
  text += more;
  if (text.size() > kKeptText) text.erase(0, text.size() - kKeptText);
}

}  // namespace

LaunchedPoint::LaunchedPoint(const std::vector<std::string>& words, const std::string& first_line, Seconds timeout)
    : output_end_(output_.reading()), errors_end_(errors_.reading()), started_(host_now()), timeout_(timeout) {
  // On SIGTERM, a launcher ends its program on the other machine. If the launcher fails to do so, the end of the input
  // ends the program.
  child_ = start_program(words, {.input = input_.reading(),
                                 .output = output_.writing(),
                                 .errors = errors_.writing(),
                                 .signal_of_our_death = SIGTERM,
                                 .has_own_session = true});
  exit_event_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, child_, 0)));
  input_.close_reading();
  output_.close_writing();
  errors_.close_writing();
  fcntl(input_.writing(), F_SETFL, O_NONBLOCK);
  send(first_line);
}

LaunchedPoint::~LaunchedPoint() {
  if (is_over()) return;
  end();
  const Seconds deadline = host_now() + kLauncherEndGrace;
  while (!is_over() && host_now() < deadline) {
    pollfd event{exit_event_, POLLIN, 0};
    poll(&event, 1, 10);
    reap(/*waits=*/false);
  }
  if (is_over()) return;
  kill(-child_, SIGKILL);
  reap(/*waits=*/true);
}

void LaunchedPoint::add_to(std::vector<pollfd>& polled) const {
  if (output_end_ >= 0) polled.push_back({output_end_, POLLIN, 0});
  if (errors_end_ >= 0) polled.push_back({errors_end_, POLLIN, 0});
  if (!outgoing_.empty()) polled.push_back({input_.writing(), POLLOUT, 0});
  if (exit_event_ >= 0) polled.push_back({exit_event_, POLLIN, 0});
}

void LaunchedPoint::look(const Answers& answers) {
  if (is_over()) return;
  // Check for exit first: everything that the launcher wrote before it exited is then already in the pipes.
  reap(/*waits=*/false);
  do {
    write_some();
    read_lines(answers);
    if (errors_end_ >= 0) keep_end(error_text_, read_some(errors_end_));
  } while (is_over() && has_input(output_end_));
  if (!is_over()) enforce_limits();
}

void LaunchedPoint::write_some() {
  if (outgoing_.empty()) return;
  const ssize_t written = write(input_.writing(), outgoing_.data(), outgoing_.size());
  if (written > 0) outgoing_.erase(0, static_cast<size_t>(written));
  if (written < 0 && errno != EAGAIN && errno != EINTR) outgoing_.clear();  // the launcher has closed its input
}

void LaunchedPoint::read_lines(const Answers& answers) {
  if (output_end_ < 0) return;
  const size_t seen = unread_.size();
  unread_ += read_some(output_end_);
  size_t line = 0;
  for (size_t end = unread_.find('\n', seen); end != std::string::npos; end = unread_.find('\n', line)) {
    take_line(std::string_view(unread_).substr(line, end - line), answers);
    line = end + 1;
  }
  unread_.erase(0, line);
  if (unread_.size() > kMaxDocumentBytes) end();
}

void LaunchedPoint::take_line(std::string_view line, const Answers& answers) {
  if (!hello_) {
    hello_ = parse_hello(line);
    if (!hello_) return keep_end(other_output_, std::string(line) + "\n");
    placement_ = host_now() - started_;
    end_at_ = host_now() + timeout_ + kResultGrace;
    const std::string known = answers.known ? answers.known(*hello_) : "";
    return known.empty() ? input_.close_writing() : send(known);
  }
  try {
    ChildMessage message = parse_message(line);
    if (auto* const progress = std::get_if<PointProgress>(&message)) {
      progress_ = *progress;
      if (answers.progress) answers.progress(progress_);
    } else if (auto* const result = std::get_if<PointResult>(&message)) {
      result_ = std::move(*result);
      input_.close_writing();
      end_at_ = host_now() + kLauncherExitGrace;
    }
  } catch (const Error&) {
    keep_end(other_output_, std::string(line) + "\n");
  }
}

void LaunchedPoint::enforce_limits() {
  const Seconds now = host_now();
  if (end_at_ && now >= *end_at_ && !kill_at_) {
    ended_for_ = "no result came in time";
    end();
  }
  if (kill_at_ && now >= *kill_at_) kill(-child_, SIGKILL);
}

void LaunchedPoint::stop() {
  if (result_ || kill_at_) return;
  if (!hello_) return end();
  send(stop_text());
  end_at_ = std::min(end_at_.value_or(host_now() + kStopGrace), host_now() + kStopGrace);
}

void LaunchedPoint::end() {
  if (is_over() || kill_at_) return;
  kill_at_ = host_now() + kLauncherEndGrace;
  outgoing_.clear();
  input_.close_writing();
  kill(-child_, SIGTERM);
}

void LaunchedPoint::send(const std::string& text) {
  outgoing_ += text;
  write_some();
}

void LaunchedPoint::reap(bool waits) {
  int status = 0;
  const pid_t reaped = waitpid(child_, &status, waits ? 0 : WNOHANG);
  if (reaped == 0 || (reaped < 0 && errno == EINTR)) return;
  exit_code_ = exit_code_of(status);
  kill(-child_, SIGTERM);  // a script may have left its program running
  child_ = -1;
  exit_event_ = Descriptor();
}

std::string LaunchedPoint::loss() const {
  const std::string when = !hello_                    ? "before the point began"
                           : progress_.done > 0       ? fmt::format("after step {}", progress_.done)
                           : !progress_.stage.empty() ? fmt::format("at stage: {}", progress_.stage)
                                                      : "before the point reported anything";
  if (*ended_for_ != '\0') return fmt::format("{} {}", ended_for_, when);
  return fmt::format("the launcher ended with exit code {} {}", exit_code_, when);
}

}  // namespace laptime
