// Allocates memory and touches its pages, launches kernels on the team, and lists the limits to measure.
#include "backend/cpu/cpu_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "backend/cpu/page_fault.h"
#include "backend/cpu/peak/peak.h"
#include "base/available_memory.h"
#include "base/error.h"
#include "base/host_clock.h"
#include "base/isa.h"
#include "base/units.h"
#include "base/words.h"

namespace laptime::cpu {
namespace {

// Touches the stack of the calling thread, so that its pages are mapped before the first step.
void grow_stack() {
  std::array<volatile char, 128 << 10> bytes;  // one byte per page is written
  for (size_t at = 0; at < bytes.size(); at += kPage) bytes[at] = 0;
}

// Prepares the process and the calling thread for a team with this many threads. Throws OutOfMemory if the address
// space cannot hold the stack, heap and scratch of every thread: a stack that cannot grow would end the process without
// an error. Must be called before the team is created, because the team's threads occupy address space.
int prepared_for(int threads) {
  const int64_t of_thread = thread_bytes();
  try {
    // Maps the bytes of each thread separately, as stacks are: the system may refuse one mapping of the total size.
    std::vector<Pages> room;
    room.reserve(static_cast<size_t>(threads));
    for (int thread = 0; thread < threads; ++thread) room.emplace_back(of_thread);
  } catch (const OutOfMemory&) {
    const AvailableMemory available = available_memory();
    const bool one_fits = threads > 1 && available.holds(of_thread);
    const int64_t wanted = (Size(of_thread) * threads).value();
    throw OutOfMemory(
        wanted, available.bytes,
        fmt::format("the stacks and heaps of {} take {}, {}; {}", counted(threads, "thread"), format_bytes(wanted),
                    available.text(),
                    one_fits ? "lower --threads" : "raise that limit, or lower the stack size (ulimit -s)"));
  }
  grow_stack();
  return threads;
}

// Touches every page. Fresh pages are zero, so for kZeros one write per page is enough. All threads touch blocks in
// parallel, which spreads the pages over NUMA nodes. Kernels divide each tensor among all threads, so placing it on a
// single node would not help.
void touch(Team& team, const Pages& pages, Contents contents) {
  constexpr int64_t kBlockBytes = int64_t{8} << 20;
  team.parallel_for(ceil_div(pages.bytes(), kBlockBytes), [&](int64_t block) {
    const int64_t begin = block * kBlockBytes;
    const int64_t end = std::min(begin + kBlockBytes, pages.bytes());
    if (contents == Contents::kNan) {
      std::memset(pages.data() + begin, 0xFF, static_cast<size_t>(end - begin));
      return;
    }
    for (int64_t at = begin; at < end; at += kPage) *static_cast<volatile std::byte*>(pages.data() + at) = std::byte{0};
  });
}

}  // namespace

void CpuBackend::Held::add(int64_t bytes) {
  const int64_t held = now.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  int64_t most = peak.load(std::memory_order_relaxed);
  while (held > most && !peak.compare_exchange_weak(most, held, std::memory_order_relaxed)) {}
}

class CpuBackend::Memory : public DeviceMemory {
 public:
  Memory(int64_t bytes, std::shared_ptr<Held> held) : pages_(bytes), held_(std::move(held)) {
    held_->add(pages_.bytes());
  }
  ~Memory() override { held_->add(-pages_.bytes()); }
  std::byte* data() override { return pages_.data(); }
  const Pages& pages() const { return pages_; }

 private:
  Pages pages_;
  std::shared_ptr<Held> held_;
};

CpuBackend::CpuBackend(std::shared_ptr<const KernelTable> kernels, int threads, ProductPaths paths)
    : kernels_(std::move(kernels)), paths_(paths), team_(prepared_for(threads)) {
  team_.on_each_thread([](int) { grow_stack(); });
}

CpuBackend::CpuBackend(std::vector<Kernel> kernels, int threads)
    : CpuBackend(std::make_shared<KernelTable>(std::move(kernels)), threads) {}

std::unique_ptr<DeviceMemory> CpuBackend::allocate(int64_t bytes, Contents contents) {
  LAPTIME_CHECK(bytes >= 0, "invalid size: {} bytes", bytes);
  auto memory = std::make_unique<Memory>(bytes, held_);
  touch(team_, memory->pages(), contents);
  return memory;
}

void CpuBackend::prepare(const Kernel& kernel, const Signature& signature) {
  if (kernel.prepare != nullptr) kernel.prepare(signature, team_);
}

void CpuBackend::launch(const Launch& launch) {
  if (launch.communicates) {
    LAPTIME_CHECK(communication_ != nullptr, "{} launched before join()", launch.kernel->op->name);
    return communication_->start(launch);
  }
  const Kernel& kernel = *launch.kernel;
  kernel.launch({*kernel.op, *launch.attributes, launch.in, launch.out, launch.workspace, team_});
}

CommunicationTimes CpuBackend::communication_times() const {
  return communication_ == nullptr ? CommunicationTimes() : communication_->times();
}

void CpuBackend::synchronize() {
  if (communication_ != nullptr) communication_->synchronize();
}

void CpuBackend::pause(Seconds time) {
  for (const Seconds end = host_now() + time; host_now() < end;) {}
}

void CpuBackend::mark(size_t index) {
  if (index >= marks_.size()) marks_.resize(index + 1);
  marks_[index] = host_now();
}

Seconds CpuBackend::now() { return host_now(); }

void CpuBackend::write(std::byte* device, const std::byte* host, int64_t bytes) {
  std::memcpy(device, host, static_cast<size_t>(bytes));
}
void CpuBackend::read(std::byte* host, const std::byte* device, int64_t bytes) {
  std::memcpy(host, device, static_cast<size_t>(bytes));
}

std::vector<DeviceLimit> CpuBackend::limits(DType factors) {
  const bool is_bfloat16 = factors == DType::kBFloat16 && paths_.bfloat16;
  const bool is_widened = factors != DType::kFloat32 && !is_bfloat16;  // factors are converted to float32 first
  if (is_widened) factors = DType::kFloat32;
  const bool float32_alone = is_widened || (!is_bfloat16 && !paths_.split_float32);
  const int running = concurrent_threads(team_);
  const auto product_flops = [this, is_bfloat16, float32_alone, running] {
    const auto reading_of = [running](const ComputePeak& peak) {
      return LimitReading(peak.ran_together ? peak.all_threads : running * peak.one_core, !peak.ran_together);
    };
    const LimitReading float32 = reading_of(measure_float32_peak(team_, widest_isa()));
    if (float32_alone) return float32;
    const LimitReading other =
        reading_of(is_bfloat16 ? measure_bfloat16_peak(team_) : measure_split_float32_peak(team_));
    return float32.value > other.value ? float32 : other;
  };
  return {{DeviceLimit::Kind::kProductFlops,
           fmt::format("{}_product_flops_per_second/threads:{}{}", laptime::name_of(factors), running,
                       float32_alone ? "/ieee" : ""),
           "FLOP/s", product_flops},
          {DeviceLimit::Kind::kBandwidth, fmt::format("stream_bytes_per_second/threads:{}", running), "bytes/s",
           [this] { return measure_bandwidth(team_, widest_isa()); }},
          {DeviceLimit::Kind::kPageFault, "page_fault_seconds", "s", [] { return measure_page_fault().count(); }}};
}

}  // namespace laptime::cpu
