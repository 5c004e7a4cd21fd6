// Names of points, models, machines and dates, and Heading: the parts of names, machine and program that all rows of a
// table share.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "record/record.h"
#include "report/records.h"

namespace laptime {

// The words of the name of a point, "step/model:small/mode:eager", between its slashes.
std::vector<std::string_view> words_in(std::string_view name);
// The words of the first name that every other one has too, "model:small/mode:eager"; empty for a single name.
std::string common_words(const std::vector<std::string>& names);
template <class Points, class Name>
std::string common_words(const Points& points, const Name& name_of) {
  std::vector<std::string> names;
  for (const auto& point : points) names.push_back(name_of(point));
  return common_words(names);
}
// The name without these words; the whole name if nothing would be left.
std::string without_words(const std::string& name, const std::string& left_out);
// "small ctx 64 compile" for "model:small/ctx:64/mode:compile".
std::string spoken_name(const std::string& name);
std::string spoken_name(const std::string& name, const std::string& left_out);  // of without_words()

// The column `model`: the named size that was asked for, and how the model that ran differs from it. A record has
// "custom" for a named size of which a dimension was changed; its name keeps the word that was given. Both functions
// read nothing but these two (Extent::kNames).
//
// "small", "small, 2 layers", "custom".
std::string model_text(const Record& record);
// What a filter finds the model by: the text and, of a changed size, also the size and "custom".
std::vector<std::string> model_words(const Record& record);

// "small, 1 layer, ctx 64, batch 2, step float32 compile · AMD EPYC, 2 threads": the point and its machine.
std::string point_line(const Record& record);

// A record of attention alone.
bool is_attention(const Record& record);

// The card that ran the record's point, such as "NVIDIA H200"; empty where the machine itself did.
std::string device_card_name(const Record& record);
// A word of the record's machine, "avx512" of "isa_used"; empty where it has none.
std::string machine_word(const Record& record, std::string_view key);
// The processor by its whole name, or "AMD EPYC 9R14" for "AMD EPYC 9R14 96-Core Processor".
std::string processor_name(const Record& record);
std::string brief_processor(std::string name);
// "2 threads"; empty where the record does not know.
std::string threads_text(const Record& record);

// The day of a date in ISO 8601, "2025-11-21", and the date to the minute, "2025-11-21 10:15 UTC".
std::string day_of(const std::string& created);
std::string minute_of(const std::string& created);

class Heading {
 public:
  // All rows of the table.
  explicit Heading(const Records& rows);

  // The name of a row without the parts that all rows share: "bfloat16 ctx 256"; its label if it has one. Names the
  // device if the rows are predicted for several.
  std::string short_name(const Record& record) const;

  bool some_predicted() const { return some_predicted_; }
  bool some_measured() const { return some_measured_; }
  bool some_of_others() const { return some_of_others_; }  // whose steps another program ran
  size_t run_count() const { return runs_.size(); }
  size_t row_count() const { return rows_; }
  const std::set<std::string>& passes() const { return passes_; }
  bool only_attention() const { return only_attention_; }  // rows of attention alone

  // Of `first`, a whole record of the table: machine, threads, instruction set, program, date and load.
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
  bool keeps_pass_ = false;  // a row has no part of its own
  std::vector<std::string> shared_;
  std::set<std::vector<std::string>> without_own_;  // parts of rows that had none of their own so far
  std::set<std::string> devices_;                   // known where some row is predicted
  std::set<std::string> machines_;
  std::set<std::string> cards_;  // empty: the processor itself
  std::set<std::string> commits_;
  std::string first_created_;
  std::string last_created_;
  std::set<std::string> runs_;
  std::set<std::string> passes_;
  bool only_attention_ = true;
};

}  // namespace laptime
