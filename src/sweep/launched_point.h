// LaunchedPoint: one attempt at a point through a launcher, from the sweep's side.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "measure/run_one.h"
#include "sweep/launch_messages.h"
#include "sweep/pipe.h"

namespace laptime {

class LaunchedPoint {
 public:
  // `words`: the launcher and the program that it runs; `first_line` is what that program reads. After its hello the
  // program has `timeout` for a result. Error if the launcher cannot be started.
  LaunchedPoint(const std::vector<std::string>& words, const std::string& first_line, Seconds timeout);
  // Ends the launcher and waits for it, at most for some seconds.
  ~LaunchedPoint();
  LaunchedPoint(const LaunchedPoint&) = delete;
  LaunchedPoint& operator=(const LaunchedPoint&) = delete;

  // For poll(): the descriptors that say that there is something to look at.
  void add_to(std::vector<pollfd>& polled) const;

  struct Answers {
    std::function<std::string(const PointHello&)> known;  // the line that follows a hello; empty: no more is needed
    std::function<void(const PointProgress&)> progress;
  };
  // Reads and writes as much as is possible now, and ends a launcher that has used up its time.
  void look(const Answers& answers);

  void stop();  // asks for the samples so far, or ends the launcher if the point has not begun
  void end();   // ends the launcher, which has some seconds until it is killed

  bool is_over() const { return child_ < 0; }  // the launcher has exited
  const std::optional<PointHello>& hello() const { return hello_; }
  std::optional<PointResult>& result() { return result_; }
  Seconds placement() const { return placement_; }  // from the start to the hello
  int exit_code() const { return exit_code_; }      // of the launcher; 128 + the signal that ended it

  // How the point was lost: "the launcher ended with exit code 1 before the point began".
  std::string loss() const;
  // The last line that the launcher, or the program on the other machine, wrote to standard error; empty for none.
  std::string last_error() const;
  const std::string& other_output() const { return other_output_; }  // lines that are no messages

 private:
  void write_some();
  void read_lines(const Answers& answers);
  void take_line(std::string_view line, const Answers& answers);
  void enforce_limits();
  void reap(bool waits);
  void send(const std::string& text);
  bool has_begun() const { return hello_.has_value() && outgoing_.empty(); }

  Pipe input_, output_, errors_;
  int output_end_, errors_end_;  // -1 at their end
  pid_t child_ = -1;             // -1 after it has exited
  Descriptor exit_event_;        // readable when it has exited
  std::string outgoing_;
  std::string unread_;
  std::string other_output_, error_text_;
  std::optional<PointHello> hello_;
  std::optional<PointResult> result_;
  PointProgress progress_;
  Seconds started_, timeout_, placement_{};
  std::optional<Seconds> kill_at_;  // since it was told to end
  std::optional<Seconds> end_at_;   // when it is told to end
  const char* ended_for_ = "";      // why the sweep has ended it
  int exit_code_ = 0;
};

}  // namespace laptime
