// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kvstore/cluster/backlog.h"
#include "kvstore/cluster/messages.h"
#include "kvstore/cluster/node_metrics.h"
#include "kvstore/cluster/norm_limit.h"
#include "kvstore/cluster/packing.h"
#include "kvstore/cluster/protocol.h"
#include "kvstore/optimizer.h"
#include "ndarray/ndarray.h"

namespace loomix::kvstore {

// A group's state as it comes from elsewhere.
struct GroupCopy {
  messages::GroupState state;
  std::vector<comm::Buffer> arrays;
};

// The shards of one group as a state machine: what it holds depends only on the entries applied and their order, so every
// server of a chain holds the same. One thread; the arithmetic is work for the engine.
class ShardGroup {
 public:
  // `code` makes optimizers that are code, where the server may run them. `on_less` is called from any thread when must_wait() may
  // have another answer.
  explicit ShardGroup(Runtime& runtime, CodeOptimizerMaker code = {}, std::function<void()> on_less = {})
      : runtime_(runtime), code_(std::move(code)), backlog_(std::make_shared<Backlog>(std::move(on_less))) {}

  // Whether the entry may be applied now. A push before its key's first value or before the sender's earlier push must
  // wait; one that was applied already must not be applied again.
  enum class Verdict : uint8_t { apply, again, early, refuse };
  struct Check {
    Verdict verdict;
    std::string reason;     // of `refuse`: a sentence
    Refusal code = kOther;  // likewise
  };
  Check check(const messages::Request& entry, std::span<const comm::Buffer> payload) const;
  Check check(const messages::Request& sender, const messages::Push& push, const comm::Buffer& bytes) const;
  // `entry`, which is no push, passed check(). Its payload is kept until its work is done.
  void apply(const messages::Request& entry, std::span<const comm::Buffer> payload);
  void push(const messages::Request& sender, const messages::Push& push, const comm::Buffer& bytes);

  using ShardId = std::pair<std::string, int64_t>;  // key, part
  // Why a worker's key is not this group's: another shape or type, at one of them. None: it is, or nothing is known yet.
  std::optional<std::string> unlike(const std::string& key, const messages::Like& like) const;
  // For whom a pull, or a push of a key without a value, waits.
  struct Awaited {
    std::vector<size_t> workers;
    std::string what;  // what they have not done: "made push 3 of key 'w'"
  };
  Awaited awaited(const messages::Request& sender, const ShardId& id, int64_t number) const;

  // The value for a pull, or none: not yet. Throws for what can never be answered.
  std::optional<NDArray> find(const messages::Request& sender, const messages::Pull& pull) const;
  // The life with which the worker has joined; 0: it has not, or has left.
  int64_t life_of(size_t worker) const {
    return worker < lives_.size() && counts(worker) ? lives_[worker] : 0;
  }
  messages::KnownShards known_of(size_t worker) const;  // what a worker needs that joins

  void count(GroupNumbers& numbers) const;

  // Of the gradients of a round, where they are clipped by it.
  const NormLimit& norm_limit() const { return limit_; }
  // The sums of squares of all shards that the norm is about, once all have the pushes of the next round.
  std::optional<std::vector<NDArray>> squares_of_next_round(size_t group) const;

  // Bytes of pushes that are kept as they came, since those of others have to be added before them.
  size_t held_bytes() const noexcept { return held_; }
  // Whether the push is one of these.
  bool holds(const ShardId& shard, size_t worker, int64_t number) const;
  // Whether who sent the push, which was applied, should send no more for now: too many bytes wait for the engine, or too many
  // are kept and this push is one of these.
  bool must_wait(const ShardId& shard, size_t worker, int64_t number) const;

  // All of it: the numbers now, the arrays when the engine gets there. load() takes it over.
  struct Picture {
    messages::GroupState state;
    std::vector<NDArray> arrays;  // to be read by work pushed before the next apply()
  };
  Picture picture() const;
  void load(const messages::GroupState& state, std::span<const comm::Buffer> arrays);

  // For snapshots on disk: every shard is copied when everybody's pushes up to a round have changed it, a multiple of `every`
  // (0: none are taken), however far the others are. What take_cut() gives has no worker and no half round in it.
  void take_cuts(int64_t every);
  struct Cut {
    int64_t round = 0;
    Picture picture;
  };
  std::optional<Cut> take_cut();  // once it is complete
  // The same for a group that nobody has pushed to: it has no rounds of its own.
  std::optional<Picture> picture_if_never_pushed() const;

 private:
  static constexpr size_t kHeldLeast = size_t{4} << 20;
  static constexpr size_t kMostForEngine = size_t{4} << 20;
  size_t held_limit() const noexcept { return std::max(value_bytes_ / 16, kHeldLeast); }
  // A worker's push that waits for the others of its round.
  struct Given {
    bool there = false;
    Packing packing;
    comm::Buffer bytes;
  };
  // What came for a round. Pushes are added in the order of ranks, each as soon as those before it are there, so that few are kept at
  // a time. Row-sparse ones are kept: whether their round is one of rows only shows at its end.
  struct Round {
    std::vector<Given> given;  // by rank; not there once it is in the sum
    std::vector<bool> came;    // by rank
    size_t next = 0;           // ranks below have come, or did not count
    NDArray sum;               // of pushes that came; none while there are none in it. Of halves in float32
    bool in_place = false;     // it is where the next version will be
  };
  struct ShardValue {
    NDArray value[2];  // the newest version, and the one before or memory for the next
    int newest = 0;
    bool has_previous = false;        // the one before is still there
    int64_t version = 0;              // rounds of all workers, or updates
    std::vector<int64_t> pushed;      // of each worker: how many pushes are in
    std::map<int64_t, Round> rounds;  // sync: those that are not complete
    OptimizerState optimizer;
    messages::Like like;  // as the worker said that gave the first value; no shape: it said nothing
  };
  struct Kept {  // copies
    NDArray value;
    OptimizerState optimizer;
    int64_t version;
    std::vector<int64_t> pushed;
  };
  struct Setup {
    Mode mode = Mode::sync;
    int64_t staleness = 0;
  };

  const ShardValue* find_shard(const std::string& key, int64_t part) const;
  std::optional<Check> check_life(const messages::Request& entry) const;
  Check check_init(const messages::Request& entry, const comm::Buffer& bytes) const;
  void init(const messages::Init& init, const comm::Buffer& bytes);
  void take_in(const messages::Request& entry);
  void go_on_where_others_are(const ShardId& id, ShardValue& shard, size_t worker);
  void complete_rounds(const ShardId& id, ShardValue& shard);
  static DType dtype_of_sum(DType dtype);  // to which others are still to be added
  bool is_complete(const Round& round) const;
  std::vector<Given> take_given(Round& round);
  void add_prefix(const ShardId& id, ShardValue& shard, int64_t number, Round& round);
  void add_to_sum(const ShardId& id, ShardValue& shard, int64_t number, Round& round, size_t below,
                  size_t least = 1);
  // Whether the optimizer gets the rows that there are.
  bool has_rows_only(const ShardValue& shard, const NDArray& sum, std::span<const Given> given) const;
  // What an optimizer gets: the sum of a round.
  NDArray merge(const Request& request, const ShardValue& shard, const NDArray& sum,
                std::span<const Given> given) const;
  NDArray merge_rows(const Request& request, const ShardValue& shard, std::span<const Given> given) const;
  // shard_norms.cc
  Check check_limit(const messages::Request& entry) const;
  void set_limit(const messages::NormLimit& message);
  void apply_norm(size_t group, const messages::Norm& norm);
  void note_round_of_limit();
  bool waits_for_norm(const ShardId& id, int64_t round) const;
  void close_round(const ShardId& id, ShardValue& shard, int64_t number, Round& round);
  void begin_sum(ShardValue& shard, int64_t number, Round& round);
  NDArray gradient(const Request& request, const ShardValue& shard, const Given& given) const;
  // All of `given` is there; it comes after `sum`, if there is one.
  void update(const Request& request, const ShardId& id, ShardValue& shard, const NDArray& sum,
              std::span<const Given> given);
  int64_t rounds_of(const ShardValue& shard) const;
  void keep_for_cut(const ShardId& id, const ShardValue& shard);
  Kept keep(const ShardValue& shard) const;
  Picture picture_of(const std::map<ShardId, Kept>& kept) const;
  void put_setup(Picture& picture, size_t workers) const;
  bool counts(size_t worker) const { return worker >= left_.size() || !left_[worker]; }

  Runtime& runtime_;
  const CodeOptimizerMaker code_;
  const std::shared_ptr<Backlog> backlog_;  // shared with what it counts
  Setup setup_;
  std::map<ShardId, ShardValue> shards_;
  std::vector<int64_t> lives_;  // of workers, as they have joined
  std::vector<bool> left_;
  std::shared_ptr<const Optimizer> optimizer_;
  NormLimit limit_;
  double scale_ = 1;        // of the gradients of the round that is being completed
  size_t begun_ = 0;        // shards that somebody has pushed to
  size_t held_ = 0;         // see held_bytes()
  size_t value_bytes_ = 0;  // of all shards
  int64_t cut_every_ = 0;
  int64_t cut_ = 0;  // the round of the next cut
  std::map<ShardId, Kept>
      kept_;  // shards that have reached it; emptied when all have, or when one is a cut ahead
};

}  // namespace loomix::kvstore
