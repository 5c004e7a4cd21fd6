// Runs a graph with the reference implementations. With float64 sources and no casts, all floating-point values are
// float64.
#pragma once

#include <map>
#include <vector>

#include "graph/graph.h"
#include "support/operand.h"

namespace laptime::test {

// Runs the nodes in order; each storage has its own memory.
class Evaluation {
 public:
  explicit Evaluation(const Graph& graph);

  // Sets the elements of a source, in row-major order. Call it before `run`.
  void set(ValueId source, const std::vector<double>& values);
  void run();
  // The elements of a value in row-major order.
  std::vector<double> values(ValueId id);

 private:
  TensorView view(ValueId id);

  const Graph& graph_;
  std::map<StorageId, GuardedTensor> storages_;
};

}  // namespace laptime::test
