// Runs a fuzz target without a fuzzer: every seed, then a fixed number of deterministic mutants.
//   fuzz_NAME [MUTANTS]              runs seeds and mutants; on a defect, writes fuzz_NAME.input and exits with 1
//   fuzz_NAME --input FILE...        runs only the inputs in these files
//   fuzz_NAME --write-seeds FOLDER   writes the seeds as files, for libFuzzer
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>

#include "fuzz/fuzz_target.h"
#include "fuzz/mutation.h"

namespace laptime::fuzz {
namespace {

constexpr uint64_t kMutants = 2000;
constexpr unsigned kPatience = 60;  // time limit for one input, in seconds

void run(const std::string& input) {
  alarm(kPatience);
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

// All inputs by number: the seeds come first, then the mutants.
class Inputs {
 public:
  explicit Inputs(uint64_t mutants) : count_(seeds_.size() + mutants) {}
  uint64_t count() const { return count_; }
  std::string operator[](uint64_t number) const {
    return number < seeds_.size() ? seeds_[number] : mutant(seeds_, words_, number);
  }

 private:
  std::vector<std::string> seeds_ = seeds();
  std::vector<std::string> words_ = words();
  uint64_t count_;
};

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error::format("cannot read '{}'; give readable input files", path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw Error::format("cannot write '{}'; choose another folder", path);
}

// Runs all inputs in a child process, so that this process knows on which input the child crashed.
int run_all(const std::string& name, uint64_t mutants) {
  const Inputs inputs(mutants);
  void* const shared =
      mmap(nullptr, sizeof(std::atomic<uint64_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  LAPTIME_CHECK(shared != MAP_FAILED, "cannot map shared memory");
  auto* const current = new (shared) std::atomic<uint64_t>(0);
  const pid_t child = fork();
  LAPTIME_CHECK(child >= 0, "cannot start a process");
  if (child == 0) {
    for (uint64_t number = 0; number < inputs.count(); ++number) {
      current->store(number);
      run(inputs[number]);
    }
    std::fflush(nullptr);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status == 0) {
    fmt::print("{}: {} inputs\n", name, inputs.count());
    return 0;
  }
  const std::string path = name + ".input";
  write(path, inputs[current->load()]);
  const std::string end = WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "an exit";
  fmt::print(stderr, "{}: input {} ended in {}; reproduce with: {} --input {}\n", name, current->load(), end, name,
             path);
  return 1;
}

int run_command(const std::string& name, const std::vector<std::string>& arguments) {
  if (arguments.empty()) return run_all(name, kMutants);
  if (arguments[0] == "--input") {
    for (size_t i = 1; i < arguments.size(); ++i) run(bytes_of(arguments[i]));
    return 0;
  }
  if (arguments[0] == "--write-seeds" && arguments.size() == 2) {
    std::filesystem::create_directories(arguments[1]);
    const std::vector<std::string> all = seeds();
    for (size_t i = 0; i < all.size(); ++i) write(fmt::format("{}/seed_{}", arguments[1], i), all[i]);
    return 0;
  }
  uint64_t mutants = 0;
  const std::string& text = arguments[0];
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mutants);
  if (error != std::errc() || end != text.data() + text.size() || arguments.size() > 1) {
    throw Error::format("usage: {} [MUTANTS | --input FILE... | --write-seeds FOLDER]", name);
  }
  return run_all(name, mutants);
}

}  // namespace
}  // namespace laptime::fuzz

int main(int argc, char** argv) {
  const std::string name = std::filesystem::path(argv[0]).filename();
  try {
    return laptime::fuzz::run_command(name, {argv + 1, argv + argc});
  } catch (const laptime::Error& error) {
    fmt::print(stderr, "{}: {}\n", name, error.what());
    return 2;
  }
}
