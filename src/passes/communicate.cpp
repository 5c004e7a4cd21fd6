// Walks over the step once: emits communication when its inputs are ready, and a wait node before the first node that
// reads the results.
#include "passes/communicate.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graph/builder.h"
#include "graph/op.h"

namespace laptime {
namespace {

constexpr size_t kNoBucket = static_cast<size_t>(-1);
// Maximum number of buckets of gradients, or of updated parameters, in flight at once. Whole gradients and workspaces
// live until the wait, so the limit bounds their memory; two buckets keep the communication queue busy while the step
// computes the next bucket.
constexpr size_t kBucketsInFlight = 2;

bool communicates(const Node& node) { return node.op->kind == OpKind::kCommunication; }
bool is_gather(const Node& node) { return communicates(node) && node.op->is_made_where_read; }

// {index, ""} for a layer; {a negative number, its name} for a module outside the layers.
using Unit = std::pair<int64_t, std::string>;

// The nodes of one phase that read the gathered parameters of a unit. If the next phase begins with the same unit, its
// nodes belong to the same use. Each use has its own gathers.
struct Use {
  Unit unit;
  size_t first = 0;  // index of the first node
};

// Finds which nodes read gathered values, and before which node each unit must be gathered.
class GatherUses {
 public:
  explicit GatherUses(const Graph& graph) : graph_(graph), units_(graph.nodes.size()), uses_of_(graph.nodes.size()) {
    size_t run = 0;  // index of the current run of consecutive nodes in one phase
    Phase phase = Phase::kForward;
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& node = graph.nodes[i];
      if (node.annotations.phase == Phase::kSetup) continue;
      run += node.annotations.phase != phase ? 1 : 0;
      phase = node.annotations.phase;
      if (is_gather(node)) {
        units_[i].insert({node.annotations.region.layer,
                          node.annotations.region.layer < 0 ? node.annotations.region.part : std::string()});
        gathers_[*units_[i].begin()].push_back(i);
      } else if (is_derived(node)) {
        units_[i] = units_read(node);
      } else {
        for (const Unit& unit : units_read(node)) uses_of_[i].push_back(use_of(run, unit, i));
      }
    }
  }

  const std::vector<Use>& uses() const { return uses_; }
  const std::vector<size_t>& gathers(const Unit& unit) const { return gathers_.at(unit); }
  // True if the node is a gather, or a view or copy whose inputs all come from gathers.
  bool is_made_where_read(size_t node) const { return !units_[node].empty(); }
  // The uses to which a node belongs.
  const std::vector<size_t>& uses_of(size_t node) const { return uses_of_[node]; }

 private:
  std::set<Unit> units_read(const Node& node) const {
    std::set<Unit> units;
    for (const ValueId input : node.inputs) {
      const NodeId producer = graph_.value(input).producer;
      if (producer.valid()) units.insert(units_of(producer).begin(), units_of(producer).end());
    }
    return units;
  }
  const std::set<Unit>& units_of(NodeId node) const { return units_[static_cast<size_t>(node.index)]; }

  bool is_derived(const Node& node) const {
    const bool moves = node.op->kind == OpKind::kView || (node.op->kind == OpKind::kCopy && !node.op->has_updates());
    return moves && !node.inputs.empty() && std::ranges::all_of(node.inputs, [&](ValueId input) {
             const NodeId producer = graph_.value(input).producer;
             return producer.valid() && !units_of(producer).empty();
           });
  }

  // Returns the use of the unit in this run. A new use begins at `node`.
  size_t use_of(size_t run, const Unit& unit, size_t node) {
    const auto [found, is_new] = known_.try_emplace({run, unit}, uses_.size());
    if (!is_new) return found->second;
    if (!uses_.empty() && uses_.back().unit == unit) {
      found->second = uses_.size() - 1;  // backward begins with the last unit of forward, which is still gathered
    } else {
      uses_.push_back({unit, node});
    }
    return found->second;
  }

  const Graph& graph_;
  std::vector<std::set<Unit>> units_;         // node -> units whose values it gathers or derives
  std::vector<std::vector<size_t>> uses_of_;  // node -> uses to which it belongs
  std::map<Unit, std::vector<size_t>> gathers_;
  std::map<std::pair<size_t, Unit>, size_t> known_;
  std::vector<Use> uses_;
};

// Communication that is started together.
struct Bucket {
  const OpCard* op = nullptr;
  Attributes attributes;
  std::vector<ValueId> results{};  // in the new graph, before the wait
  std::vector<ValueId> old{};      // the values of the old graph that `results` replace
  bool is_waited_for = false;
};

// Communication of one op whose inputs are ready, but which has not started.
struct Pending {
  const OpCard* op = nullptr;
  std::vector<size_t> members{};  // indices of nodes
  int64_t bytes = 0;
};

class Communicate {
 public:
  Communicate(const Graph& graph, int64_t bucket_bytes)
      : replay_(graph),
        bucket_bytes_(bucket_bytes),
        gathers_(graph),
        is_emitted_(graph.nodes.size(), false),
        ready_at_(graph.nodes.size()),
        bucket_of_(graph.values.size(), kNoBucket) {
    find_ready();
  }

  Graph run() {
    Phase phase = Phase::kSetup;
    size_t next_use = 0;
    for (size_t i = 0; i < from().nodes.size(); ++i) {
      const Node& node = from().nodes[i];
      if (!communicates(node) && !gathers_.is_made_where_read(i) && !is_emitted_[i]) {
        if (node.annotations.phase == Phase::kOptimizer && phase != Phase::kOptimizer) start_pending();
        if (node.annotations.phase != Phase::kSetup) phase = node.annotations.phase;
        for (; next_use < gathers_.uses().size() && gathers_.uses()[next_use].first == i; ++next_use)
          begin_use(next_use, node);
        for (const ValueId input : node.inputs) settle(input, node.annotations);
        emit(i);
      }
      for (const size_t ready : ready_at_[i]) add_pending(ready);
    }
    start_pending();
    NodeAnnotations end = from().nodes.back().annotations;
    end.phase = phase;
    for (size_t bucket = 0; bucket < buckets_.size(); ++bucket) wait_for(bucket, end);
    return replay_.finish();
  }

 private:
  const Graph& from() const { return replay_.from; }
  size_t storage(ValueId value) const { return static_cast<size_t>(from().value(value).storage.index); }

  // Communication, except gathers, is ready after the last earlier node that reads or writes the storage of its input.
  void find_ready() {
    std::vector<size_t> last_use(from().storage_roots.size(), 0);
    for (size_t i = 0; i < from().nodes.size(); ++i) {
      const Node& node = from().nodes[i];
      if (is_gather(node)) continue;
      if (communicates(node)) {
        ready_at_[last_use[storage(node.inputs.front())]].push_back(i);
        continue;
      }
      if (node.op->kind == OpKind::kView) continue;
      for (const ValueId input : node.inputs) last_use[storage(input)] = i;
      for (const ValueId output : node.outputs) last_use[storage(output)] = i;
    }
  }

  // Waits for the gathers of a use. Before that, starts the gathers of the next use too, so that they run while this
  // use computes.
  void begin_use(size_t use, const Node& node) {
    start_use(use, node);
    if (use + 1 < gathers_.uses().size()) start_use(use + 1, node);
    wait_for(started_.at(use), node.annotations);
  }

  void start_use(size_t use, const Node& before) {
    if (started_.contains(use)) return;
    const std::vector<size_t>& members = gathers_.gathers(gathers_.uses()[use].unit);
    const Node& first = from().nodes[members.front()];
    Bucket bucket{.op = first.op, .attributes = first.attributes};
    std::vector<ValueId> inputs;
    // Parameter -> index in `inputs`. With recomputation, several members may gather one parameter.
    std::map<ValueId, size_t> known;
    for (const size_t member : members) {
      const Node& node = from().nodes[member];
      if (!known.try_emplace(node.inputs.front(), inputs.size()).second) continue;
      inputs.push_back(replay_[node.inputs.front()]);
      bucket.old.push_back(node.outputs.front());
    }
    const Region& region = first.annotations.region;
    replay_.to.current = {.phase = before.annotations.phase,
                          .scope = region.layer >= 0 ? layer_scope(region.layer) : region.part,
                          .frame = {},
                          .region = region};
    bucket.results = replay_.to.emit(*bucket.op, bucket.attributes, inputs);
    for (const ValueId result : bucket.results) replay_.to.mark_role(result, Role::kParameter);
    for (const size_t member : members) {
      const Node& node = from().nodes[member];
      made_[{use, node.outputs.front()}] = bucket.results[known.at(node.inputs.front())];
    }
    started_[use] = buckets_.size();
    use_of_bucket_[buckets_.size()] = use;
    buckets_.push_back(std::move(bucket));
  }

  void add_pending(size_t index) {
    const Node& node = from().nodes[index];
    auto pending = std::ranges::find(pending_, node.op, &Pending::op);
    if (pending == pending_.end()) pending = pending_.insert(pending_.end(), {.op = node.op});
    pending->members.push_back(index);
    pending->bytes += from().value(node.inputs.front()).type.bytes();
    if (pending->bytes >= bucket_bytes_) start(node.op);
  }

  void start_pending() {
    while (!pending_.empty()) start(pending_.front().op);
  }

  // Starts the pending communication of one op.
  void start(const OpCard* op) {
    const auto found = std::ranges::find(pending_, op, &Pending::op);
    if (found == pending_.end()) return;
    const std::vector<size_t> members = std::move(found->members);
    pending_.erase(found);
    Bucket bucket{.op = op, .attributes = from().nodes[members.front()].attributes};
    std::vector<ValueId> inputs;
    for (const size_t member : members) {
      const Node& node = from().nodes[member];
      make_views(node.inputs.front());
      inputs.push_back(replay_[node.inputs.front()]);
      bucket.old.push_back(node.outputs.front());
    }
    const NodeAnnotations& place = from().nodes[members.back()].annotations;
    if (reductions_.size() >= kBucketsInFlight) wait_for(reductions_[reductions_.size() - kBucketsInFlight], place);
    reductions_.push_back(buckets_.size());
    replay_.to.current = place;
    bucket.results = replay_.to.emit(*op, bucket.attributes, inputs);
    for (size_t i = 0; i < members.size(); ++i) {
      replay_.bind(bucket.old[i], bucket.results[i]);
      bucket_of_[static_cast<size_t>(bucket.old[i].index)] = buckets_.size();
      is_emitted_[members[i]] = true;
    }
    buckets_.push_back(std::move(bucket));
  }

  // Emits the views that lead to a value, if the walk has not reached them yet.
  void make_views(ValueId value) {
    const NodeId producer = from().value(value).producer;
    if (!producer.valid() || replay_[value].valid()) return;
    const Node& node = from().node(producer);
    LAPTIME_CHECK(node.op->kind == OpKind::kView, "{} has not been emitted yet", node.op->name);
    make_views(node.inputs.front());
    emit(static_cast<size_t>(producer.index));
  }

  // Called before a node reads a value. If communication produces the value, starts it and waits for it.
  void settle(ValueId value, const NodeAnnotations& reader) {
    const NodeId producer = from().value(value).producer;
    if (!producer.valid() || !communicates(from().node(producer)) || is_gather(from().node(producer))) return;
    if (!is_emitted_[static_cast<size_t>(producer.index)]) start(from().node(producer).op);
    const size_t bucket = bucket_of_[static_cast<size_t>(value.index)];
    LAPTIME_CHECK(bucket != kNoBucket, "{} is read before it is ready", from().node(producer).op->name);
    wait_for(bucket, reader);
  }

  void wait_for(size_t index, const NodeAnnotations& reader) {
    Bucket& bucket = buckets_[index];
    if (bucket.is_waited_for) return;
    bucket.is_waited_for = true;
    replay_.to.current = {.phase = reader.phase, .scope = reader.scope, .frame = reader.frame, .region = reader.region};
    const std::vector<ValueId> done = replay_.to.emit(*bucket.op->wait, bucket.attributes, bucket.results);
    const auto use = use_of_bucket_.find(index);
    for (size_t i = 0; i < done.size(); ++i) {
      if (use == use_of_bucket_.end()) {
        replay_.bind(bucket.old[i], done[i]);
        continue;
      }
      const auto first = made_.lower_bound({use->second, ValueId{}});
      for (auto made = first; made != made_.end() && made->first.first == use->second; ++made) {
        if (made->second == bucket.results[i]) made->second = done[i];
      }
    }
  }

  // The new value that a node in `uses` reads in place of `value`. Repeats the views and copies of gathered values that
  // these uses do not have yet.
  ValueId read(ValueId value, const std::vector<size_t>& uses) {
    const NodeId producer = from().value(value).producer;
    if (!producer.valid() || !gathers_.is_made_where_read(static_cast<size_t>(producer.index))) return replay_[value];
    for (const size_t use : uses) {
      if (const auto made = made_.find({use, value}); made != made_.end()) return made->second;
    }
    const Node& node = from().node(producer);
    LAPTIME_CHECK(!is_gather(node), "{} is not gathered", from().value(value).annotations.name);
    std::vector<ValueId> inputs;
    inputs.reserve(node.inputs.size());
    for (const ValueId input : node.inputs) inputs.push_back(read(input, uses));
    const NodeAnnotations reader = replay_.to.current;
    replay_.to.current = node.annotations;
    replay_.to.current.phase = reader.phase;
    const std::vector<ValueId> outputs = replay_.to.emit(*node.op, node.attributes, inputs);
    replay_.to.current = reader;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Value& old = from().value(node.outputs[i]);
      replay_.to.annotate(outputs[i], {old.annotations.name, {}, old.annotations.region});
      if (old.role != Role::kActivation) replay_.to.mark_role(outputs[i], old.role);
      for (const size_t use : uses) made_[{use, node.outputs[i]}] = outputs[i];
    }
    return outputs[static_cast<size_t>(from().value(value).output)];
  }

  void emit(size_t index) {
    const Node& node = from().nodes[index];
    is_emitted_[index] = true;
    replay_.to.current = node.annotations;
    std::vector<ValueId> inputs;
    inputs.reserve(node.inputs.size());
    for (const ValueId input : node.inputs) inputs.push_back(read(input, gathers_.uses_of(index)));
    replay_.copy(node, node.attributes, inputs);
  }

  Replay replay_;
  const int64_t bucket_bytes_;
  const GatherUses gathers_;
  std::vector<bool> is_emitted_;               // node -> whether the new graph has it
  std::vector<std::vector<size_t>> ready_at_;  // node -> communication that is ready after it
  std::vector<Pending> pending_;
  std::vector<Bucket> buckets_;
  std::vector<size_t> bucket_of_;                       // old value -> its bucket
  std::vector<size_t> reductions_;                      // buckets other than gathers, in the order in which they start
  std::map<size_t, size_t> started_;                    // use -> bucket
  std::map<size_t, size_t> use_of_bucket_;              // bucket -> use
  std::map<std::pair<size_t, ValueId>, ValueId> made_;  // use, old value -> gathered value, or a view or copy of one
};

}  // namespace

Graph communicate(const Graph& graph, int64_t bucket_bytes) { return Communicate(graph, bucket_bytes).run(); }

}  // namespace laptime
