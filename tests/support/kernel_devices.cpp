// Runs CPU kernels on threads, and CUDA kernels on the host, with the libraries of tests/fake_cuda, or on a real GPU.
#include "support/kernel_devices.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "backend/cpu/team.h"
#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/driver.h"
#include "backend/cuda/libraries/blas.h"
#include "base/error.h"
#include "base/isa.h"
#include "ops/kernels_cpu.h"
#include "ops/kernels_cuda.h"
#include "support/cuda/host_queue.h"
#include "support/library_queue.h"

namespace laptime::test {
namespace {

cpu::Team& team_of(int threads) {
  static std::map<int, std::unique_ptr<cpu::Team>> teams;
  std::unique_ptr<cpu::Team>& team = teams[threads];
  if (team == nullptr) team = std::make_unique<cpu::Team>(threads);
  return *team;
}

const KernelDevice kOnCpu{.queue = [](int way) -> Queue& { return team_of(way + 1); },
                          .name_of =
                              [](int way) {
                                static constexpr const char* kNames[kWays] = {"1 thread", "2 threads", "3 threads"};
                                return kNames[way];
                              }};

// CUDA kernels on the host. Threads of a block take turns in a different order in each way. Only the last way tracks
// all accesses, because that is slow.
const KernelDevice kAsOnCuda{.queue = [](int way) -> Queue& {
                               static HostQueue queues[kWays]{HostQueue({.turns = Turns::kForward, .checked = false}),
                                                              HostQueue({.turns = Turns::kBackward, .checked = false}),
                                                              HostQueue({.turns = Turns::kDrawn, .checked = true})};
                               return queues[way];
                             },
                             .name_of =
                                 [](int way) {
                                   static constexpr const char* kNames[kWays] = {
                                       "threads in order", "threads in reverse order", "threads in pseudorandom order"};
                                   return kNames[way];
                                 },
                             .first_again = 1,
                             .is_slow = true};

// The libraries of tests/fake_cuda. Each way repeats the same launch on another queue.
const KernelDevice kByLibrary{.queue = [](int way) -> Queue& {
                                static LibraryQueue queues[kWays];
                                return queues[way];
                              },
                              .name_of = [](int) { return "another queue"; },
                              .first_again = 1,
                              .is_slow = true};

// True if a function comes from a library of tests/fake_cuda, which the loader finds on the RUNPATH of tests.
bool is_stand_in(const void* function) {
  Dl_info info{};
  return dladdr(function, &info) != 0 && std::string_view(info.dli_fname).find("/fake_cuda/") != std::string_view::npos;
}

// The CUDA libraries to use with the first GPU. A real GPU never uses a fake library in place of a missing one.
cuda::CudaLibraries libraries_of_card() {
  const cuda::FoundDriver found = cuda::find_driver();
  cuda::CudaLibraries libraries = cuda::find_libraries();
  if (found.driver == nullptr || is_stand_in(reinterpret_cast<const void*>(found.driver->cuInit))) return libraries;
  if (libraries.blas != nullptr && is_stand_in(reinterpret_cast<const void*>(libraries.blas->cublasLtCreate)))
    libraries.blas = nullptr;
  if (libraries.dnn != nullptr && is_stand_in(reinterpret_cast<const void*>(libraries.dnn->cudnnCreate)))
    libraries.dnn = nullptr;
  return libraries;
}

// The first GPU of this machine.
const KernelDevice kOnCard{.name_of = [](int) { return "another launch"; },
                           .first_again = 1,
                           .card = []() -> Backend& {
                             static const auto kCard = [] {
                               const cuda::FoundDriver found = cuda::find_driver();
                               if (found.driver == nullptr) throw Error(found.missing);
                               const cuda::Card card = cuda::nth_card(*found.driver, 0);
                               fmt::print("kernels run on {}\n", card.name);  // tools/gpu_steps.py looks for this line
                               return std::make_unique<cuda::CudaBackend>(found.driver, libraries_of_card(), card,
                                                                          std::make_shared<KernelTable>(cuda_kernels()),
                                                                          cuda_image());
                             }();
                             return *kCard;
                           }};

bool checks_card() {
  const char* const where = std::getenv("LAPTIME_CONFORMANCE");
  return where != nullptr && std::string_view(where) == "card";
}

std::map<const OpCard*, std::vector<KernelOnDevice>> all_kernels() {
  const bool card = checks_card();
  std::map<const OpCard*, std::vector<KernelOnDevice>> by_op;
  for (const cpu::Isa isa : card ? std::vector<cpu::Isa>{} : cpu::runnable_isas()) {
    for (Kernel& kernel : cpu_kernels(isa)) {
      std::vector<KernelOnDevice>& of_op = by_op[kernel.op];
      if (kernel.name != kReferenceName) of_op.push_back({std::move(kernel), &kOnCpu});
    }
  }
  const cuda::CudaLibraries libraries = card ? libraries_of_card() : cuda::CudaLibraries{};
  const auto has = [&](std::string_view library) {
    return library == cuda::kDnnName ? libraries.dnn != nullptr : libraries.blas != nullptr;
  };
  for (Kernel& kernel : cuda_kernels()) {
    if (card && kernel.library != nullptr && !has(kernel.library)) continue;
    kernel.name = "cuda:" + kernel.name;
    const KernelDevice* const on_host = kernel.library == nullptr ? &kAsOnCuda : &kByLibrary;
    std::vector<KernelOnDevice>& of_op = by_op[kernel.op];
    of_op.push_back({std::move(kernel), card ? &kOnCard : on_host});
  }
  return by_op;
}

}  // namespace

const KernelDevice& on_cpu() { return kOnCpu; }

const std::vector<KernelOnDevice>& kernels_to_check(const OpCard& op) {
  static const auto kByOp = all_kernels();
  static const std::vector<KernelOnDevice> kNone;
  const auto found = kByOp.find(&op);
  return found == kByOp.end() ? kNone : found->second;
}

}  // namespace laptime::test
