// Forks, queries the driver in the child, and passes the answer through a pipe.
#include "backend/cuda/card_search.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <string_view>

#include "backend/cuda/libraries/blas.h"
#include "backend/cuda/libraries/dnn.h"
#include "backend/cuda/libraries/nccl.h"
#include "base/error.h"

namespace laptime::cuda {
namespace {

constexpr int kTimeoutMs = 60'000;  // a driver that has to initialise the cards may take many seconds
constexpr int kOldestCard = 80;     // lowest compute capability in the image (cmake/cuda_kernels.cmake)
constexpr char kSeparator = '\0';   // ends each field of an answer

CardSearch ask_driver() {
  const FoundDriver found = find_driver();
  if (found.driver == nullptr) return {std::nullopt, found.missing};
  try {
    const Card card = nth_card(*found.driver, 0);
    if (card.compute_capability < kOldestCard)
      return {std::nullopt, fmt::format("the kernels need a GPU of compute capability 8.0 or newer, and {} has {}.{}",
                                        card.name, card.compute_capability / 10, card.compute_capability % 10)};
    const std::shared_ptr<const Blas> blas = find_blas();
    const std::shared_ptr<const Dnn> dnn = find_dnn();
    return {card,
            "",
            blas == nullptr ? 0 : static_cast<int64_t>(blas->cublasLtGetVersion()),
            dnn == nullptr ? 0 : static_cast<int64_t>(dnn->cudnnGetVersion()),
            nccl_version(find_nccl().get()),
            card_count(*found.driver)};
  } catch (const Error& error) {
    return {std::nullopt, error.what()};
  }
}

// The fields of an answer, each followed by a separator.
std::string text_of(const CardSearch& search) {
  const Card card = search.card.value_or(Card{});
  std::string text;
  for (const std::string& field :
       {search.missing, card.name, card.uuid, fmt::to_string(card.number), fmt::to_string(card.compute_capability),
        fmt::to_string(card.driver_version), fmt::to_string(card.memory_bytes), fmt::to_string(search.blas_version),
        fmt::to_string(card.has_pools ? 1 : 0), fmt::to_string(card.cache_bytes), fmt::to_string(search.dnn_version),
        fmt::to_string(search.nccl_version), fmt::to_string(search.cards)}) {
    text += field;
    text += kSeparator;
  }
  return text;
}

CardSearch search_of(std::string_view text) {
  std::array<std::string, 13> fields;
  for (std::string& field : fields) {
    const size_t end = text.find(kSeparator);
    if (end == std::string_view::npos)
      return {std::nullopt, "the process that looks for a GPU sent an incomplete answer; try nvidia-smi"};
    field = text.substr(0, end);
    text.remove_prefix(end + 1);
  }
  if (!fields[0].empty()) return {std::nullopt, fields[0]};
  Card card;
  card.name = fields[1];
  card.uuid = fields[2];
  card.number = std::stoi(fields[3]);
  card.compute_capability = std::stoi(fields[4]);
  card.driver_version = std::stoi(fields[5]);
  card.memory_bytes = std::stoll(fields[6]);
  card.has_pools = fields[8] == "1";
  card.cache_bytes = std::stoll(fields[9]);
  return {card, "", std::stoll(fields[7]), std::stoll(fields[10]), std::stoll(fields[11]), std::stoll(fields[12])};
}

[[noreturn]] void answer(int pipe_end, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  const std::string text = text_of(ask_driver());
  _exit(write(pipe_end, text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
}

// Reads until the other end is closed. Returns nothing if no data arrives for kTimeoutMs.
std::optional<std::string> read_all(int pipe_end) {
  std::string text;
  while (true) {
    pollfd ready{pipe_end, POLLIN, 0};
    const int count = poll(&ready, 1, kTimeoutMs);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    std::array<char, 4096> buffer{};
    const ssize_t bytes = read(pipe_end, buffer.data(), buffer.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return text;
    text.append(buffer.data(), static_cast<size_t>(bytes));
  }
}

}  // namespace

CardSearch search_card() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    return {std::nullopt, fmt::format("cannot create a pipe to look for a GPU: {}", std::strerror(errno))};
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) answer(ends[1], parent);
  close(ends[1]);
  std::optional<std::string> text;
  if (child > 0) text = read_all(ends[0]);
  close(ends[0]);
  if (child < 0)
    return {std::nullopt, fmt::format("cannot start a process to look for a GPU: {}", std::strerror(errno))};
  if (!text) {
    kill(child, SIGKILL);  // does not wait for the child, because it may hang inside the driver forever
    return {std::nullopt, "the NVIDIA driver did not answer within a minute; try nvidia-smi"};
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  if (WIFSIGNALED(status))
    return {std::nullopt,
            fmt::format("the process that looks for a GPU was killed by signal {} while it called the NVIDIA "
                        "driver; try nvidia-smi",
                        WTERMSIG(status))};
  return search_of(*text);
}

}  // namespace laptime::cuda
