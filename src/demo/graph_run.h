// GraphRun: a small graph on the CPU, its sources and outputs as numbers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "exec/executor.h"
#include "graph/graph.h"

namespace laptime {

class GraphRun {
 public:
  // The first kernel that supports a node runs it; float64 is computed by the references.
  explicit GraphRun(const Graph& graph);

  // Values of a source, rounded to its type; and of an output or of a source that the graph updates.
  void write(const std::string& source, const std::vector<double>& values);
  void run() { executor_->run(); }
  std::vector<double> output(const std::string& name) const;
  std::vector<double> source(const std::string& name) const;

 private:
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Executor> executor_;
};

// L2 norm of the difference over that of the truth; infinite where a value is not finite.
double relative_error(const std::vector<double>& values, const std::vector<double>& truth);

}  // namespace laptime
