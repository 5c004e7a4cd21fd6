// LaunchedPoint: one attempt to run a point through a launcher, seen from the sweep.
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
#include "sweep/program_end.h"

namespace laptime {

class LaunchedPoint {
 public:
  // Starts `words`, the launcher followed by the program that it runs, and sends `first_line` to the program. After its
  // hello, the program has `timeout` to send a result. Throws Error if the launcher cannot be started.
  LaunchedPoint(const std::vector<std::string>& words, const std::string& first_line, Seconds timeout);
  // Ends the launcher and waits for it for a few seconds, then kills it.
  ~LaunchedPoint();
  LaunchedPoint(const LaunchedPoint&) = delete;
  LaunchedPoint& operator=(const LaunchedPoint&) = delete;

  // Adds the descriptors to poll: one of them is ready when look() has something to do.
  void add_to(std::vector<pollfd>& polled) const;

  struct Answers {
    std::function<std::string(const PointHello&)> known;  // returns the reply to a hello; empty: closes the input
    std::function<void(const PointProgress&)> progress;
  };
  // Reads and writes as much as possible without waiting, and ends the launcher if its time is up.
  void look(const Answers& answers);

  void stop();  // asks for the samples so far, or ends the launcher if the point has not begun
  void end();   // ends the launcher; look() kills it if it does not exit within a few seconds

  bool is_over() const { return child_ < 0; }  // whether the launcher has exited
  const std::optional<PointHello>& hello() const { return hello_; }
  std::optional<PointResult>& result() { return result_; }
  Seconds placement() const { return placement_; }  // time from the start to the hello
  int exit_code() const { return exit_code_; }  // exit code of the launcher; 128 + signal number if a signal ended it

  // Describes how the point was lost: "the launcher ended with exit code 1 before the point began".
  std::string loss() const;
  // The last line on standard error, from the launcher or the program on the other machine; empty if there is none.
  std::string last_error() const { return last_line(error_text_); }
  const std::string& other_output() const { return other_output_; }  // lines that are not messages

 private:
  void write_some();
  void read_lines(const Answers& answers);
  void take_line(std::string_view line, const Answers& answers);
  void enforce_limits();
  void reap(bool waits);
  void send(const std::string& text);

  Pipe input_, output_, errors_;
  int output_end_, errors_end_;  // -1 at end of file
  pid_t child_ = -1;             // the launcher; -1 after it has exited
  Descriptor exit_event_;        // readable when the launcher has exited
  std::string outgoing_;
  std::string unread_;
  std::string other_output_, error_text_;
  std::optional<PointHello> hello_;
  std::optional<PointResult> result_;
  PointProgress progress_;
  Seconds started_, timeout_, placement_{};
  std::optional<Seconds> kill_at_;  // when to kill the launcher; set once it was told to end
  std::optional<Seconds> end_at_;   // when to tell the launcher to end
  const char* ended_for_ = "";      // why the sweep ended the launcher; empty if it did not
  int exit_code_ = 0;
};

}  // namespace laptime
