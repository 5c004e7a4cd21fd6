// GraphRun: runs a small graph on the CPU; its sources are written, and its outputs read, as doubles.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "exec/executor.h"
#include "graph/graph.h"

namespace laptime {

class GraphRun {
 public:
  // Each node runs on the first kernel that supports it; float64 uses the reference kernels.
  explicit GraphRun(const Graph& graph);

  // write() rounds values to the type of the source. source() returns the current values of a source, which the graph
  // may update.
  void write(const std::string& source, const std::vector<double>& values);
  void run() { executor_->run(); }
  std::vector<double> output(const std::string& name) const;
  std::vector<double> source(const std::string& name) const;

 private:
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Executor> executor_;
};

// L2 norm of the difference divided by the L2 norm of `truth`; infinite if a value is not finite.
double relative_error(const std::vector<double>& values, const std::vector<double>& truth);

}  // namespace laptime
