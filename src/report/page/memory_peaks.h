// What each point of a page holds when it holds most, and how that grows with the context.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/page/page_parts.h"
#include "report/page/page_view.h"

namespace laptime {

// Bytes of the peak by category, from the ledger of a trace or from the roles that a record states.
struct Peak {
  const Record* record = nullptr;
  const StepTrace* trace = nullptr;  // null where there is none
  std::string name;
  int64_t bytes = 0;
  bool held = false;
  std::map<std::string, int64_t> parts{};  // by key: "parameters_bytes"
  std::string where{};                     // "in backward, by matmul in layers.0.ffn"; empty without a trace

  // "held", "predicted" or "out of memory".
  std::string state() const;
  int64_t operator[](const ChartPart& part) const;
};

// Of each point of the page whose bytes are known.
std::vector<Peak> peaks_of(const PageView& view);

// Everything that bytes can be held for, as pictures stack it.
std::vector<ChartPart> memory_parts();
// Those that some peak has, and the most bytes that one has.
std::vector<ChartPart> parts_of(const std::vector<Peak>& peaks);
int64_t largest_of(const std::vector<Peak>& peaks, const ChartPart& part);

// What a chart leaves out because it would not be seen: " Too little to be seen: workspace (at most 12.0 KiB)."; empty
// for nothing.
class Unseen {
 public:
  // `bytes`: the most that a part has. Whether it is left out where the whole axis has `axis` bytes.
  bool leaves_out(std::string_view title, int64_t bytes, int64_t axis);
  std::string sentence() const;

 private:
  std::vector<std::string> parts_;
};

// Points that differ in their context alone, by context, ascending.
struct ContextLine {
  std::string name;  // of the points, without their context
  std::vector<std::pair<int64_t, const Peak*>> peaks;
  bool has_headline = false;
};
// Those of several contexts, that of the headline first. The peaks must outlive them.
std::vector<ContextLine> context_lines(const PageView& view, const std::vector<Peak>& peaks);

// "step float32 eager: the peak grows from 2.1 GiB at context 256 to 3.7 GiB at context 1024. At context 1024
// 1.2 GiB (32 %) grows with the square of the context, most of it written by softmax, ..."
std::string growth_sentence(const ContextLine& line);

}  // namespace laptime
