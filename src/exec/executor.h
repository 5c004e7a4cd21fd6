// Executor: runs a plan on a backend.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "plan/plan.h"
#include "timeline/timeline.h"

namespace laptime {

// Where a run sets marks in addition to the one at its start: at the end of each phase, or of each launch.
enum class Marks : uint8_t { kPhases, kLaunches };

class Executor {
 public:
  // Allocates the memory of the plan (sources are zero; step buffers are NaN, unless they come from a pool) and
  // prepares its kernels. Set-up steps run before the first step, and again before the next step once a source that
  // they read has been written. Throws Error if the memory is not available. The backend must outlive the executor.
  Executor(Plan plan, Backend& backend);

  const Plan& plan() const { return plan_; }
  bool computes() const { return backend_.computes(); }

  // Runs one training step. The timeline has one event for each series of launches in one phase, timed by marks of the
  // device. The host reads the device's clock at the beginning and at the end of the timeline.
  Timeline run(Marks marks = Marks::kPhases);
  // The device's pool, which provides the memory for a step's values; null if they are in the arena of the plan.
  const StepPool* pool() const { return pool_.get(); }
  // True if run(Marks::kPhases) replays a recording of the device.
  bool is_recorded() const { return recording_ != nullptr; }
  // Runs `count` steps from a recording of the device, even if run() does not use one; calls `before` ahead of each.
  // During this call, values that otherwise come from a pool are in an arena, and outputs of earlier steps are lost.
  // Empty if the device cannot record, or lacks memory for the arena or the recording.
  std::vector<Timeline> run_recorded(int64_t count, const std::function<void()>& before);
  // After run(Marks::kLaunches): the device's time before the first launch, and after each launch.
  std::vector<Seconds> launch_times() const;
  // The time that marking one launch takes: the mean over many consecutive marks.
  Seconds cost_of_mark();

  // Runs the launches of a step up to the first with a NaN or positive infinity in an output, and returns its op and
  // scope; none if no output contains one. Negative infinity masks attention scores and initialises maxima, so it does
  // not indicate an error.
  struct NanSite {
    std::string op;
    std::string scope;
    bool is_infinity = false;  // the output contains an infinity but no NaN
  };
  std::optional<NanSite> find_nan();
  // True if a parameter, an optimizer state or another value that outlives a step contains a NaN or positive infinity.
  bool state_holds_nan() const;

  // Writes a whole source; `size` must be its size in bytes. Returns false if the plan has no such source.
  bool write(const std::string& source, const void* bytes, int64_t size);
  // Writes part of the source in buffer `source` (plan().find_source). Threads may write different parts concurrently.
  void write(int source, int64_t offset, std::span<const std::byte> bytes);
  // Copies a source or an output to the host in its own type and row-major order; empty if it does not exist, or if the
  // backend does not compute values.
  std::vector<std::byte> read_source(const std::string& name) const;
  std::vector<std::byte> read_output(const std::string& name) const;

 private:
  struct BoundStep {
    std::vector<TensorView> operands;  // inputs, then outputs
    std::vector<int> buffers;          // buffers of the operands; -1: none
    Launch launch;
    Seconds pause{};
    size_t awaited = 0;  // communication launches that must be done before the step
  };

  // Consecutive steps of one phase, followed by a mark.
  struct PhaseRun {
    Phase phase = Phase::kForward;
    size_t end = 0;
  };

  // Runs the set-up steps if they have not run since the sources that they read were written.
  void set_up();
  // Enqueues every step and the marks.
  void enqueue(Marks marks);
  // Enqueues every step, and calls `after` with the number of the step; ends the loop if `after` returns false.
  template <class After>
  void enqueue_steps(const After& after);
  void enqueue_step(size_t number);
  // Makes later launches wait for the communication that the step needs.
  void await(size_t number);
  // Returns the outputs of the last step to the pool.
  void free_outputs();
  // Runs one training step: replays the recording, or enqueues the launches if there is none.
  Timeline run_step(Recording* recording, Marks marks);
  // The names of the ranges that contain a step of the plan, outermost first.
  static std::vector<std::string> ranges_of(const PlanStep& step);
  // Ends and begins ranges so that exactly `ranges` are open; null: none.
  void move_to_ranges(const std::vector<std::string>* ranges);
  TensorView view_of(const Operand& operand) const;
  BoundStep bind(const PlanStep& step);
  size_t awaited_by(const PlanStep& step) const;
  std::vector<std::byte> read(const TensorView& view) const;
  // The worst value in a view; NaN is worse than infinity.
  enum class Worst : uint8_t { kUsual, kInfinity, kNan };
  static Worst worst_of(const TensorView& values);
  Worst worst_in(const TensorView& view) const;

  Plan plan_;
  Backend& backend_;
  std::unique_ptr<DeviceMemory> resident_;
  std::unique_ptr<DeviceMemory> arena_;  // null if there is a pool
  std::unique_ptr<StepPool> pool_;
  std::vector<std::vector<std::string>> ranges_;  // the named ranges of each step; empty if no tool records them
  std::vector<std::string> open_ranges_;
  std::vector<std::byte*> pooled_;  // buffer -> its address in the pool; null if it is not allocated
  std::vector<bool> is_output_;     // buffer -> whether it holds an output, which is kept until the next step
  std::vector<BoundStep> bound_, setup_;
  std::vector<bool> feeds_setup_;         // buffer -> whether a set-up step reads it
  std::atomic<bool> needs_setup_ = true;  // atomic, because threads may write different sources
  std::vector<PhaseRun> phase_runs_;
  std::unique_ptr<Recording> recording_;  // a step with marks of phases; null if the device has not recorded one
};

}  // namespace laptime
