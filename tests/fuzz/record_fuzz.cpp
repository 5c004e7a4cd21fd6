// Records as JSON. A record that can be read must survive being written and read again unchanged.
#include "record/record.h"

#include "fuzz/fuzz_target.h"
#include "record/sample_record.h"

namespace laptime::fuzz {

std::vector<std::string> seeds() {
  return {to_text(sample_record()), R"({"schema_version":1,"name":"a","status":"ok"})"};
}

std::vector<std::string> words() {
  std::vector<std::string> words{"[", "]", "{", "}", ",", ":", "\"\"", "null", "true", "\"ok\"", "\"failed\"", "[[[["};
  for (const SchemaKey& key : schema_keys()) {
    const size_t dot = key.path.rfind('.');
    words.push_back('"' + key.path.substr(dot == std::string::npos ? 0 : dot + 1) + "\":");
  }
  return words;
}

}  // namespace laptime::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace laptime;
  const std::string_view text = fuzz::text_of(data, size);
  fuzz::accept_or_refuse([&] {
    const std::string once = to_text(parse_record(text));
    const std::string twice = to_text(parse_record(once));
    LAPTIME_CHECK(once == twice, "{} became {}", once, twice);
  });
  return 0;
}
