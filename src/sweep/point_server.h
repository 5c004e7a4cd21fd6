// serve_point: runs the one point that a sweep on another machine sends.
#pragma once

namespace laptime {

// Reads the point from `input` and writes messages to `output` (launch_messages.h). Output of the point goes to
// standard error. Waits until no other point of laptime measures on the cores of this process. The end of the input
// ends the point. Throws Error if the input is not a point. The caller must have a single thread.
void serve_point(int input, int output);

}  // namespace laptime
