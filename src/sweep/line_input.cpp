// Reads lines with poll(), so that a signal ends the wait.
#include "sweep/line_input.h"

#include <poll.h>

#include <array>
#include <cerrno>
#include <utility>

#include "sweep/pipe.h"

namespace laptime {

std::optional<LineInput::Line> LineInput::next() {
  for (;;) {
    const size_t end = unread_.find('\n');
    if (end != std::string::npos) {
      Line line{unread_.substr(0, end)};
      unread_.erase(0, end + 1);
      return line;
    }
    if (unread_.size() > most_bytes_) return Line{std::exchange(unread_, {}).substr(0, most_bytes_ + 1)};
    if (read_more()) continue;
    if (is_stopped_ || unread_.empty()) return std::nullopt;
    return Line{std::exchange(unread_, {}), false};
  }
}

bool LineInput::read_more() {
  if (descriptor_ < 0) return false;
  std::array<pollfd, 2> ready{pollfd{descriptor_, POLLIN, 0}, pollfd{signals_.descriptor(), POLLIN, 0}};
  if (poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) return false;
  is_stopped_ = signals_.count() > 0;
  if (is_stopped_) return false;
  unread_ += read_some(descriptor_);
  return descriptor_ >= 0;
}

}  // namespace laptime
