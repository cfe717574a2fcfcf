// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "kvstore/cluster/place.h"

namespace loomix::kvstore {

// What the first place of a chain does: it takes workers' requests, makes entries of them, and answers when these are committed.
class Head {
 public:
  explicit Head(Place& place);
  void on_view();
  void on_worker(comm::Incoming&& incoming);
  void on_applied(std::span<const comm::Message> applied);  // values have changed
  void release_held_back(bool all);
  size_t waiting() const;  // requests that wait for a shard to change

 private:
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

  void submit(comm::Incoming&& incoming);
  void answer_pull(comm::Incoming&& incoming);
  void take_pushes(comm::Incoming&& incoming);
  void take_pulls(comm::Incoming&& incoming);
  bool answer_pulls(PullBatch& batch);
  void answer_due();
  void acknowledge_push(HeldBack&& push);
  bool must_wait(const HeldBack& push) const;
  void wait_for_shard(comm::Incoming&& incoming);
  void wake(std::span<const comm::Message> applied);
  void wake_all();
  void refuse_all();
  void leave_out_the_dead();

  Place& place_;
  const comm::Duration hold_back_;
  std::map<ShardId, std::vector<comm::Incoming>> waiting_;  // for their shard to change
  std::multimap<ShardId, PullBatchRef> waiting_batches_;    // likewise, of each of their shards
  std::vector<std::pair<ShardId, PullBatchRef>> due_;  // whose shard has changed; emptied by answer_due()
  std::vector<HeldBack> held_back_;                    // emptied as others' pushes come, and by time
};

}  // namespace loomix::kvstore
