// Parses a launcher command and the part of a sweep.
#include "config/launch_options.h"

#include "base/error.h"
#include "base/proc_text.h"
#include "base/words.h"

namespace laptime {
namespace {

// Parses a whole number of at most a million; none for any other text.
std::optional<int64_t> count_of(std::string_view text) {
  constexpr int64_t kMost = 1'000'000;
  const std::optional<int64_t> number = parse_int64(text);
  return number && *number >= 0 && *number <= kMost ? number : std::nullopt;
}

SweepPart part_of_array(std::string_view where, const SlurmJob& job) {
  const std::optional<int64_t> task = count_of(job.task_id);
  const std::optional<int64_t> first = count_of(job.task_min);
  const std::optional<int64_t> count = count_of(job.task_count);
  if (!task || !first || !count)
    throw Error::format(
        "{} slurm: this is not a task of a job array; submit one with sbatch --array=1-8, or give {} 1/8", where,
        where);
  // Only a task whose number is above a gap can detect the gap. An array that starts above 1 is rejected, because it
  // may be a rerun of one part.
  if (*first > 1 || *task - *first >= *count)
    throw Error::format(
        "{} slurm: the tasks of the job array must be numbered from 0 or 1 without gaps; this is task {}, and the {} "
        "tasks start at {}; to run one task again, give its part, such as {} 3/8",
        where, *task, *count, *first, where);
  return {*task - *first + 1, *count};
}

std::vector<std::string> srun_words(const SlurmJob& job) {
  std::vector<std::string> words{"srun", "--nodes=1", "--ntasks=1", "--exclusive", "--quiet"};
  // Within a job, srun gives a job step one core unless told otherwise; outside of a job it allocates a whole node.
  const std::string& cores = job.cpus_per_task.empty() ? job.cpus_on_node : job.cpus_per_task;
  if ((!job.job_id.empty() || !job.cpus_per_task.empty()) && !cores.empty())
    words.push_back("--cpus-per-task=" + cores);
  return words;
}

}  // namespace

SweepPart parse_part(std::string_view where, std::string_view text, const SlurmJob& job) {
  if (text == kSlurm) return part_of_array(where, job);
  const size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    const std::optional<int64_t> index = count_of(text.substr(0, slash));
    const std::optional<int64_t> count = count_of(text.substr(slash + 1));
    if (index && count && *index >= 1 && *index <= *count) return {*index, *count};
  }
  throw Error::format("{}: {} is not a part; give k/n with k from 1 to n, for example 2/8, or slurm in a job array",
                      where, quote(text));
}

std::vector<std::string> parse_launcher(std::string_view where, std::string_view text, const SlurmJob& job) {
  if (text == kSlurm) return srun_words(job);
  std::vector<std::string> words;
  std::string word;
  bool is_word = false;  // a word has begun; an empty word in quotes counts
  char quoted_by = '\0';
  for (const char c : text) {
    if (quoted_by != '\0') {
      if (c == quoted_by)
        quoted_by = '\0';
      else
        word.push_back(c);
    } else if (c == '\'' || c == '"') {
      quoted_by = c;
      is_word = true;
    } else if (c == ' ' || c == '\t') {
      if (is_word) words.push_back(std::move(word));
      word.clear();
      is_word = false;
    } else {
      word.push_back(c);
      is_word = true;
    }
  }
  if (is_word) words.push_back(std::move(word));
  if (quoted_by != '\0') throw Error::format("{}: a quote in {} is not closed; close it", where, quote(text));
  if (words.empty() || words.front().empty())
    throw Error::format("{}: no command; give one that runs its arguments, for example 'srun -N1 -n1 --exclusive'",
                        where);
  return words;
}

std::string canonical_part(std::string_view where, std::string_view text) {
  if (text != kSlurm) parse_part(where, text, {});
  return std::string(text);
}

std::string canonical_launcher(std::string_view where, std::string_view text) {
  parse_launcher(where, text, {});
  return std::string(text);
}

}  // namespace laptime
