// Compares laptime's all-reduce with MPI_Allreduce on the same number of bytes, alternating between the two.
//   mpirun -n 2 bench_ranks_all_reduce [--rounds 30]
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "backend/group.h"
#include "base/error.h"
#include "base/host_clock.h"
#include "base/units.h"
#include "comm/mpi_group.h"
#include "distribution/median.h"
#include "ops/collective/collective.h"
#include "ops/kernels_cpu.h"

namespace laptime::bench {
namespace {

constexpr int kMpiThreadMultiple = 3;

// The MPI functions that this benchmark calls but laptime does not.
struct MpiBenchmark {
  int (*init_thread)(int* argc, char*** argv, int required, int* provided) = nullptr;
  int (*all_reduce)(const void* from, void* to, int count, MpiLibrary::Handle type, MpiLibrary::Handle op,
                    MpiLibrary::Handle comm) = nullptr;
  int (*barrier)(MpiLibrary::Handle comm) = nullptr;
  MpiLibrary::Handle type = nullptr, sum = nullptr;
};

template <class T>
void find(const char* name, T& function) {
  function = reinterpret_cast<T>(dlsym(RTLD_DEFAULT, name));
  if (function == nullptr) throw Error::format("{} is not in this MPI library", name);
}

MpiBenchmark& mpi_benchmark() {
  static MpiBenchmark found;
  return found;
}

// Initializes MPI for several threads: MpiGroup has a thread that sends heartbeats while the main thread is in
// MPI_Allreduce.
int init_for_several_threads(int* argc, char*** argv, int, int* provided) {
  return mpi_benchmark().init_thread(argc, argv, kMpiThreadMultiple, provided);
}

const Kernel& all_reduce_kernel(std::span<const Kernel> kernels) {
  return *std::ranges::find_if(kernels, [](const Kernel& kernel) { return kernel.op == &kAllReduce; });
}

// Compares laptime's all-reduce with MPI_Allreduce at one size.
class Comparison {
 public:
  Comparison(MpiGroup& group, const MpiLibrary& mpi, int64_t bytes)
      : queue_(group),
        mpi_(mpi),
        elements_(bytes / static_cast<int64_t>(sizeof(float))),
        values_(static_cast<size_t>(elements_), 0.0F),
        attributes_(GroupAttributes{group.size(), group.rank()}),
        type_(contiguous_type(DType::kFloat32, {elements_})),
        kernels_(cpu_kernels(cpu::widest_isa())),
        workspace_(static_cast<size_t>(
            all_reduce_kernel(kernels_).workspace_bytes({&kAllReduce, attributes_, {type_}, {type_}}))),
        views_{TensorView{reinterpret_cast<std::byte*>(values_.data()), type_}} {}

  // Runs the two all-reduces alternately, and prints the medians on rank 0.
  void run(int rounds) {
    std::vector<double> own, theirs, ratios;
    for (int round = -2; round < rounds; ++round) {  // two warm-up rounds touch the memory
      const double ours = seconds([&] {
        all_reduce_kernel(kernels_).launch({kAllReduce, attributes_, views_, views_, workspace_.data(), queue_});
      });
      const double other = seconds([&] {
        void* const in_place = reinterpret_cast<void*>(1);  // MPI_IN_PLACE of Open MPI
        mpi_benchmark().all_reduce(in_place, values_.data(), static_cast<int>(elements_), mpi_benchmark().type,
                                   mpi_benchmark().sum, mpi_.comm_world);
      });
      if (round < 0) continue;
      own.push_back(ours);
      theirs.push_back(other);
      ratios.push_back(other / ours);
    }
    if (queue_.group().rank() != 0) return;
    const auto rate = [&](double time) { return static_cast<double>(elements_) * sizeof(float) / time * 1e-9; };
    std::sort(ratios.begin(), ratios.end());
    fmt::print("{:>9}  {:8.1f} us {:6.2f} GB/s  {:8.1f} us {:6.2f} GB/s  {:.2f} ({:.2f} .. {:.2f})\n",
               format_bytes(elements_ * static_cast<int64_t>(sizeof(float))), median(own) * 1e6, rate(median(own)),
               median(theirs) * 1e6, rate(median(theirs)), median(ratios), ratios[ratios.size() / 10],
               ratios[ratios.size() - 1 - ratios.size() / 10]);
    std::fflush(stdout);
  }

 private:
  // Times a call on this rank. A barrier before the call makes all ranks start together.
  template <class Call>
  double seconds(const Call& call) {
    mpi_benchmark().barrier(mpi_.comm_world);
    const Seconds begin = host_now();
    call();
    return (host_now() - begin).count();
  }

  GroupQueue queue_;
  const MpiLibrary& mpi_;
  int64_t elements_;
  std::vector<float> values_;
  Attributes attributes_;
  TensorType type_;
  std::vector<Kernel> kernels_;
  std::vector<std::byte> workspace_;
  std::vector<TensorView> views_;
};

int run(int rounds) {
  if (mpi_library() == nullptr) throw Error(missing_mpi());
  MpiLibrary mpi = *mpi_library();
  MpiBenchmark& benchmark = mpi_benchmark();
  benchmark.init_thread = std::exchange(mpi.init_thread, init_for_several_threads);
  find("MPI_Allreduce", benchmark.all_reduce);
  find("MPI_Barrier", benchmark.barrier);
  find("ompi_mpi_float", benchmark.type);
  find("ompi_mpi_op_sum", benchmark.sum);
  MpiGroup group(mpi, [](const std::string& reason) { fmt::print(stderr, "{}\n", reason); });
  if (group.rank() == 0) {
    fmt::print("float32, {} ranks, {} alternating rounds; ratio: median (10th .. 90th percentile)\n", group.size(),
               rounds);
    fmt::print("{:>9}  {:>24}  {:>24}  {}\n", "bytes", "laptime", "MPI_Allreduce", "MPI's time / laptime's");
  }
  for (const int64_t bytes : {int64_t{64} << 10, int64_t{1} << 20, int64_t{16} << 20, int64_t{64} << 20})
    Comparison(group, mpi, bytes).run(rounds);
  return 0;
}

}  // namespace
}  // namespace laptime::bench

int main(int argc, char** argv) {
  try {
    const bool has_rounds = argc == 3 && std::string(argv[1]) == "--rounds";
    if (argc != 1 && !has_rounds) throw laptime::Error("usage: mpirun -n 2 bench_ranks_all_reduce [--rounds 30]");
    return laptime::bench::run(has_rounds ? std::max(1, std::atoi(argv[2])) : 30);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_ranks_all_reduce: {}\n", error.what());
    return 2;
  }
}
