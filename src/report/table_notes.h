// TableNotes: what stands below a table because its figures cannot be read rightly without it.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "distribution/verdict.h"
#include "report/columns.h"
#include "report/heading.h"
#include "report/speedup.h"

namespace laptime {

// Which peak an mfu is of, rows whose samples skipped updates, what the verdicts of the rows mean, and how to compare
// rows whose verdict is against their speed-up.
class TableNotes {
 public:
  // `details`: few rows, which may be read whole. The date of a peak and skipped steps are in no listing. `baselines`
  // are those of the columns, and must outlive it.
  TableNotes(std::span<const Column> columns, bool details, const Baselines& baselines);

  // How much of a record add() looks at.
  Extent extent() const;
  void add(const Record& record, const Heading& heading);

  // A sentence each.
  std::vector<std::string> lines() const;

 private:
  struct Peaks {
    double low = 0;  // FLOP/s
    double high = 0;
    std::string first_day;  // the earliest day; empty where no day is known
    std::string last_day;
  };
  void add_peak(const Record& record);
  void add_verdict(const Record& record);
  std::string verdict_line() const;  // empty where every row is stable

  const Baselines* baselines_;
  bool has_mfu_ = false;
  bool has_verdict_ = false;
  bool has_speedup_ = false;
  bool details_ = false;
  std::map<std::string, Peaks> peaks_;  // measured ones, by arithmetic
  std::vector<std::string> skips_;
  std::set<Stability> verdicts_;   // that rows or their baselines have, but for the best
  bool some_uncompared_ = false;   // a row has a verdict in place of a speed-up
  std::string compare_command_{};  // of the first such row; may be empty
};

}  // namespace laptime
