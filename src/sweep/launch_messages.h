// Messages between a sweep and the process of a point on another machine: one JSON object per line.
//
//   sweep                        process of the point
//   {"point": {...}}        ->
//                           <-   {"hello": {...}}    once the process may use its cores
//   {"known": {...}}        ->                       stored measurements of the device that the hello names
//                           <-   {"progress": {...}}, ..., {"record": {...}, ...}    (child_messages.h)
//   {"stop": true}          ->                       asks for the samples so far
//   end of the input        ->                       ends the process
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/key.h"
#include "points/expand.h"
#include "prepare/knowledge.h"

namespace laptime {

// A point as sent to its process, with the record fields that only the sweep knows.
struct PointRequest {
  std::map<std::string, std::string> options;  // values as text, keyed by Option::key
  std::string name, label;
  std::string sweep{}, run{}, asked_hash{};

  LAPTIME_FIELDS(options, name, label, sweep, run, asked_hash)
};

PointRequest request_of(const SweepPoint& point);  // leaves sweep, run and asked_hash empty
SweepPoint point_of(const PointRequest& request);  // throws Error for an invalid point

struct PointHello {
  std::string device;  // key of stored measurements (prepare/knowledge.h); empty if the point is refused
  std::string binary;  // Binary::id
  bool asked = true;   // false: the input ended before a request arrived

  LAPTIME_FIELDS(device, binary, asked)
};

// Each function returns one line, including the line break. `probe_text` asks only for a hello.
std::string message_text(const PointRequest& request);
std::string probe_text();
std::string message_text(const PointHello& hello);
std::string message_text(const MachineKnowledge& known);
std::string stop_text();

// None for the line of probe_text. Throws Error for any other line that is not a request.
std::optional<PointRequest> parse_request(std::string_view line);
std::optional<PointHello> parse_hello(std::string_view line);  // none if the line is not a hello
MachineKnowledge parse_known(std::string_view line);           // throws Error if the line has no measurements

}  // namespace laptime
