// Names of points, models, machines and dates, and Heading: the parts of the name, machine and program that all rows of
// a table share.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "config/label.h"
#include "record/record.h"
#include "report/records.h"

namespace laptime {

// The column `model`: the requested named size, and how the model that ran differs from it: "small", "small, 2 layers",
// "custom". For a named size with a changed dimension, `config.model` is "custom", but the record's name keeps the
// requested size. This function and the next need only Extent::kNames.
std::string model_text(const Record& record);
// The names that a filter accepts for the model: model_text() and, for a changed size, also the size and "custom".
std::vector<std::string> model_words(const Record& record);

// "small, 1 layer, ctx 64, batch 2, step float32 compile · AMD EPYC, 2 threads": the point and its machine.
std::string point_line(const Record& record);

bool is_attention(const Record& record);

// The GPU that ran the record's point, such as "NVIDIA H200"; empty if the CPU ran the point.
std::string device_card_name(const Record& record);
// The full processor name, "AMD EPYC 9R14 96-Core Processor", and its short form, "AMD EPYC 9R14".
std::string processor_name(const Record& record);
std::string brief_processor(std::string name);
// "h100" for the device "roofline:h100".
std::string brief_device(const std::string& device);
// The machine that the record's times apply to: the GPU or the processor; for a prediction, the predicted device.
std::string machine_of(const Record& record);
// The machine, with a mark if its times are predicted: "h100 (predicted)".
inline constexpr std::string_view kPredictedMark = " (predicted)";
std::string marked_machine_of(const Record& record);
// "2 threads"; empty if the record does not state the number.
std::string threads_text(const Record& record);

// The day of an ISO 8601 date, "2025-11-21", and the date to the minute, "2025-11-21 10:15 UTC".
std::string day_of(const std::string& created);
std::string minute_of(const std::string& created);

class Heading {
 public:
  explicit Heading(const Records& rows);

  // A row's name without the parts that all rows share: "bfloat16 ctx 256". Includes the device if the rows are
  // predicted for several devices. A label replaces the name, or precedes it if several points share the label.
  std::string short_name(const Record& record) const;

  bool some_predicted() const { return some_predicted_; }
  bool some_measured() const { return some_measured_; }
  bool some_of_others() const { return some_of_others_; }  // some rows come from another program
  size_t run_count() const { return runs_.size(); }
  size_t row_count() const { return rows_; }
  const std::set<std::string>& passes() const { return passes_; }
  bool only_attention() const { return only_attention_; }  // all rows run attention by itself

  // Machine, threads, instruction set, program, dates and load of the rows. `first`, one of the rows, must be a
  // complete record.
  std::vector<std::string> facts(const Record& first) const;
  std::string shared_text(const Record& first) const;   // "small, 1 layer, ctx 64, step"; may be empty
  std::string machine_text(const Record& first) const;  // "AMD EPYC 9R14, 2 threads", "predicted for h100"

 private:
  void add(const Record& record);
  bool only_predicted() const { return some_predicted_ && !some_measured_; }
  std::vector<std::string> machine_parts(const Record& first, bool is_brief) const;

  size_t rows_ = 0;
  bool some_predicted_ = false;
  bool some_measured_ = false;
  bool some_of_others_ = false;
  bool keeps_pass_ = false;  // names keep the pass, because a row's name would otherwise be empty
  std::vector<std::string> shared_;
  std::map<std::string, std::string> label_points_;  // name and device of the first point with each label
  std::set<std::string> repeated_labels_;            // labels of several points
  std::set<std::vector<std::string>> without_own_;   // parts of rows whose short name is empty so far
  std::set<std::string> devices_;                    // empty unless some row is predicted
  std::set<std::string> machines_;
  std::set<std::string> cards_;  // names of the GPUs that ran rows; an empty name stands for the CPU
  std::set<std::string> commits_;
  std::string first_created_;
  std::string last_created_;
  std::set<std::string> runs_;
  std::set<std::string> passes_;
  bool only_attention_ = true;
};

}  // namespace laptime
