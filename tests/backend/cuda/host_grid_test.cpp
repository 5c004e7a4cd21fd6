// CUDA kernels run on the host: correct kernels give the right numbers, and incorrect ones are detected.
#include "support/cuda/host_grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "base/error.h"
#include "support/error_of.h"

namespace laptime::test {
namespace {

using cuda::NothingShared;
using cuda::SharedArray;
using cuda::Thread;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr HostGridOptions kEveryOrder[] = {{Turns::kForward}, {Turns::kBackward}, {Turns::kDrawn}};

// The error that run_grid reports for a kernel; empty if there is none.
template <class K>
std::string error_of(int64_t blocks, int threads, const typename K::Args& args, const HostGridOptions& options = {}) {
  return test::error_of([&] { run_grid(host_kernel<K>(), blocks, threads, &args, options); });
}

// Expects the same error for every order of the threads.
template <class K>
void expect_error(int64_t blocks, int threads, const typename K::Args& args, const std::string& text) {
  for (const HostGridOptions& options : kEveryOrder)
    EXPECT_THAT(error_of<K>(blocks, threads, args, options), HasSubstr(text)) << static_cast<int>(options.turns);
}

struct Numbers {
  const int* in = nullptr;
  int* out = nullptr;
};

// out[block] = sum of the block's part of `in`. `without` selects the barriers to omit: none (0), the first (1), or all
// later ones (2).
template <int without>
struct BlockSum {
  using Args = Numbers;
  struct Shared {
    SharedArray<int, 128> parts;
  };
  static void run(const Thread& thread, const Args& args, Shared& shared) {
    const int64_t begin = thread.block() * thread.threads();
    thread.store(shared.parts, thread.index(), thread.load(args.in + begin + thread.index()));
    if (without != 1) thread.synchronize();
    for (int half = thread.threads() / 2; half > 0; half /= 2) {
      if (thread.index() < half) {
        const int sum = thread.load(shared.parts, thread.index()) + thread.load(shared.parts, thread.index() + half);
        thread.store(shared.parts, thread.index(), sum);
      }
      if (without != 2) thread.synchronize();
    }
    if (thread.index() == 0) thread.store(args.out + thread.block(), thread.load(shared.parts, 0));
  }
};
LAPTIME_CUDA_KERNEL(BlockSum<0>, block_sum)
LAPTIME_CUDA_KERNEL(BlockSum<1>, block_sum_without_first_barrier)
LAPTIME_CUDA_KERNEL(BlockSum<2>, block_sum_without_other_barriers)

class HostGrid : public testing::Test {
 public:
  HostGrid() { std::iota(in.begin(), in.end(), 0); }
  std::vector<int> in = std::vector<int>(256);
  std::vector<int> out = std::vector<int>(256, -1);
  Numbers args{in.data(), out.data()};
};

TEST_F(HostGrid, CorrectKernelGivesTheSameSumsInEveryOrder) {
  for (const HostGridOptions& options : kEveryOrder) {
    EXPECT_EQ(error_of<BlockSum<0>>(2, 128, args, options), "");
    EXPECT_EQ(out[0], 127 * 128 / 2);
    EXPECT_EQ(out[1], 255 * 256 / 2 - out[0]);
  }
}

TEST_F(HostGrid, FindsAMissingBarrier) {
  expect_error<BlockSum<1>>(1, 128, args, "block_sum_without_first_barrier: ");
  EXPECT_THAT(error_of<BlockSum<1>>(1, 128, args, {Turns::kBackward}), HasSubstr("race: thread"));
  expect_error<BlockSum<2>>(1, 128, args, "with no barrier between");
  EXPECT_THAT(error_of<BlockSum<2>>(1, 128, args), HasSubstr("host_grid_test.cpp:"));
}

TEST_F(HostGrid, TracksAccessesOnlyOnRequest) {
  EXPECT_EQ(error_of<BlockSum<1>>(1, 128, args, {.checked = false}), "");
}

// Every thread writes out[0].
struct OneWriter {
  using Args = Numbers;
  using Shared = NothingShared;
  static void run(const Thread& thread, const Args& args, Shared&) { thread.store(args.out, thread.index()); }
};
LAPTIME_CUDA_KERNEL(OneWriter, one_writer)

TEST_F(HostGrid, FindsARaceInGlobalMemory) { expect_error<OneWriter>(1, 32, args, "writes at host_grid_test.cpp"); }

// Block b writes out[b] and reads out[b + 1 - 2 (b mod 2)], which its neighbour writes.
struct Neighbours {
  using Args = Numbers;
  using Shared = NothingShared;
  static void run(const Thread& thread, const Args& args, Shared&) {
    if (thread.index() != 0) return;
    thread.store(args.out + thread.block(), 1);
    thread.load(args.out + (thread.block() ^ 1));
  }
};
LAPTIME_CUDA_KERNEL(Neighbours, neighbours)

TEST_F(HostGrid, FindsARaceBetweenBlocks) { expect_error<Neighbours>(2, 32, args, "race: thread 0 of block"); }

// Loads two elements at once from an address that is aligned only for one.
struct Misaligned {
  struct alignas(2 * sizeof(int)) Two {
    int of[2];
  };
  using Args = Numbers;
  using Shared = NothingShared;
  static void run(const Thread& thread, const Args& args, Shared&) {
    const int odd = reinterpret_cast<uintptr_t>(args.in) % sizeof(Two) == 0 ? 1 : 0;
    thread.load(reinterpret_cast<const Two*>(args.in + odd));
  }
};
LAPTIME_CUDA_KERNEL(Misaligned, misaligned)

TEST_F(HostGrid, FindsAMisalignedAddress) {
  expect_error<Misaligned>(1, 32, args, "accesses an address that is not a multiple of 8 at host_grid_test.cpp");
}

// Threads 0 to 39 wait at the barrier, because in[40] is 40; the others exit.
struct Leaving {
  using Args = Numbers;
  using Shared = NothingShared;
  static void run(const Thread& thread, const Args& args, Shared&) {
    if (thread.index() < thread.load(args.in + 40)) thread.synchronize();
  }
};
LAPTIME_CUDA_KERNEL(Leaving, leaving)

TEST_F(HostGrid, FindsThreadsThatExitBeforeABarrier) {
  expect_error<Leaving>(1, 64, args,
                        "thread 40 of block 0 has ended while others wait at the barrier at host_grid_test");
}

struct TwoBarriers {
  using Args = Numbers;
  using Shared = NothingShared;
  static void run(const Thread& thread, const Args&, Shared&) {
    if (thread.index() < 5) {
      thread.synchronize();
    } else {
      thread.synchronize();
    }
  }
};
LAPTIME_CUDA_KERNEL(TwoBarriers, two_barriers)

TEST_F(HostGrid, FindsThreadsAtDifferentBarriers) {
  expect_error<TwoBarriers>(1, 32, args, "thread 5 of block 0 waits at the barrier at host_grid_test");
}

struct Exchanges {
  using Args = Numbers;
  using Shared = NothingShared;
  static void run(const Thread& thread, const Args& args, Shared&) {
    int sum = thread.load(args.in + thread.index());
    for (int mask = cuda::kWarp / 2; mask > 0; mask /= 2) sum += thread.exchange(sum, mask);
    thread.store(args.out + thread.index(), sum);
  }
};
LAPTIME_CUDA_KERNEL(Exchanges, exchanges)

TEST_F(HostGrid, WarpsExchangeValues) {
  for (const HostGridOptions& options : kEveryOrder) {
    EXPECT_EQ(error_of<Exchanges>(1, 64, args, options), "");
    EXPECT_EQ(out[0], 31 * 32 / 2);
    EXPECT_EQ(out[31], out[0]);
    EXPECT_EQ(out[32], 63 * 64 / 2 - out[0]);
  }
}

struct HalfAWarp {
  using Args = Numbers;
  using Shared = NothingShared;
  static void run(const Thread& thread, const Args&, Shared&) {
    if (thread.index() % cuda::kWarp < 16) thread.exchange(1, 1);
  }
};
LAPTIME_CUDA_KERNEL(HalfAWarp, half_a_warp)

TEST_F(HostGrid, FindsLanesMissingFromAShuffle) {
  expect_error<HalfAWarp>(1, 64, args, "thread 16 of block 0 is not at the exchange of its warp");
}

// Thread 3 writes beyond the end of an array of 7 elements: its index is in[7], which is 7.
struct Beyond {
  using Args = Numbers;
  struct Shared {
    SharedArray<int, 7> numbers;
    SharedArray<int, 1> next;
  };
  static void run(const Thread& thread, const Args& args, Shared& shared) {
    if (thread.index() == 3) thread.store(shared.numbers, thread.load(args.in + 7), 1);
  }
};
LAPTIME_CUDA_KERNEL(Beyond, beyond)

TEST_F(HostGrid, FindsOutOfBoundsSharedAccess) {
  expect_error<Beyond>(1, 32, args, "thread 3 of block 0 accesses element 7 of 7 in shared memory");
}

struct Unwritten {
  using Args = Numbers;
  struct Shared {
    SharedArray<int, 32> numbers;
  };
  static void run(const Thread& thread, const Args& args, Shared& shared) {
    if (thread.index() != 9) thread.store(shared.numbers, thread.index(), 1);
    thread.synchronize();
    thread.store(args.out + thread.index(), thread.load(shared.numbers, thread.index()));
  }
};
LAPTIME_CUDA_KERNEL(Unwritten, unwritten)

TEST_F(HostGrid, FindsReadsOfUninitializedSharedMemory) {
  expect_error<Unwritten>(1, 32, args, "thread 9 of block 0 reads shared memory that no thread has written");
}

// A thread may overwrite an element after a barrier that follows all reads of the old value.
struct Reused {
  using Args = Numbers;
  struct Shared {
    SharedArray<int, 1> number;
  };
  static void run(const Thread& thread, const Args& args, Shared& shared) {
    int sum = 0;
    for (int round = 0; round < 3; ++round) {
      if (thread.index() == round) thread.store(shared.number, 0, round + 1);
      thread.synchronize();
      sum += thread.load(shared.number, 0);
      thread.synchronize();
    }
    thread.store(args.out + thread.index(), sum);
  }
};
LAPTIME_CUDA_KERNEL(Reused, reused)

TEST_F(HostGrid, BarriersOrderAccesses) {
  for (const HostGridOptions& options : kEveryOrder) EXPECT_EQ(error_of<Reused>(1, 32, args, options), "");
  EXPECT_THAT(std::vector<int>(out.begin(), out.begin() + 3), ElementsAre(6, 6, 6));
}

}  // namespace
}  // namespace laptime::test
