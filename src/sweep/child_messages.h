// Messages from the process of a point to its parent, one JSON object per line, and the hooks that send them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/json.h"
#include "data/json_documents.h"
#include "measure/run_one.h"

namespace laptime {

// The text of a message: one line, including the line break.
std::string message_line(const Json& json);
std::string message_text(const PointProgress& progress);
std::string message_text(const Record& planned);  // the record before the first step
// Leaves out a trace that makes the message longer than kMaxDocumentBytes, because no command would read it, and says
// so among the verdict's reasons.
std::string message_text(const PointResult& result);

using ChildMessage = std::variant<PointProgress, Record, PointResult>;

// Throws Error if the line is not a message.
ChildMessage parse_message(std::string_view line);

// Writes all of the text. Ends the process if the reader has closed the pipe.
void send_text(int descriptor, std::string_view text);

// Hooks of a point that send its messages to the descriptor: progress at each new stage and after the first step,
// otherwise at most every 0.1 s.
PointHooks hooks_to(int descriptor);

}  // namespace laptime
