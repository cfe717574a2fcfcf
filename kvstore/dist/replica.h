// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "comm/endpoint.h"
#include "engine/inline_function.h"
#include "kvstore/dist/entry_log.h"
#include "kvstore/dist/membership.h"
#include "kvstore/dist/node_metrics.h"
#include "kvstore/dist/shard_group.h"
#include "kvstore/dist/snapshot.h"
#include "kvstore/dist/state_pieces.h"
#include "kvstore/dist/view.h"

namespace loomix::kvstore {

// For tasks of a server, which may outlive it: the endpoint goes away under the mutex.
struct ServerLink {
  std::mutex mutex;
  std::unique_ptr<comm::Endpoint> endpoint;
};

// One server's place in the chain of one group. The head numbers the entries; every place applies them in that order and
// passes them on; an entry is committed at a place when all places behind have it, but one that is new and still gets its
// state. What a worker is told is committed at the head, so it survives as long as one place does that has its state. All calls come from the endpoint's thread.
class Replica {
 public:
  // `on_cut` is told that this head has a snapshot of a round; other groups may have no rounds of their own. `code` makes
  // optimizers that are code.
  Replica(Runtime& runtime, comm::Endpoint& endpoint, std::shared_ptr<ServerLink> link, int32_t server,
          size_t group, const NodeOptions& options, Snapshots& snapshots,
          std::function<void(int64_t round)> on_cut, CodeOptimizerMaker code);

  void on_view(const View& view);
  void on_worker(comm::Incoming&& incoming);
  void on_chain(comm::Incoming&& incoming);
  void on_cut_elsewhere(int64_t round);
  GroupNumbers numbers() const;

 private:
  static constexpr size_t kLogLeast = size_t{64}
                                      << 20;  // bytes that a newcomer may be behind while it gets its copy
  using Answer = engine::InlineFunction<void(comm::Responder&&), 96>;
  struct Pending {
    comm::Responder responder;
    Answer answer;
  };
  // The state of one moment on its way to the successor. It outlasts views that keep the latter in its place.
  struct Copy {
    struct Piece {
      std::vector<comm::Buffer> parts;  // until it has arrived
      bool goes_on = false;
    };
    int64_t number = 0;  // larger than those before
    int64_t index = 0;   // of the newest entry that is in it
    int64_t since = 0;   // of the successor's place
    std::vector<Piece> pieces;
    bool filled = false;
    size_t arrived = 0;    // the successor has the pieces before
    size_t next = 0;       // to be sent
    uint64_t attempt = 0;  // answers to earlier ones do not count
  };
  // One that comes from the place before.
  struct ComingCopy {
    uint64_t from = 0;  // incarnation
    int64_t number = 0;
    size_t next = 0;  // those before are in `state`
    StateBuilder state;
    std::map<size_t, comm::Incoming> ahead;  // no more than are in flight; emptied by a new view
  };

  using ShardId = std::pair<std::string, int64_t>;  // key, part
  struct PullBatch {
    comm::Incoming incoming;
    std::vector<comm::Message> pulls;
    bool answered = false;
  };
  using PullBatchRef = std::shared_ptr<PullBatch>;
  // A push that was done, and whose sender is told later, since too many like it are kept.
  struct HeldBack {
    ShardId shard;
    size_t worker;
    int64_t number;
    comm::TimePoint until;
    comm::Responder responder;
  };

  static ShardId shard_of(const comm::Message& message);
  bool must_wait(const comm::Incoming& incoming);
  void submit(comm::Incoming&& incoming);
  void answer_pull(comm::Incoming&& incoming);
  void take_pushes(comm::Incoming&& incoming);
  void take_pulls(comm::Incoming&& incoming);
  bool answer_pulls(PullBatch& batch);
  void answer_due();
  void acknowledge_push(HeldBack&& push);
  void release_held_back(bool all);
  void wait_for_shard(comm::Incoming&& incoming);
  void wake(std::span<const comm::Message> applied);
  void wake_all();
  int64_t append(comm::Message message);
  void apply(const comm::Message& message, int64_t index);
  void pass_on(comm::Message entry, std::span<const comm::Message> applied);
  // Calls `answer`, by default with an empty message, once the entry is committed.
  void when_committed(int64_t index, comm::Responder&& responder, Answer answer = {});
  // Index of the newest entry that a shard's value may depend on.
  int64_t changed_at(const comm::Message& pull) const;
  void forget_state();
  void begin_with_snapshot();
  void commit();
  void leave_out_the_dead();
  void keep_snapshot(int64_t index, ShardGroup::Cut cut, bool others_may_have_none);

  void on_append(comm::Incoming&& incoming);
  void greet_successor();
  void greeted(const comm::Message& successor_has);
  void link_successor(int64_t last_of_successor);
  void ask_to_confirm(int64_t index);
  void send_entries();
  void send_entry(const EntryLog::Entry& entry);
  void confirmed_up_to(int64_t index, int64_t view);
  void let_successor_count();
  void send_state();
  void continue_copy(const comm::Message& successor_has);
  void send_pieces();
  void piece_arrived(size_t pieces);
  void keep_copy_for_successor();
  void on_link_error(int64_t view);
  void greet_later();
  void report(const Link& before);
  comm::RequestOptions options() const;
  comm::Message what_is_here(const comm::NodeId& asked_by) const;
  void on_piece(comm::Incoming&& incoming);
  void load(int64_t index, const comm::Message& state);
  void confirm(comm::Incoming&& incoming);
  std::optional<Link> successor_link() const;
  bool successor_counts() const;
  void follow_successor();
  comm::Message chain_message(Command command, int64_t index) const;

  Runtime& runtime_;
  const std::shared_ptr<ServerLink> link_;
  comm::Endpoint& endpoint_;  // outlives the replica
  const int32_t server_;
  const size_t group_;
  const comm::Duration retry_after_;
  const comm::Duration hold_back_;
  const PieceLimits piece_limits_;
  Snapshots& snapshots_;  // outlives the replica
  const std::function<void(int64_t round)> on_cut_;
  const CodeOptimizerMaker code_;
  View view_;
  int position_ = -1;
  int64_t since_ = 0;
  bool has_state_ = false;
  std::unique_ptr<ShardGroup> shards_;
  int64_t last_ = 0;                          // index of the newest entry applied
  int64_t committed_ = 0;                     // up to which everybody behind who counts has the entries
  std::map<ShardId, int64_t> shard_changed_;  // index of its newest entry
  int64_t all_changed_ = 0;                   // of the newest entry, or snapshot, that concerns all shards
  std::optional<comm::NodeName> successor_;
  int64_t successor_since_ = 0;
  bool linked_ = false;         // the successor has all that is not in `log_`, so entries may be sent
  int64_t sent_ = 0;            // index of the newest one, if it is
  int64_t confirmed_ = 0;       // up to which the successor, and all behind it, have the entries
  int64_t counts_since_ = 0;    // `since` of a successor that counts before the scheduler knows
  size_t allowance_ = 0;        // bytes that the log may have while the successor does not count
  std::shared_ptr<Copy> copy_;  // shared with the tasks that fill it
  int64_t copies_ = 0;
  bool in_error_ = false;  // it was said that there is no copy because of a value in error
  std::unique_ptr<ComingCopy> coming_;
  EntryLog log_;                             // emptied by the successor's answers
  std::map<int64_t, comm::Incoming> ahead_;  // entries that came before their turn; emptied by a new view
  std::vector<comm::Incoming> future_;       // messages of views that are still to come
  std::map<int64_t, std::vector<Pending>> when_committed_;
  std::map<ShardId, std::vector<comm::Incoming>> waiting_;  // for their shard to change
  std::multimap<ShardId, PullBatchRef> waiting_batches_;    // likewise, of each of their shards
  std::vector<std::pair<ShardId, PullBatchRef>> due_;  // whose shard has changed; emptied by answer_due()
  std::vector<HeldBack> held_back_;                    // emptied as others' pushes come, and by time
};

}  // namespace loomix::kvstore
