// Short phrases that answers are made of: rounded values, names of points and places, parts filled into lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/finding.h"
#include "record/record.h"

namespace laptime {

// Seconds and bytes with three digits: "1.10 s", "581 MiB".
std::string brief_seconds(double seconds);
std::string brief_bytes(int64_t bytes);
// "3,780".
std::string grouped(int64_t number);
// "38 s", "12 min", "8.8 h", "3.2 days".
std::string long_time(double seconds);

// "76.0 GiB (95 % of 80.0 GiB)", "3.00 GiB (--memory-limit)": what a step may use.
std::string usable_words(const Finding& memory);

// "saved activations" for the key "saved_activations".
std::string category_words(std::string_view key);

// "matmul at layers.3.attn.scores"; the op alone where it has no scope.
std::string place_words(const std::string& op, const std::string& scope);

// "small, 1 layer, ctx 64, batch 2, step float32 compile · AMD EPYC, 2 threads": the point and its machine.
std::string point_line(const Record& record);
// "small ctx 64 compile" for "model:small/ctx:64/mode:compile".
std::string spoken_name(const std::string& name);
// Without the words of `left_out` (report/point_names.h), unless nothing would be left.
std::string spoken_name(const std::string& name, const std::string& left_out);

// Parts separated by three spaces, filled into lines of `width` columns that begin with two spaces.
std::vector<std::string> filled(const std::vector<std::string>& parts, size_t width);

}  // namespace laptime
