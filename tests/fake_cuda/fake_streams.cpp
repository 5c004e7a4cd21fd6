// The streams, events and graphs of the fake driver. The work of a stream runs when the program waits for the stream,
// or for another stream that depends on it. The nodes of a graph run in call order. If LAPTIME_FAKE_CUDA_EAGER is set,
// all other streams first run as far as they can, and of the runnable nodes of a graph, the one added last runs first.
// A missing event gives a wrong result in one of these two orders.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <set>
#include <utility>

#include "fake_cuda/fake_card.h"

namespace laptime::cuda {

struct Happening {
  StreamObject* stream = nullptr;
  bool happened = false;
  std::chrono::steady_clock::time_point time{};
};
struct EventObject {
  std::shared_ptr<Happening> last;  // null before the first recording, and for an event that orders work in a graph
  GraphObject* graph = nullptr;     // the graph that contains the event; null outside of graphs
  std::set<size_t> after;           // nodes of the graph that must be done before the event
};

void StreamObject::enqueue_polled(FakeWork item) {
  if (capture == nullptr) return work.push_back(std::move(item));
  capture->nodes.push_back({std::move(item), after});
  after = {capture->nodes.size() - 1};
}

}  // namespace laptime::cuda

namespace laptime::test {

std::set<cuda::StreamObject*>& streams() {
  static std::set<cuda::StreamObject*> the_streams;
  return the_streams;
}

bool advance(cuda::StreamObject& stream) {
  if (card().failed == cuda::kSuccess && !stream.work.front()()) return false;
  stream.work.pop_front();
  return true;
}

void run_streams_except(const cuda::StreamObject* last) {
  for (cuda::StreamObject* const stream : streams()) {
    while (stream != last && !stream->work.empty() && advance(*stream)) {}
  }
}

void pause(std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  usleep(50);
  lock.lock();
}

void run_card(std::unique_lock<std::mutex>& lock) {
  const auto is_busy = [](const cuda::StreamObject* stream) {
    return stream->card == current_card() && !stream->work.empty();
  };
  while (std::ranges::any_of(streams(), is_busy)) {
    run_streams_except(nullptr);
    pause(lock);
  }
}

// Like advance(), but first runs all other streams if LAPTIME_FAKE_CUDA_EAGER is set. Also returns true if the stream
// has no work left.
bool advance_all(cuda::StreamObject& stream) {
  if (std::getenv("LAPTIME_FAKE_CUDA_EAGER") != nullptr) run_streams_except(&stream);
  return stream.work.empty() || advance(stream);
}

cuda::Status run(cuda::StreamObject& stream, std::unique_lock<std::mutex>& lock) {
  while (!stream.work.empty()) {
    if (!advance_all(stream)) pause(lock);
  }
  return card().failed;
}

}  // namespace laptime::test

namespace {

using namespace laptime::cuda;
using namespace laptime::test;

constexpr Status kUnjoined = 904;
constexpr Status kIsolated = 905;

// The graphs that are being captured.
std::set<GraphObject*>& open_graphs() {
  static std::set<GraphObject*> the_graphs;
  return the_graphs;
}

// True if every node of the graph is among `last` or must be done before one of them.
bool all_precede(const GraphObject& graph, std::set<size_t> last) {
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    if (!last.contains(i)) return false;
    last.insert(graph.nodes[i].after.begin(), graph.nodes[i].after.end());
  }
  return true;
}

// One run of a graph, which a stream holds as one piece of work.
class GraphRun {
 public:
  explicit GraphRun(std::vector<GraphNode> nodes) : nodes_(std::move(nodes)), done_(nodes_.size()) {}

  bool operator()() {
    const bool latest_first = std::getenv("LAPTIME_FAKE_CUDA_EAGER") != nullptr;
    for (bool moves = true; moves;) {
      moves = false;
      for (size_t i = 0; i < nodes_.size(); ++i) {
        const size_t node = latest_first ? nodes_.size() - 1 - i : i;
        if (done_[node] || !std::ranges::all_of(nodes_[node].after, [&](size_t one) { return done_[one]; })) continue;
        if (card().failed == kSuccess && !nodes_[node].work()) continue;
        done_[node] = true;
        moves = true;
        if (latest_first) break;
      }
    }
    return std::ranges::all_of(done_, [](bool is_done) { return is_done; });
  }

 private:
  std::vector<GraphNode> nodes_;
  std::vector<bool> done_;
};

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names of libcuda
extern "C" {

Status cuStreamCreate(StreamHandle* stream, unsigned) {
  const std::lock_guard lock(card().mutex);
  *stream = new StreamObject;
  (*stream)->card = laptime::test::current_card();
  streams().insert(*stream);
  return kSuccess;
}
Status cuStreamDestroy_v2(StreamHandle stream) {
  std::unique_lock lock(card().mutex);
  const Status status = run(*stream, lock);
  streams().erase(stream);
  delete stream;
  return status;
}
Status cuStreamQuery(StreamHandle stream) {
  std::unique_lock lock(card().mutex);
  if (stream->capture != nullptr) return kCaptureUnsupported;
  while (!stream->work.empty()) {
    if (advance_all(*stream)) continue;
    pause(lock);
    return kNotReady;
  }
  return card().failed;
}
Status cuStreamSynchronize(StreamHandle stream) {
  std::unique_lock lock(card().mutex);
  if (stream->capture != nullptr) return kCaptureUnsupported;
  return run(*stream, lock);
}

// A stream that waits for an event of a graph under capture joins the capture.
Status cuStreamWaitEvent(StreamHandle stream, EventHandle event, unsigned) {
  const std::lock_guard lock(card().mutex);
  if (event->graph != nullptr && open_graphs().contains(event->graph)) {
    GraphObject& graph = *event->graph;
    if (stream->capture != nullptr && stream->capture != &graph) return kInvalidValue;
    stream->capture = &graph;
    if (stream != graph.origin) graph.joined.insert(stream);
    stream->after.insert(event->after.begin(), event->after.end());
    return kSuccess;
  }
  if (stream->capture != nullptr) return kIsolated;
  if (event->last == nullptr) return kSuccess;
  stream->enqueue_polled([last = event->last] {
    while (!last->happened && advance(*last->stream)) {}
    return last->happened;
  });
  return kSuccess;
}

Status cuEventCreate(EventHandle* event, unsigned) { return *event = new EventObject, kSuccess; }
Status cuEventDestroy_v2(EventHandle event) {
  const std::lock_guard lock(card().mutex);
  delete event;
  return kSuccess;
}
// In a graph, an external event (CU_EVENT_RECORD_EXTERNAL) only has a time, and any other event only orders streams.
Status cuEventRecordWithFlags(EventHandle event, StreamHandle stream, unsigned flags) {
  const std::lock_guard lock(card().mutex);
  if (card().failed != kSuccess) return card().failed;
  const bool is_external = flags == 1;
  if (is_external && stream->capture == nullptr) return kCaptureUnsupported;
  event->last = nullptr;
  event->graph = nullptr;
  if (stream->capture != nullptr && !is_external) {
    event->graph = stream->capture;
    event->after = stream->after;
    return kSuccess;
  }
  event->last = std::make_shared<Happening>(Happening{.stream = stream});
  stream->enqueue([last = event->last] {
    last->happened = true;
    last->time = std::chrono::steady_clock::now();
  });
  return kSuccess;
}
Status cuEventRecord(EventHandle event, StreamHandle stream) { return cuEventRecordWithFlags(event, stream, 0); }
Status cuEventElapsedTime(float* milliseconds, EventHandle begin, EventHandle end) {
  const std::lock_guard lock(card().mutex);
  if (begin->last == nullptr || end->last == nullptr) return kInvalidValue;
  if (!begin->last->happened || !end->last->happened) return kNotReady;
  *milliseconds = std::chrono::duration<float, std::milli>(end->last->time - begin->last->time).count();
  return kSuccess;
}

Status cuStreamBeginCapture_v2(StreamHandle stream, int) {
  const std::lock_guard lock(card().mutex);
  if (stream->capture != nullptr) return kInvalidValue;
  stream->capture = new GraphObject;
  stream->capture->origin = stream;
  open_graphs().insert(stream->capture);
  return kSuccess;
}
Status cuStreamEndCapture(StreamHandle stream, GraphHandle* graph) {
  const std::lock_guard lock(card().mutex);
  if (stream->capture == nullptr || stream->capture->origin != stream) return kInvalidValue;
  *graph = std::exchange(stream->capture, nullptr);
  open_graphs().erase(*graph);
  const bool is_joined = all_precede(**graph, std::exchange(stream->after, {}));
  for (StreamObject* const joined : (*graph)->joined) {
    joined->capture = nullptr;
    joined->after.clear();
  }
  if (is_joined) return kSuccess;
  delete std::exchange(*graph, nullptr);
  return kUnjoined;
}
Status cuGraphInstantiateWithFlags(GraphExecHandle* exec, GraphHandle graph, unsigned long long) {
  const std::lock_guard lock(card().mutex);
  if (free_bytes() == 0) return kOutOfMemory;
  return *exec = new GraphExecObject{graph->nodes}, kSuccess;
}
Status cuGraphLaunch(GraphExecHandle exec, StreamHandle stream) {
  const std::lock_guard lock(card().mutex);
  if (card().failed != kSuccess) return card().failed;
  stream->enqueue_polled(GraphRun(exec->nodes));
  return kSuccess;
}
Status cuGraphDestroy(GraphHandle graph) {
  delete graph;
  return kSuccess;
}
Status cuGraphExecDestroy(GraphExecHandle exec) {
  const std::lock_guard lock(card().mutex);
  delete exec;
  return kSuccess;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
