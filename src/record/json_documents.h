// Reads files of JSON documents: an array, one document per line, or a single one.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>

#include "base/json.h"
#include "record/record.h"

namespace laptime {

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
// file 'choices.json', line 3". Memory holds one document at a time. Error with the place if the file cannot be read or
// ends inside a document.
void each_json_text(const DocumentFile& file,
                    const std::function<void(std::string_view text, const std::string& place)>& take);

// Parses each document and hands it over with its name for messages: "kernels file 'choices.json': record 3". Error as
// above, and with the place of what is not JSON.
void each_document(const DocumentFile& file,
                   const std::function<void(const Json& document, const std::string& where)>& take);

// Records that `laptime bench --output json`, `laptime show` or peers/run wrote. Error as above, and for a document
// that is no record.
std::vector<Record> read_records(const DocumentFile& file);

}  // namespace laptime
