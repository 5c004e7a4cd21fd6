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
  // Takes the plan's memory (touched; sources are zero, step buffers NaN), prepares its kernels and runs its set-up
  // steps. Throws Error when memory is refused. The backend must outlive the executor.
  Executor(Plan plan, Backend& backend);

  const Plan& plan() const { return plan_; }
  bool computes() const { return backend_.computes(); }

  // Runs every step once. Events are phases, by the device's marks; begin and end are the host's view of the whole.
  Timeline run();

  // Runs one step and looks at every output: the first that holds a NaN, as "op in scope", or nothing.
  struct NanSite {
    std::string op;
    std::string scope;
  };
  std::optional<NanSite> find_nan();

  // Bytes of a source, by name; false when the plan has no such source. Sizes must match.
  bool write(const std::string& source, const void* bytes, int64_t size);
  // A part of a source, by its buffer (plan().find_source); several threads may write different parts at once.
  void write(int source, int64_t offset, std::span<const std::byte> bytes);
  // A source or an output, copied to the host in its own type and row-major order; empty when it does not exist.
  std::vector<std::byte> read_source(const std::string& name) const;
  std::vector<std::byte> read_output(const std::string& name) const;

 private:
  struct BoundStep {
    std::vector<TensorView> operands;  // inputs, then outputs
    Launch launch;
  };

  // Steps of one phase that follow each other; a mark stands after the last one.
  struct Stretch {
    Phase phase = Phase::kForward;
    size_t end = 0;
  };

  TensorView view_of(const Operand& operand) const;
  BoundStep bind(const PlanStep& step);
  std::vector<std::byte> read(const TensorView& view) const;
  bool holds_nan(const TensorView& view) const;

  Plan plan_;
  Backend& backend_;
  std::unique_ptr<DeviceMemory> resident_;
  std::unique_ptr<DeviceMemory> arena_;
  std::vector<BoundStep> bound_;
  std::vector<Stretch> stretches_;
};

}  // namespace laptime
