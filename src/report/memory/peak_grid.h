// PeakGrid: the peaks of a sweep as a grid, in which those that do not fit into the device's memory are marked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "record/record.h"
#include "report/grid.h"

namespace laptime {

// "3.000 GiB that the step may use"
std::string usable_bytes_text(int64_t bytes);
// The same with what sets it where the record is a plan: "... (--memory-limit)", "76.00 GiB that the step may use (95 %
// of 80.00 GiB)". The record must have bytes_available.
std::string usable_bytes_text(const Record& record);

class PeakGrid {
 public:
  // `is_held`: a run held these bytes; else they are predicted.
  void add(const Record& record, int64_t bytes, bool is_held);

  // One side has the passes and number types, the other everything else by which the points differ. None where all
  // points have the same pass and number type.
  std::optional<Grid> grid() const;

  size_t peaks() const { return cells_.size(); }
  size_t held() const;

 private:
  struct Cell {
    std::string point;  // its name without pass and number type
    std::string pass;   // "step float32"
    int64_t bytes = 0;
    bool is_held = false;
    bool fits = true;  // into the memory of its device
  };

  struct Limit {
    int64_t bytes = 0;
    std::string text;
  };

  // The bytes from which on nothing fits; none where everything does, or where a larger peak fits another device.
  std::optional<int64_t> least_too_large() const;

  std::string batch_text() const;
  // The limit of all points; none where they differ by more than the available memory does from moment to moment.
  std::optional<std::string> limit_text() const;

  std::vector<Cell> cells_;
  std::vector<std::string> batches_;  // of all points, each once
  std::vector<Limit> limits_;         // what the points may use, as far as that is known
};

}  // namespace laptime
