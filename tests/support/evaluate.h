// Running a graph on the references, in float64 if its sources are: what tests compare with.
#pragma once

#include <map>
#include <vector>

#include "graph/graph.h"
#include "support/operand.h"

namespace laptime::test {

// Executes the nodes in order, each storage in memory of its own.
class Evaluation {
 public:
  explicit Evaluation(const Graph& graph);

  // Sets a source before `run`.
  void set(ValueId source, const std::vector<double>& values);
  void run();
  // Elements by row-major index.
  std::vector<double> values(ValueId id);

 private:
  TensorView view(ValueId id);

  const Graph& graph_;
  std::map<StorageId, GuardedTensor> storages_;
};

}  // namespace laptime::test
