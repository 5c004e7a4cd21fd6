// The store of a command: its path, its measurements of devices, and the runs that a user selects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "cli/command.h"
#include "cli/sweep_words.h"
#include "prepare/knowledge.h"
#include "record/store.h"
#include "report/filter.h"

namespace laptime {

// The path that --store asks for: a path, "none", or empty for the user's data directory,
// $XDG_DATA_HOME/laptime/records.sqlite or ~/.local/share/laptime/records.sqlite. None: "none", or there is no such
// directory because HOME is not set. A path is never a URI. Error for ":memory:".
std::optional<std::filesystem::path> store_path(const std::string& option);

// Reads from the store that `option`, the value of --store, names, or from the file itself; each device is read once.
// Nothing is known where there is no store yet. Error if the file cannot be read.
KnowledgeOf stored_knowledge(const std::string& option);
KnowledgeOf knowledge_in(const std::optional<std::filesystem::path>& store);

// The store that `command` reads. Error if there is none, or if the output is a file of it.
std::filesystem::path store_to_read(std::string_view command, const std::string& option, const OutputFile& output);

// Messages on records that cannot be read: the first ones, and how many more there are.
class StoreProblems {
 public:
  void add(const std::string& problem);
  ExitCode end() const;

 private:
  static constexpr size_t kShown = 20;
  size_t count_ = 0;
};

// The options that select the records of a run.
struct ShowOptions {
  std::string run;    // part of the name of a run; empty: every run
  bool last = false;  // the records of the last run alone that was asked for

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    constexpr std::string_view kGroup = "Records";
    visit(own_option(kGroup, "run", "records of the runs whose name has this text; --columns name,run shows the names",
                     {.otherwise = "every run", .value = "TEXT"}),
          self.run);
    visit(own_option(kGroup, "last", "records of the last run, apart from those of laptime calibrate"), self.last);
  }
};

// Narrows a filter to the newest run that was asked for, apart from those of `laptime calibrate`, or to those whose
// name has the text that was given; to none where neither was. A run has the records that it took from the store with
// --resume too.
void narrow_to_run(Filter& filter, const Store& store, const ShowOptions& options);

// Does so, and leaves out the records of `laptime calibrate` unless runs or sweeps were asked for by name.
void narrow_to_measurements(Filter& filter, const Store& store, const ShowOptions& options);

// Error where both --last and --run are given. `command` is the name in the message.
void reject_last_and_run(std::string_view command, const ShowOptions& options);

}  // namespace laptime
