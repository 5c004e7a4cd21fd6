// Executor: a plan bound to a device's memory, run step by step.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "plan/plan.h"
#include "timeline/timeline.h"

namespace laptime {

class Executor {
 public:
  // Takes the plan's memory (touched; sources are zero, step buffers NaN) and runs its set-up steps. Throws Error when
  // memory is refused. The backend must outlive the executor.
  Executor(Plan plan, Backend& backend);

  const Plan& plan() const { return plan_; }

  // Runs every step once; events are phases.
  Timeline run();

  // Runs one step and looks at every output: the first that holds a NaN, as "op in scope", or nothing.
  struct NanSite {
    std::string op;
    std::string scope;
  };
  std::optional<NanSite> find_nan();

  // Bytes of a source, by name; false when the plan has no such source. Sizes must match.
  bool write(const std::string& source, const void* bytes, int64_t size);
  // A source or an output, copied to the host in its own type and row-major order; empty when it does not exist.
  std::vector<std::byte> read_source(const std::string& name) const;
  std::vector<std::byte> read_output(const std::string& name) const;
  // The device bytes of a source, for filling in place; empty when the plan has no such source.
  std::span<std::byte> source_bytes(const std::string& name);

 private:
  struct BoundStep {
    std::vector<TensorView> operands;  // inputs, then outputs
    Launch launch;
  };

  TensorView view_of(const Operand& operand) const;
  BoundStep bind(const PlanStep& step) const;
  std::vector<std::byte> read(const TensorView& view) const;
  bool holds_nan(const TensorView& view) const;

  Plan plan_;
  Backend& backend_;
  std::unique_ptr<DeviceMemory> resident_;
  std::unique_ptr<DeviceMemory> arena_;
  std::vector<BoundStep> bound_;
};

}  // namespace laptime
