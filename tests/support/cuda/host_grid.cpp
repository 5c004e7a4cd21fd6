// Runs the threads of a block in turns. Each thread runs until it ends or has to wait at a barrier or an exchange.
#include "support/cuda/host_grid.h"

#include <setjmp.h>  // NOLINT(modernize-deprecated-headers): _setjmp is not in <csetjmp>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "support/cuda/access_log.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace laptime::test {
namespace {

using cuda::kWarp;
using cuda::Place;

constexpr size_t kStackBytes = 256 << 10;

std::string text(const Place& place) {
  const std::string_view path = place.file;
  return fmt::format("{}:{}", path.substr(path.rfind('/') + 1), place.line);
}

bool same(const Place& a, const Place& b) { return a.line == b.line && std::string_view(a.file) == b.file; }

// Stacks that no fiber uses. They are kept because mapping memory for each fiber takes longer than most fibers run.
class FreeStacks {
 public:
  FreeStacks() = default;
  FreeStacks(const FreeStacks&) = delete;
  FreeStacks& operator=(const FreeStacks&) = delete;
  ~FreeStacks() {
    for (void* stack : stacks_) munmap(stack, kStackBytes);
  }

  void* take() {
    if (stacks_.empty()) {
      void* stack =
          mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      LAPTIME_CHECK(stack != MAP_FAILED, "{} bytes", kStackBytes);
      return stack;
    }
    void* stack = stacks_.back();
    stacks_.pop_back();
    return stack;
  }
  void give_back(void* stack) {
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(stack, kStackBytes);  // a fiber that never ended leaves its frames poisoned
#endif
    stacks_.push_back(stack);
  }

 private:
  std::vector<void*> stacks_;
};

FreeStacks& free_stacks() {
  thread_local FreeStacks stacks;
  return stacks;
}

class Block;

// The stack and registers on which threads run, one thread at a time.
class Fiber {
 public:
  explicit Fiber(Block& block) : block_(block), stack_(free_stacks().take()) {
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack_;
    context_.uc_stack.ss_size = kStackBytes;
    context_.uc_link = nullptr;
    const auto address = reinterpret_cast<uintptr_t>(this);
    makecontext(&context_, reinterpret_cast<void (*)()>(&Fiber::enter), 2, static_cast<unsigned>(address >> 32U),
                static_cast<unsigned>(address));
  }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber() { free_stacks().give_back(stack_); }

  // Called by the scheduler: runs the fiber until it calls leave().
  void resume();
  // Called by the fiber: returns to the scheduler until the next resume().
  void leave();

 private:
  static void enter(unsigned high, unsigned low);
#if defined(__SANITIZE_ADDRESS__)
  void finish_switch(void* saved);
#endif

  Block& block_;
  void* stack_;
  ucontext_t context_{};  // where the fiber starts
#if defined(__SANITIZE_ADDRESS__)
  ucontext_t scheduler_{};
  void* scheduler_stack_ = nullptr;
  const void* caller_stack_ = nullptr;
  size_t caller_bytes_ = 0;
#else
  jmp_buf fiber_{}, scheduler_{};
  bool has_begun_ = false;
#endif
};

#if defined(__SANITIZE_ADDRESS__)

// The address sanitizer must know which stack is in use.
void Fiber::resume() {
  __sanitizer_start_switch_fiber(&scheduler_stack_, stack_, kStackBytes);
  swapcontext(&scheduler_, &context_);
  __sanitizer_finish_switch_fiber(scheduler_stack_, nullptr, nullptr);
}
void Fiber::leave() {
  void* own = nullptr;
  __sanitizer_start_switch_fiber(&own, caller_stack_, caller_bytes_);
  swapcontext(&context_, &scheduler_);
  finish_switch(own);
}
void Fiber::finish_switch(void* saved) { __sanitizer_finish_switch_fiber(saved, &caller_stack_, &caller_bytes_); }

#else

// setcontext() starts a fiber. Later switches use jumps, which are faster: they make no system call to save the signal
// mask.
void Fiber::resume() {
  if (_setjmp(scheduler_) != 0) return;
  if (has_begun_) _longjmp(fiber_, 1);
  has_begun_ = true;
  setcontext(&context_);
}
void Fiber::leave() {
  if (_setjmp(fiber_) == 0) _longjmp(scheduler_, 1);
}

#endif

// Runs the blocks of one launch, one after the other.
class Block {
 public:
  Block(const HostKernel& kernel, int64_t blocks, int threads, const void* args, const HostGridOptions& options)
      : kernel_(kernel), blocks_(blocks), args_(args), options_(options), shared_((kernel.shared_bytes + 15) / 16) {
    for (int index = 0; index < threads; ++index) lanes_.push_back(std::make_unique<Lane>(*this, index));
  }

  void run(int64_t index);
  void run_new_threads(Fiber& fiber);

 private:
  enum class State : uint8_t { kNew, kRunnable, kBarrier, kExchange, kDone };

  class Lane : public cuda::HostThread {
   public:
    Lane(Block& block, int index) : block_(block), index_(index) {}

    void synchronize(Place place) override { wait(State::kBarrier, place); }
    uint64_t exchange(uint64_t bits, int mask, Place place) override {
      passed = bits;
      partner = (index_ ^ mask);
      wait(State::kExchange, place);
      return received;
    }
    void check_alignment(const void* address, size_t alignment, Place place) override {
      if (reinterpret_cast<uintptr_t>(address) % alignment != 0)
        throw Error::format("{}: thread {} of block {} accesses an address that is not a multiple of {} at {}",
                            block_.kernel_.name, index_, block_.index_, alignment, text(place));
    }
    void on_load(const void* address, size_t, Place place) override {
      if (block_.options_.checked) block_.note_load(address, actor(place));
    }
    void on_store(void* address, size_t, Place place) override {
      if (block_.options_.checked) block_.note_store(address, actor(place));
    }
    void check_index(int64_t index, int64_t size, Place place) override {
      if (index < 0 || index >= size)
        throw Error::format("{}: thread {} of block {} accesses element {} of {} in shared memory at {}",
                            block_.kernel_.name, index_, block_.index_, index, size, text(place));
    }

    State state = State::kNew;
    Fiber* fiber = nullptr;
    Place place{};  // the barrier or exchange at which the thread waits
    uint64_t passed = 0, received = 0;
    int partner = 0;

   private:
    Actor actor(Place at) const { return {block_.index_, index_, block_.interval_, at}; }
    void wait(State reason, Place at) {
      state = reason;
      place = at;
      fiber->leave();
    }

    Block& block_;
    int index_;
  };

  bool is_shared(const void* address) const {
    const auto* byte = static_cast<const char*>(address);
    const auto* begin = reinterpret_cast<const char*>(shared_.data());
    return byte >= begin && byte < begin + kernel_.shared_bytes;
  }
  void note_load(const void* address, const Actor& actor);
  void note_store(const void* address, const Actor& actor);
  void order_threads();
  void run_waiting();
  bool resolve_exchanges();
  void resolve_barrier();
  [[noreturn]] void fail(const std::string& what) const { throw Error::format("{}: {}", kernel_.name, what); }
  Fiber& idle_fiber();

  struct alignas(16) SharedUnit {
    std::byte bytes[16];
  };

  const HostKernel& kernel_;
  int64_t blocks_;
  const void* args_;
  HostGridOptions options_;
  std::vector<SharedUnit> shared_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  std::vector<int> order_;
  size_t started_ = 0;  // number of threads in order_ that have started
  int64_t index_ = 0;
  int64_t interval_ = 0;
  std::exception_ptr error_;
  AccessLog global_log_, shared_log_;
};

void Fiber::enter(unsigned high, unsigned low) {
  auto& fiber =
      *reinterpret_cast<Fiber*>((static_cast<uintptr_t>(high) << 32U) | low);  // NOLINT(performance-no-int-to-ptr)
#if defined(__SANITIZE_ADDRESS__)
  fiber.finish_switch(nullptr);
#endif
  while (true) {
    fiber.block_.run_new_threads(fiber);
    fiber.leave();
  }
}

// Runs threads that have not started yet. When a thread has to wait, the remaining threads start on another fiber.
void Block::run_new_threads(Fiber& fiber) {
  while (started_ < order_.size() && error_ == nullptr) {
    const int index = order_[started_++];
    Lane& lane = *lanes_[static_cast<size_t>(index)];
    lane.fiber = &fiber;
    try {
      kernel_.run(cuda::Thread(lane, index, static_cast<int>(lanes_.size()), index_, blocks_), args_, shared_.data());
    } catch (...) {
      error_ = std::current_exception();
    }
    lane.state = State::kDone;
  }
  idle_.push_back(&fiber);
}

void Block::note_load(const void* address, const Actor& actor) {
  AccessLog& log = is_shared(address) ? shared_log_ : global_log_;
  if (&log == &shared_log_ && !log.is_written(address))
    fail(fmt::format("thread {} of block {} reads shared memory that no thread has written, at {}", actor.thread,
                     actor.block, text(actor.place)));
  if (const auto race = log.load(address, actor)) fail(*race);
}

void Block::note_store(const void* address, const Actor& actor) {
  AccessLog& log = is_shared(address) ? shared_log_ : global_log_;
  if (const auto race = log.store(address, actor)) fail(*race);
}

void Block::order_threads() {
  order_.resize(lanes_.size());
  std::iota(order_.begin(), order_.end(), 0);
  if (options_.turns == Turns::kBackward) std::reverse(order_.begin(), order_.end());
  if (options_.turns == Turns::kDrawn) {
    const uint64_t seed = splitmix64(static_cast<uint64_t>(index_ * 1000 + interval_));
    for (size_t left = order_.size(); left > 1; --left)
      std::swap(order_[left - 1], order_[splitmix64(seed + left) % left]);
  }
}

Fiber& Block::idle_fiber() {
  if (idle_.empty()) {
    fibers_.push_back(std::make_unique<Fiber>(*this));
    return *fibers_.back();
  }
  Fiber& fiber = *idle_.back();
  idle_.pop_back();
  return fiber;
}

void Block::run(int64_t index) {
  index_ = index;
  interval_ = 0;
  started_ = 0;
  shared_log_.clear();
  std::memset(static_cast<void*>(shared_.data()), 0xFF, shared_.size() * sizeof(SharedUnit));
  for (const auto& lane : lanes_) lane->state = State::kNew;
  order_threads();
  while (started_ < order_.size() && error_ == nullptr) idle_fiber().resume();
  while (error_ == nullptr &&
         std::ranges::any_of(lanes_, [](const auto& lane) { return lane->state != State::kDone; })) {
    if (!resolve_exchanges()) resolve_barrier();
    run_waiting();
  }
  if (error_ != nullptr) std::rethrow_exception(error_);
}

void Block::run_waiting() {
  for (const int index : order_) {
    Lane& lane = *lanes_[static_cast<size_t>(index)];
    if (lane.state == State::kRunnable && error_ == nullptr) lane.fiber->resume();
  }
}

// Completes the exchange of each waiting warp. Returns false if no warp waits; throws if only some threads of a warp
// wait.
bool Block::resolve_exchanges() {
  bool any = false;
  for (size_t begin = 0; begin < lanes_.size(); begin += kWarp) {
    const std::span warp(lanes_.data() + begin, kWarp);
    const auto waiting = std::ranges::find_if(warp, [](const auto& lane) { return lane->state == State::kExchange; });
    if (waiting == warp.end()) continue;
    const Place place = (*waiting)->place;
    for (size_t k = 0; k < warp.size(); ++k) {
      const bool there = warp[k]->state == State::kExchange && same(warp[k]->place, place);
      if (!there)
        fail(fmt::format("thread {} of block {} is not at the exchange of its warp at {}", begin + k, index_,
                         text(place)));
    }
    for (const auto& lane : warp) {
      const size_t partner = static_cast<size_t>(lane->partner) - begin;
      LAPTIME_CHECK(partner < warp.size(), "partner {}", lane->partner);
      lane->received = warp[partner]->passed;
      lane->state = State::kRunnable;
    }
    any = true;
  }
  return any;
}

// Called when every thread waits at a barrier or has ended. Releases the threads; throws unless all of them wait at
// the same barrier.
void Block::resolve_barrier() {
  const auto waiting = std::ranges::find_if(lanes_, [](const auto& lane) { return lane->state == State::kBarrier; });
  const Place place = (*waiting)->place;
  for (size_t k = 0; k < lanes_.size(); ++k) {
    const Lane& lane = *lanes_[k];
    if (lane.state == State::kDone)
      fail(fmt::format("thread {} of block {} has ended while others wait at the barrier at {}", k, index_,
                       text(place)));
    if (!same(lane.place, place))
      fail(fmt::format("thread {} of block {} waits at the barrier at {}, others at the one at {}", k, index_,
                       text(lane.place), text(place)));
  }
  ++interval_;
  for (const auto& lane : lanes_) lane->state = State::kRunnable;
  order_threads();
}

}  // namespace

void run_grid(const HostKernel& kernel, int64_t blocks, int threads, const void* args, const HostGridOptions& options) {
  LAPTIME_CHECK(blocks > 0 && threads > 0 && threads <= cuda::kMaxBlock && threads % kWarp == 0,
                "{}: {} blocks of {} threads", kernel.name, blocks, threads);
  LAPTIME_CHECK(kernel.shared_bytes <= cuda::kSharedBytes, "{}: {} bytes of shared memory", kernel.name,
                kernel.shared_bytes);
  Block block(kernel, blocks, threads, args, options);
  for (int64_t k = 0; k < blocks; ++k) {
    const bool backward = options.turns == Turns::kBackward;
    block.run(backward ? blocks - 1 - k : k);
  }
}

}  // namespace laptime::test
