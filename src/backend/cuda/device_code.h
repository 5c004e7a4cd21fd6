// Macros and types for CUDA kernels whose source compiles for both the card and the host.
//
// A kernel is a struct and a declaration after it, in the same namespace:
//
//   struct RowSums {
//     struct Args { ... };                                 // plain values and addresses on the device
//     struct Shared { SharedArray<float, 32> partials; };  // memory of a block
//     LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared& shared);
//   };
//   LAPTIME_CUDA_KERNEL(RowSums, row_sums)                 // the name is unique among all kernels
//
// cmake/cuda_kernels.cmake searches backend/cuda and all *_cuda.h for these declarations, so each must stand at the
// beginning of a line.
//
// Grids and blocks have one axis. Every access to memory calls a member function of Thread. On the GPU, the call is a
// plain load or store; on the host, the emulation (HostThread) sees which thread accesses which memory.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

// Put LAPTIME_UNROLL before loops over small arrays. Without unrolling, the index is a variable, and the compiler keeps
// the array in memory instead of registers.
#if defined(__CUDACC__)
#define LAPTIME_DEVICE __device__ inline
#define LAPTIME_UNROLL _Pragma("unroll")
#else
#define LAPTIME_DEVICE inline
#define LAPTIME_UNROLL
#endif

// With nvcc, defines the entry point of a kernel; on the host, a function that returns its name. Attributes of the
// entry point, such as __launch_bounds__(640), may follow the name. A host source may redefine LAPTIME_FOR_CUDA_KERNEL
// before it includes kernels, to get one expansion for each kernel.
#if defined(__CUDACC__)
#define LAPTIME_CUDA_KERNEL(type, name, ...)                                             \
  extern "C" __global__ void __VA_ARGS__ name(const __grid_constant__ type::Args args) { \
    __shared__ type::Shared shared;                                                      \
    type::run({}, args, shared);                                                         \
  }
#else
#define LAPTIME_FOR_CUDA_KERNEL(type, name)
#define LAPTIME_CUDA_KERNEL(type, name, ...)                                    \
  constexpr const char* kernel_name(std::type_identity<type>) { return #name; } \
  LAPTIME_FOR_CUDA_KERNEL(type, name)
#endif

namespace laptime::cuda {

constexpr int kWarp = 32;               // threads of a warp, which exchange values by shuffles
constexpr int kMaxBlock = 1024;         // largest number of threads in a block
constexpr int kSharedBytes = 48 << 10;  // shared memory per block, unless the driver is asked for more

// Elements shared by the threads of a block. Uninitialised when the block starts.
template <class T, int kSize>
class SharedArray {
  friend class Thread;
  T elements_[kSize];
};

// The type `Shared` of kernels that use no shared memory.
struct NothingShared {};

#if defined(__CUDACC__)

// The executing thread. The number of threads in a block is a multiple of kWarp.
class Thread {
 public:
  __device__ int index() const { return static_cast<int>(threadIdx.x); }
  __device__ int threads() const { return static_cast<int>(blockDim.x); }
  __device__ int64_t block() const { return blockIdx.x; }
  __device__ int64_t blocks() const { return gridDim.x; }

  // Barrier: waits for all threads of the block and makes their earlier writes visible. All threads must reach the same
  // call.
  __device__ void synchronize() const { __syncthreads(); }
  // Returns the value passed by the lane whose index is this lane's index XOR `mask`. All lanes of the warp must call
  // exchange().
  template <class T>
  __device__ T exchange(T value, int mask) const {
    return __shfl_xor_sync(0xFFFFFFFFU, value, mask);
  }

  // Prefetches memory into the cache of the card, without waiting for it. The address and the number of bytes must be
  // multiples of 16. Does nothing on cards before Hopper.
  __device__ void prefetch(const void* address, int bytes) const {
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(address), "r"(bytes));
#endif
  }
  template <class T>
  __device__ T load(const T* address) const {
    return *address;
  }
  // Stores a struct of 8 or 16 bytes in one access to global memory. The compiler sometimes splits a plain assignment
  // into stores of 4 bytes, and each of these writes only a part of every sector of memory that a warp touches.
  template <class T>
  __device__ void store(T* address, T value) const {
    if constexpr (std::is_class_v<T> && sizeof(T) == sizeof(uint4) && alignof(T) == alignof(uint4)) {
      const auto words = std::bit_cast<uint4>(value);
      asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(address)), "r"(words.x),
                   "r"(words.y), "r"(words.z), "r"(words.w)
                   : "memory");
    } else if constexpr (std::is_class_v<T> && sizeof(T) == sizeof(uint2) && alignof(T) == alignof(uint2)) {
      const auto words = std::bit_cast<uint2>(value);
      asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(address)), "r"(words.x),
                   "r"(words.y)
                   : "memory");
    } else {
      *address = value;
    }
  }
  template <class T, int kSize>
  __device__ T load(const SharedArray<T, kSize>& array, int index) const {
    return array.elements_[index];
  }
  template <class T, int kSize>
  __device__ void store(SharedArray<T, kSize>& array, int index, T value) const {
    array.elements_[index] = value;
  }
};

#else

// The name given to the kernel by LAPTIME_CUDA_KERNEL.
template <class K>
constexpr const char* kKernelName = kernel_name(std::type_identity<K>{});

// A source location. As a default argument, current() is the location of the caller. (clang 14 does not have
// std::source_location.)
struct Place {
  const char* file = "";
  int line = 0;
  static constexpr Place current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

// Interface to the host emulation of a thread (tests/support/cuda).
class HostThread {
 public:
  virtual ~HostThread() = default;
  virtual void synchronize(Place place) = 0;
  virtual uint64_t exchange(uint64_t bits, int mask, Place place) = 0;
  // Called before an access to memory other than shared arrays.
  virtual void check_alignment(const void* address, size_t alignment, Place place) = 0;
  // Called before each load or store.
  virtual void on_load(const void* address, size_t bytes, Place place) = 0;
  virtual void on_store(void* address, size_t bytes, Place place) = 0;
  // Called before an access to element `index` of a shared array.
  virtual void check_index(int64_t index, int64_t size, Place place) = 0;
};

class Thread {
 public:
  Thread(HostThread& host, int index, int threads, int64_t block, int64_t blocks)
      : host_(&host), index_(index), threads_(threads), block_(block), blocks_(blocks) {}

  int index() const { return index_; }
  int threads() const { return threads_; }
  int64_t block() const { return block_; }
  int64_t blocks() const { return blocks_; }

  void synchronize(Place place = Place::current()) const { host_->synchronize(place); }
  template <class T>
  T exchange(T value, int mask, Place place = Place::current()) const {
    static_assert(sizeof(T) <= sizeof(uint64_t));
    uint64_t bits = 0;
    __builtin_memcpy(&bits, &value, sizeof(T));
    bits = host_->exchange(bits, mask, place);
    __builtin_memcpy(&value, &bits, sizeof(T));
    return value;
  }

  void prefetch(const void* address, int bytes, Place place = Place::current()) const {
    host_->check_alignment(address, 16, place);
    host_->check_alignment(static_cast<const std::byte*>(address) + bytes, 16, place);
  }
  template <class T>
  T load(const T* address, Place place = Place::current()) const {
    host_->check_alignment(address, alignof(T), place);
    host_->on_load(address, sizeof(T), place);
    return *address;
  }
  template <class T>
  void store(T* address, T value, Place place = Place::current()) const {
    host_->check_alignment(address, alignof(T), place);
    host_->on_store(address, sizeof(T), place);
    *address = value;
  }
  template <class T, int kSize>
  T load(const SharedArray<T, kSize>& array, int index, Place place = Place::current()) const {
    host_->check_index(index, kSize, place);
    host_->on_load(&array.elements_[index], sizeof(T), place);
    return array.elements_[index];
  }
  template <class T, int kSize>
  void store(SharedArray<T, kSize>& array, int index, T value, Place place = Place::current()) const {
    host_->check_index(index, kSize, place);
    host_->on_store(&array.elements_[index], sizeof(T), place);
    array.elements_[index] = value;
  }

 private:
  HostThread* host_;
  int index_, threads_;
  int64_t block_, blocks_;
};

#endif

}  // namespace laptime::cuda
