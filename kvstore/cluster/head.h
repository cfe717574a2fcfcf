// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "kvstore/cluster/norm_exchange.h"
#include "kvstore/cluster/place.h"

namespace loomix::kvstore {

// What the first place of a chain does: it takes workers' requests, makes entries of them, and answers when these are committed.
class Head {
 public:
  Head(Place& place, NormExchange::Ask ask_for_squares);
  void on_view();
  void take(Received<messages::Request>&& request);
  void on_asked_for_squares(int64_t round, NormExchange::Answer answer) {
    norms_.on_asked(round, std::move(answer));
  }
  void on_applied(const messages::Request& entry);
  void release_held_back(bool all);
  // Those who wait for others' messages hear for whose, as long as these workers are there. Called several times in a deadline.
  void tell_who_is_late();
  size_t waiting() const;  // requests that wait for a shard to change

 private:
  struct PullBatch {
    Received<messages::Request> request;
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

  void submit(Received<messages::Request>&& request);
  void add_entry(Received<messages::Request>&& request);
  void answer_pull(Received<messages::Request>&& request);
  void take_pushes(Received<messages::Request>&& request);
  void take_pulls(Received<messages::Request>&& request);
  bool answer_pulls(PullBatch& batch);
  void answer_due();
  void acknowledge_push(HeldBack&& push);
  bool must_wait(const HeldBack& push) const;
  void wait_for_shard(Received<messages::Request>&& request);
  std::string who_is_late(const messages::Request& request) const;
  std::vector<ShardId> waiting_of(const std::string& key) const;
  void wake(const std::vector<ShardId>& shards);
  void wake_all();
  void refuse_all();
  void leave_out_the_dead();

  Place& place_;
  const comm::Duration hold_back_;
  NormExchange norms_;
  std::map<ShardId, std::vector<Received<messages::Request>>> waiting_;  // for their shard to change
  std::multimap<ShardId, PullBatchRef> waiting_batches_;                 // likewise, of each of their shards
  std::vector<std::pair<ShardId, PullBatchRef>> due_;  // whose shard has changed; emptied by answer_due()
  std::vector<HeldBack> held_back_;                    // emptied as others' pushes come, and by time
};

}  // namespace loomix::kvstore
