// Model, then passes.
#include "run/step_graph.h"

#include "model/gpt.h"

namespace laptime {

PipelineOptions pipeline_options(const RunConfig& config) {
  return {kept_by_eager(config.model.edition), autocast_dtype(config.dtype), config.pass == Pass::kForward};
}

Graph lowered_graph(const RunConfig& config, const StepOutputs& keep, const PassObserver& observer) {
  return run_passes(build_train_step(config, keep), pipeline_options(config), observer);
}

}  // namespace laptime
