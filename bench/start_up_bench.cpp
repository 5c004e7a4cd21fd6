// Compares the time of a process that runs one step with the time to touch the same amount of memory.
//   bench_start_up PROGRAM [OPTIONS OF BENCH...]
//   bench_start_up build/release/laptime --model small --mode compile
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using Json = nlohmann::json;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

constexpr int64_t kHugePage = int64_t{2} << 20;

// Returns the seconds that it takes to map this much memory, request huge pages, and write to every page on `threads`
// threads. No program can get the memory ready in less time.
double touch_seconds(int64_t bytes, int threads) {
  const double begin = now();
  const int64_t size = (bytes / kHugePage + 2) * kHugePage;
  void* const mapped =
      mmap(nullptr, static_cast<size_t>(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::runtime_error("not enough memory");
  madvise(mapped, static_cast<size_t>(size), MADV_HUGEPAGE);
  {
    std::vector<std::jthread> team;
    team.reserve(static_cast<size_t>(threads));
    for (int thread = 0; thread < threads; ++thread) {
      team.emplace_back([&, thread] {
        constexpr int64_t kPage = 4096;
        for (int64_t at = size * thread / threads; at < size * (thread + 1) / threads; at += kPage)
          static_cast<volatile char*>(mapped)[at] = 1;
      });
    }
  }
  const double seconds = now() - begin;
  munmap(mapped, static_cast<size_t>(size));
  return seconds;
}

struct Run {
  double seconds = 0;  // time until the process exits
  Json record;
};

Run run_once(const std::vector<std::string>& command) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw std::runtime_error("cannot create a pipe");
  posix_spawn_file_actions_t actions{};
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const double begin = now();
  pid_t child = 0;
  if (posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ) != 0)
    throw std::runtime_error("cannot start " + command[0]);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t count = 0; (count = read(ends[0], buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<size_t>(count));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  const double seconds = now() - begin;
  if (status != 0) throw std::runtime_error(command[0] + " failed");
  Json document = Json::parse(text);
  return {seconds, document.is_array() ? document.at(0) : document};
}

// The number at a JSON pointer, or 0 if there is none.
double number(const Json& record, const char* pointer) {
  const Json::json_pointer at(pointer);
  return record.contains(at) && record[at].is_number() ? record[at].get<double>() : 0;
}

void report(const char* title, const Run& run, double touch) {
  const double step = number(run.record, "/time/step/samples/0");
  fmt::print("{:<12} {:6.3f} s  = touch {:.3f} + step {:.3f} + other {:.3f}", title, run.seconds, touch, step,
             run.seconds - touch - step);
  fmt::print("   (set-up {:.3f}: plan {:.3f}, trial {:.3f}, memory {:.3f}, weights {:.3f}, data {:.3f})\n",
             number(run.record, "/setup/total"), number(run.record, "/setup/plan"),
             number(run.record, "/setup/kernel_trial"), number(run.record, "/setup/memory"),
             number(run.record, "/setup/weights"), number(run.record, "/setup/data"));
}

int compare(const std::string& program, const std::vector<std::string>& options) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("laptime_start_up_{}", getpid());
  std::vector<std::string> command{program, "bench"};
  command.insert(command.end(), options.begin(), options.end());
  for (const char* word : {"--warmup", "0", "--steps", "1", "--output", "json", "--store"}) command.emplace_back(word);
  command.push_back(folder / "store.db");
  for (int round = 0; round < 3; ++round) {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    const Run first = run_once(command);
    const auto bytes = static_cast<int64_t>(number(first.record, "/memory/peak_bytes"));
    const int threads = std::max(1, static_cast<int>(number(first.record, "/config/threads")));
    const double touch = touch_seconds(bytes, threads);
    fmt::print("{:.0f} MiB, {} threads\n", static_cast<double>(bytes) / (1 << 20), threads);
    report("empty store", first, touch);
    report("second run", run_once(command), touch);
  }
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: bench_start_up PROGRAM [OPTIONS OF BENCH...]\n");
    return 2;
  }
  try {
    return compare(argv[1], {argv + 2, argv + argc});
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_start_up: {}\n", error.what());
    return 1;
  }
}
