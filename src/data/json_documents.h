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

// A file for which a command asked, and what to say if it is something else.
struct DocumentFile {
  std::string path;
  const char* purpose = "";                             // "kernels file"
  const char* advice = "";                              // "give records written by ..."
  int64_t limit = std::numeric_limits<int64_t>::max();  // bytes
};

// The name of the file for messages: "kernels file 'choices.json'".
std::string text_of(const DocumentFile& file);

// Hands over the text of each document in order, an array's elements one by one, with its place for messages: "kernels
// file 'choices.json', line 3". Memory holds one document at a time. Error with the place if the file cannot be read,
// ends inside a document, or has one beyond the limits above.
void each_json_text(const DocumentFile& file,
                    const std::function<void(std::string_view text, const std::string& place)>& take);

// Parses each document and hands it over with its name for messages: "kernels file 'choices.json': record 3". Error as
// above, and with the place of what is not JSON.
void each_document(const DocumentFile& file,
                   const std::function<void(const Json& document, const std::string& where)>& take);

}  // namespace laptime
