// TableNotes: what stands below a table because its figures cannot be read rightly without it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "distribution/verdict.h"
#include "report/columns.h"
#include "report/heading.h"
#include "report/speedup.h"

namespace laptime {

// Which peak an mfu is of, reasons that several verdicts have, rows whose samples skipped updates, what the verdicts of
// the rows mean, what warm-up does to a mean, and how to compare rows whose verdict is against their speed-up.
class TableNotes {
 public:
  // `details`: few rows, which may be read whole. The date of a peak and skipped steps are in no listing. `baselines`
  // are those of the columns, and must outlive it. `store` is the value of --store, for the commands in the notes.
  TableNotes(std::span<const Column> columns, bool details, const Baselines& baselines, std::string_view store);

  // How much of a record add() looks at.
  Extent extent() const;
  void add(const Record& record, const Heading& heading);

  // The reasons of a record's verdict that no row before it had, where rows say them. Below the table each reason of
  // several rows stands again, with their number.
  std::vector<std::string> take_reasons(const Record& record);

  // A sentence each.
  std::vector<std::string> lines() const;

 private:
  struct Peaks {
    double low = 0;  // FLOP/s
    double high = 0;
    std::string first_day{};  // the earliest day; empty where no day is known
    std::string last_day{};
  };
  void add_peak(const Record& record);
  void add_verdict(const Record& record);
  std::string verdict_line() const;  // empty where every row is stable

  std::vector<std::string> compare_lines() const;
  // "--columns NAME says WHAT", as a command where the records are in a store.
  std::string columns_line(std::string_view before, std::string_view columns, std::string_view what) const;

  const Baselines* baselines_;
  std::string store_;
  bool has_mfu_ = false;
  bool has_verdict_ = false;
  bool has_speedup_ = false;
  bool has_speedup_of_phases_ = false;
  bool has_document_columns_ = false;         // which have neither phases nor verdicts
  bool hides_first_steps_ = false;            // medians alone, which first steps hardly move
  std::set<std::string> warmups_;             // of rows whose command varied the warm-up
  std::vector<std::string_view> of_columns_;  // notes of the columns, each once
  bool details_ = false;
  std::map<std::string, Peaks> peaks_;  // measured ones, by arithmetic
  std::vector<std::string> skips_;
  bool says_reasons_ = false;  // below its rows
  // Of the rows that differ in nothing but the warm-up: the fewest and the most steps of it, and their times.
  struct WarmedMean {
    int64_t warmup = 0;
    double mean = 0;  // seconds
    std::optional<double> std;
    int64_t samples = 0;
  };
  struct WarmupEnds {
    WarmedMean fewest;
    WarmedMean most;
  };
  void add_warmup(const Record& record);
  std::vector<std::string> warmup_lines() const;
  std::map<std::string, WarmupEnds> warmup_ends_;  // by the name without the warm-up
  struct SharedReason {
    std::string reason;
    size_t rows = 0;
  };
  std::vector<SharedReason> reasons_;
  std::set<Stability> verdicts_;  // that rows or their baselines have, but for the best
  // Of the rows whose verdict is against their speed-up.
  bool some_uncompared_ = false;
  bool some_times_ = false;                      // some row has a time
  bool some_refused_ = false;                    // of their times, some have no speed-up
  bool some_fixed_ = false;                      // the number of steps was given
  std::vector<std::string> compare_commands_{};  // each once
};

}  // namespace laptime
