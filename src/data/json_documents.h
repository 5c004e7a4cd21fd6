// Reads files of JSON documents: an array, one document per line, or a single one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>

#include "base/json.h"

namespace laptime {

inline constexpr size_t kMaxDocumentBytes = size_t{64} << 20U;
inline constexpr int kMaxDocumentDepth = 32;

// A file that a command expects, and the advice in messages if its content is something else.
struct DocumentFile {
  std::string path;
  const char* purpose = "";                             // "kernels file"
  const char* advice = "";                              // "give records written by ..."
  int64_t limit = std::numeric_limits<int64_t>::max();  // bytes
};

// The file's name in messages: "kernels file 'choices.json'".
std::string text_of(const DocumentFile& file);

// Passes the text of each document in order (the elements of an array one by one) with its location for messages:
// "kernels file 'choices.json', line 3". Only one document is in memory at a time. Throws Error with the location if
// the file cannot be read, is empty or larger than file.limit, ends within a document, or has a document that exceeds
// the limits above.
void each_json_text(const DocumentFile& file,
                    const std::function<void(std::string_view text, const std::string& place)>& take);

// Parses each document and passes it with its name for messages: "kernels file 'choices.json': record 3". Throws Error
// like each_json_text, and also for invalid JSON, with its location.
void each_document(const DocumentFile& file,
                   const std::function<void(const Json& document, const std::string& where)>& take);

}  // namespace laptime
