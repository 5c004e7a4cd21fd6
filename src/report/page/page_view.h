// PageView: the records of a page, and which of them stands for each point.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record/record.h"
#include "record/step_trace.h"
#include "report/heading.h"
#include "report/page/gains.h"
#include "report/page/ratio_doubt.h"
#include "report/records.h"
#include "report/speedup.h"

namespace laptime {

struct PageInput {
  std::vector<Record> records;
  std::vector<std::optional<StepTrace>> traces;  // of each record
};

struct TracedPoint {
  const Record* record = nullptr;
  const StepTrace* trace = nullptr;
  std::string name;
};

class PageView {
 public:
  // The input must not be empty, and must outlive the view.
  explicit PageView(const PageInput& input);
  PageView(const PageView&) = delete;
  PageView& operator=(const PageView&) = delete;

  const std::vector<Record>& records() const { return input_.records; }
  const Heading& heading() const { return heading_; }
  const Baselines& baselines() const { return baselines_; }

  // The name of a record on the page: without what all share, and with the machine where there are several.
  std::string name(const Record& record) const;

  // One record for each point (name, machine and arithmetic): the newest with enough samples for an interval, else the
  // newest that is ok, else the newest. In the order in which the points were first met.
  const std::vector<const Record*>& points() const { return points_; }
  // Those of them with a time of their pass, measured or predicted.
  const std::vector<const Record*>& timed() const { return timed_; }
  // Points with a trace: of those that ran with timed launches, the newest; of the others any.
  const std::vector<TracedPoint>& traced() const { return traced_; }
  // Those with timed launches: the headline first, whole steps before parts of one.
  std::vector<TracedPoint> profiled() const;

  // How many records stand back behind another of the same point.
  size_t repeated() const { return input_.records.size() - points_.size(); }

  // The point that the page says most about: of the passes the most complete one, of the models the largest, and of
  // these the fastest. Null without a measured or predicted time.
  const Record* headline() const { return headline_; }

  // Points whose time says that the machine was disturbed.
  const std::vector<SlowInference>& slow_inferences() const { return slow_inferences_; }
  // What compile mode and number types gain, by pairs of points.
  const std::vector<OptionGains>& gains() const { return gains_; }

 private:
  void choose_points();
  void choose_traces();
  void choose_headline();

  const PageInput& input_;
  RecordList list_;
  Heading heading_;
  Baselines baselines_;
  bool several_machines_ = false;
  std::vector<const Record*> points_;
  std::vector<const Record*> timed_;
  std::vector<TracedPoint> traced_;
  const Record* headline_ = nullptr;
  std::vector<SlowInference> slow_inferences_;
  std::vector<OptionGains> gains_;
};

// The processor of a record.
std::string machine_of(const Record& record);

// How complete a pass is, from inference (0) to a step (4).
int rank_of_pass(std::string_view pass);
int rank_of_pass(const Record& record);

// A whole number of the configuration, such as "context_length"; none where it has none.
std::optional<int64_t> config_number(const Record& record, const char* key);

}  // namespace laptime
