// MemoryUse: the bytes that a step held, as a record states them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/key.h"

namespace laptime {

// A tensor that is live at the predicted peak: what it is, which op makes it and where, and its bytes.
struct TensorUse {
  std::string name;  // of a source, or in the model; empty where it has none
  std::string op;    // empty for a source
  std::string scope;
  std::string phase;  // that makes it
  std::string role;
  std::string dtype;  // empty, as is `shape`, for scratch
  std::vector<int64_t> shape;
  int64_t bytes = 0;

  friend bool operator==(const TensorUse&, const TensorUse&) = default;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("name", self.name);
    visit("op", self.op);
    visit("scope", self.scope);
    visit("phase", self.phase);
    visit("role", self.role);
    visit("dtype", self.dtype);
    visit("shape", self.shape);
    visit(Key{"bytes", Unit::kBytes}, self.bytes);
  }
};

// Bytes. `parts` divides the predicted peak by role: parameter, gradient, optimizer_state, activation, ...
struct MemoryUse {
  std::optional<int64_t> predicted_peak_bytes;
  std::optional<int64_t> peak_bytes;
  std::optional<int64_t> peak_rss_bytes;
  std::optional<int64_t> base_rss_bytes;
  std::optional<int64_t> requested_bytes;  // most that tensors asked for at once: torch's requested_bytes
  std::optional<int64_t> reserved_bytes;   // most of the device's memory taken for them: torch's reserved_bytes
  std::map<std::string, int64_t> parts;
  std::string recompute;  // what backward recomputed: "none", "block", "block in layers 0-3 of 12", "every=2"
  std::optional<int64_t> resident_bytes;        // held before the step begins: weights, states, inputs, constants
  std::optional<int64_t> after_forward_bytes;   // held when forward is done
  std::optional<int64_t> after_backward_bytes;  // held when backward is done
  std::vector<TensorUse> largest;               // tensors held at the predicted peak, the largest first

  friend bool operator==(const MemoryUse&, const MemoryUse&) = default;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit(Key{"predicted_peak_bytes", Unit::kBytes}, self.predicted_peak_bytes);
    visit(Key{"peak_bytes", Unit::kBytes}, self.peak_bytes);
    visit(Key{"peak_rss_bytes", Unit::kBytes}, self.peak_rss_bytes);
    visit(Key{"base_rss_bytes", Unit::kBytes}, self.base_rss_bytes);
    visit(Key{"requested_bytes", Unit::kBytes}, self.requested_bytes);
    visit(Key{"reserved_bytes", Unit::kBytes}, self.reserved_bytes);
    visit(Key{"parts", Unit::kBytes}, self.parts);
    visit("recompute", self.recompute);
    visit(Key{"resident_bytes", Unit::kBytes}, self.resident_bytes);
    visit(Key{"after_forward_bytes", Unit::kBytes}, self.after_forward_bytes);
    visit(Key{"after_backward_bytes", Unit::kBytes}, self.after_backward_bytes);
    visit("largest", self.largest);
  }
};

}  // namespace laptime
