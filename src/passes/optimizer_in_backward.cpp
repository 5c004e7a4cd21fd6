// Groups the optimizer nodes by parameter, finds a place in backward for each group, and replays the graph in that
// order.
#include "passes/optimizer_in_backward.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

#include "graph/builder.h"
#include "graph/op.h"

namespace laptime {
namespace {

constexpr size_t kNobody = std::numeric_limits<size_t>::max();
constexpr double kNoLimit = std::numeric_limits<double>::infinity();
constexpr double kSearchUntil = 1.0 / 512;  // precision of the search for the lowest limit, as a fraction of the peak

bool in_optimizer(const Node& node) { return node.annotations.phase == Phase::kOptimizer; }

// The optimizer nodes of one parameter, in order. Nodes that share a value or a state that the optimizer writes, as in
// clipping, form one update. Sizes are in bytes, stored as doubles because they are only compared.
struct ParameterUpdate {
  std::vector<size_t> nodes;
  // Number of nodes outside the optimizer that must run before the update, because they produce inputs of the update or
  // read states that it writes, or because they stand before such a node.
  size_t ready = 0;
  double held = 0;   // bytes of gradients kept for the update
  double extra = 0;  // peak bytes of the update beyond `held`
};

struct Schedule {
  std::vector<size_t> places;  // for each update, the number of nodes outside the optimizer that run before it
  double peak = 0;             // peak live bytes of the step's own tensors
};

class Scheduler {
 public:
  explicit Scheduler(const Graph& graph)
      : graph_(graph),
        made_(graph.storage_roots.size(), 0),
        last_read_(graph.storage_roots.size(), 0),
        reader_(graph.storage_roots.size(), kNobody),
        is_written_(graph.storage_roots.size(), false),
        is_kept_(graph.storage_roots.size(), false),
        is_elided_(graph.storage_roots.size(), false) {
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      if (!in_optimizer(graph.nodes[i])) others_.push_back(i);
    }
    for (const GraphOutput& output : graph.outputs) is_kept_[storage(output.value)] = true;
    find_updates();
    find_last_reads();
    for (ParameterUpdate& update : updates_) find_extra(update);
    find_live_bytes();
  }

  const std::vector<size_t>& others() const { return others_; }  // nodes that do not belong to the optimizer
  const std::vector<ParameterUpdate>& updates() const { return updates_; }

  // Tries several schedules and returns the one with the lowest peak. In each schedule, an update runs as soon as it is
  // ready and live bytes stay within a limit. Bisection finds the lowest limit that a schedule can meet. The last
  // schedule tried runs all updates at the end.
  Schedule best() const {
    Schedule best = schedule(kNoLimit);
    double low = *std::max_element(during_.begin(), during_.end());
    double high = best.peak;
    while (high - low > kSearchUntil * high) {
      const double limit = (low + high) / 2;
      Schedule next = schedule(limit);
      const bool keeps_it = next.peak <= limit;
      if (next.peak < best.peak) best = std::move(next);
      (keeps_it ? high : low) = limit;
    }
    Schedule at_the_end = schedule(-kNoLimit);
    return at_the_end.peak < best.peak ? at_the_end : best;
  }

 private:
  size_t storage(ValueId value) const { return static_cast<size_t>(graph_.value(value).storage.index); }
  double bytes_of(size_t storage) const {
    return is_elided_[storage] ? 0 : static_cast<double>(graph_.storage_bytes({static_cast<int32_t>(storage)}));
  }
  bool makes_storage(ValueId output) const { return graph_.storage_roots[storage(output)] == output; }
  // True if the step computes the value; live bytes count only such values.
  bool is_of_step(ValueId value) const { return graph_.is_of_step(graph_.value(value).storage); }

  // Groups nodes into updates by the storages that the optimizer writes.
  void find_updates() {
    for (const Node& node : graph_.nodes) {
      if (!in_optimizer(node)) continue;
      for (const ValueId output : node.outputs) is_written_[storage(output)] = true;
      const bool assigns = node.op->kind == OpKind::kCopy && !node.op->updates.empty() && node.inputs.size() == 2;
      const Node* const producer = assigns ? graph_.producer(node.inputs[1]) : nullptr;
      // The plan lets a pointwise producer write into the state.
      if (producer != nullptr && in_optimizer(*producer) && producer->op->kind == OpKind::kPointwise)
        is_elided_[storage(node.inputs[1])] = true;
    }
    std::vector<size_t> joined(graph_.storage_roots.size());
    std::iota(joined.begin(), joined.end(), size_t{0});
    const auto root_of = [&](size_t at) {
      while (joined[at] != at) at = joined[at] = joined[joined[at]];
      return at;
    };
    const auto each_written = [&](const Node& node, const auto& visit) {
      for (const ValueId output : node.outputs) visit(storage(output));
      for (const ValueId input : node.inputs) {
        if (is_written_[storage(input)]) visit(storage(input));
      }
    };
    for (const Node& node : graph_.nodes) {
      if (!in_optimizer(node)) continue;
      const size_t own = storage(node.outputs.front());
      each_written(node, [&](size_t at) { joined[root_of(at)] = root_of(own); });
    }
    std::vector<size_t> update_of(graph_.storage_roots.size(), kNobody);
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!in_optimizer(graph_.nodes[i])) continue;
      size_t& update = update_of[root_of(storage(graph_.nodes[i].outputs.front()))];
      if (update == kNobody) {
        update = updates_.size();
        updates_.emplace_back();
      }
      updates_[update].nodes.push_back(i);
    }
  }

  // Determines when each update is ready, and which update reads which storage.
  void find_last_reads() {
    for (size_t at = 0; at < others_.size(); ++at) {
      const Node& node = graph_.nodes[others_[at]];
      for (const ValueId input : node.inputs) last_read_[storage(input)] = at + 1;
      for (const ValueId output : node.outputs) made_[storage(output)] = last_read_[storage(output)] = at + 1;
    }
    for (size_t update = 0; update < updates_.size(); ++update) {
      for (const size_t node : updates_[update].nodes) {
        for (const ValueId input : graph_.nodes[node].inputs) {
          const bool waits = is_written_[storage(input)] || is_of_step(input);
          updates_[update].ready = std::max(updates_[update].ready, (waits ? last_read_ : made_)[storage(input)]);
          size_t& reader = reader_[storage(input)];
          if (reader != kNobody && reader != update) is_kept_[storage(input)] = true;  // several updates read it
          reader = update;
        }
      }
    }
  }

  void find_extra(ParameterUpdate& update) {
    std::vector<std::pair<size_t, size_t>> last_use;  // (storage, node that uses it)
    for (const size_t node : update.nodes) {
      const auto use = [&](ValueId value) {
        if (!is_of_step(value) || is_kept_[storage(value)]) return;
        last_use.emplace_back(storage(value), node);
      };
      for (const ValueId input : graph_.nodes[node].inputs) use(input);
      for (const ValueId output : graph_.nodes[node].outputs) use(output);
    }
    // After sorting by storage and node, the last entry of each storage is its last use.
    std::sort(last_use.begin(), last_use.end());
    std::vector<std::pair<size_t, double>> freed;  // (node, bytes that are freed after it)
    for (size_t i = 0; i < last_use.size(); ++i) {
      if (i + 1 == last_use.size() || last_use[i + 1].first != last_use[i].first)
        freed.emplace_back(last_use[i].second, bytes_of(last_use[i].first));
    }
    std::sort(freed.begin(), freed.end());
    double live = 0;
    auto next_free = freed.begin();
    for (const size_t node : update.nodes) {
      for (const ValueId output : graph_.nodes[node].outputs)
        live += makes_storage(output) ? bytes_of(storage(output)) : 0;
      update.extra = std::max(update.extra, live);
      for (; next_free != freed.end() && next_free->first == node; ++next_free) live -= next_free->second;
    }
  }

  // Computes the live bytes during and after each node outside the optimizer, without the bytes held for updates.
  void find_live_bytes() {
    during_.assign(others_.size() + 1, 0);
    after_.assign(others_.size() + 1, 0);
    held_from_.assign(others_.size() + 1, 0);
    std::vector<double> freed(others_.size() + 1, 0);
    double live = 0;
    for (size_t at = 0; at < others_.size(); ++at) {
      for (const ValueId output : graph_.nodes[others_[at]].outputs) {
        const size_t made = storage(output);
        if (!makes_storage(output) || !is_of_step(output)) continue;
        live += bytes_of(made);
        if (is_kept_[made]) continue;
        freed[last_read_[made]] += bytes_of(made);
        if (reader_[made] == kNobody) continue;
        updates_[reader_[made]].held += bytes_of(made);
        held_from_[last_read_[made]] += bytes_of(made);
      }
      during_[at] = live;
      live -= freed[at + 1];
      after_[at + 1] = live;
    }
  }

  // Runs each update as soon as it is ready and live bytes stay within the limit, or else at the end.
  Schedule schedule(double limit) const {
    std::vector<std::vector<size_t>> ready(others_.size() + 1);
    for (size_t i = 0; i < updates_.size(); ++i) ready[updates_[i].ready].push_back(i);
    Schedule result;
    result.places.assign(updates_.size(), others_.size());
    std::vector<size_t> waiting;
    double held = 0;
    for (size_t at = 0; at <= others_.size(); ++at) {
      held += held_from_[at];
      waiting.insert(waiting.end(), ready[at].begin(), ready[at].end());
      std::erase_if(waiting, [&](size_t i) {
        const double live = after_[at] + held + updates_[i].extra;
        if (live > limit && at < others_.size()) return false;
        result.places[i] = at;
        result.peak = std::max(result.peak, live);
        held -= updates_[i].held;
        return true;
      });
      result.peak = std::max(result.peak, during_[at] + held);
    }
    return result;
  }

  const Graph& graph_;
  std::vector<size_t> others_;
  std::vector<ParameterUpdate> updates_;
  std::vector<size_t> made_;       // storage -> the last node in others_ that writes it, counted from 1
  std::vector<size_t> last_read_;  // storage -> the last node in others_ that uses it, counted from 1
  std::vector<size_t> reader_;     // storage -> the update that reads it
  std::vector<bool> is_written_;   // storage -> the optimizer writes it
  std::vector<bool> is_kept_;      // storage -> lives until the step ends
  std::vector<bool> is_elided_;    // storage -> the plan places it in a state
  std::vector<double> during_, after_, held_from_;
};

}  // namespace

Graph optimizer_in_backward(const Graph& graph) {
  const Scheduler scheduler(graph);
  const std::vector<size_t>& others = scheduler.others();
  const std::vector<size_t> places = scheduler.best().places;
  std::vector<std::vector<size_t>> updates_at(others.size() + 1);
  for (size_t i = 0; i < places.size(); ++i) updates_at[places[i]].push_back(i);
  Replay replay(graph);
  for (size_t at = 0; at <= others.size(); ++at) {
    for (const size_t update : updates_at[at]) {
      for (const size_t node : scheduler.updates()[update].nodes) replay.copy(graph.nodes[node]);
    }
    if (at < others.size()) replay.copy(graph.nodes[others[at]]);
  }
  return replay.finish();
}

}  // namespace laptime
