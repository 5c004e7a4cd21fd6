// Waits for input and for signals at once.
#include "cli/line_input.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace laptime {

// Waits until there is input or a signal. False when no more is to come.
bool LineInput::read_more() {
  std::array<pollfd, 2> ready{pollfd{descriptor_, POLLIN, 0}, pollfd{signals_.descriptor(), POLLIN, 0}};
  if (poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) has_ended_ = true;
  if (signals_.count() > 0) is_stopped_ = true;
  if (is_stopped_ || has_ended_) return false;
  if (ready[0].revents == 0) return true;
  std::array<char, 1 << 12> bytes{};
  const ssize_t count = read(descriptor_, bytes.data(), bytes.size());
  if (count < 0 && errno == EINTR) return true;
  has_ended_ = count <= 0;
  if (count > 0) unread_.append(bytes.data(), static_cast<size_t>(count));
  return !has_ended_;
}

std::optional<LineInput::Line> LineInput::next() {
  for (;;) {
    const size_t end = unread_.find('\n');
    if (end == std::string::npos && unread_.size() > most_bytes_)
      return Line{std::exchange(unread_, {}).substr(0, most_bytes_ + 1)};
    if (end != std::string::npos) {
      Line line{unread_.substr(0, end)};
      unread_.erase(0, end + 1);
      return line;
    }
    if (read_more()) continue;
    if (is_stopped_ || unread_.empty()) return std::nullopt;
    return Line{std::exchange(unread_, {}), false};
  }
}

}  // namespace laptime
