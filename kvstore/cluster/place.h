// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm/endpoint.h"
#include "engine/inline_function.h"
#include "kvstore/cluster/membership.h"
#include "kvstore/cluster/shard_group.h"
#include "kvstore/cluster/snapshot.h"
#include "kvstore/cluster/view.h"

namespace loomix::kvstore {

// For tasks of a server, which may outlive it: the endpoint goes away under the mutex.
struct ServerLink {
  std::mutex mutex;
  std::unique_ptr<comm::Endpoint> endpoint;

  void post(engine::InlineFunction<void(), 64> work) {  // which comes to nothing once the endpoint is gone
    const std::lock_guard lock(mutex);
    if (endpoint) endpoint->post(std::move(work));
  }
};

// What a server is given once; it outlives its replicas.
struct ServerParts {
  Runtime& runtime;
  comm::Endpoint& endpoint;
  const std::shared_ptr<ServerLink> link;
  const int32_t rank;
  const NodeOptions& options;
  const CodeOptimizerMaker code;  // makes optimizers that are code
};

using ShardId = ShardGroup::ShardId;
template <class M>
ShardId shard_of(const M& message) {
  return {message.key(), message.part()};
}
// One that says nothing yet.
messages::InChain chain_message(const View& view, size_t group);
// The shards that a request names; none: it concerns all.
std::vector<ShardId> shards_in(const messages::Request& request);

// What the parts of a replica share: the group's state as of its newest entry, and which entries are committed. Thread: the
// endpoint's.
class Place {
 public:
  // `on_cut` is told that this head has a snapshot of a round; other groups may have no rounds of their own.
  Place(const ServerParts& given, size_t number, Snapshots& on_disk,
        std::function<void(int64_t round)> on_cut);

  const ServerParts& server;
  const size_t group;
  Snapshots& snapshots;
  View view;
  int position = -1;
  bool has_state = false;
  std::unique_ptr<ShardGroup> shards;
  int64_t last = 0;  // index of the newest entry applied
  // Of the entry after the last one, which was applied: those behind get it. Set by the replica.
  std::function<void(comm::Message entry, const messages::Request& request)> pass_on;
  // The engine has done some of the group's work. Set by the replica.
  std::function<void()> on_work_done;

  bool is_head() const { return position == 0 && has_state; }
  int64_t committed() const { return committed_; }  // up to which everybody behind who counts has the entries
  // `entry` is the request as it came, or encoded.
  int64_t append(comm::Message entry, const messages::Request& request);
  void apply_push(const messages::Request& request, const messages::Push& push, const comm::Buffer& bytes,
                  int64_t index);
  // Calls `answer`, by default with an empty message, once the entry is committed.
  using Answer = engine::InlineFunction<void(comm::Responder&&), 96>;
  void when_committed(int64_t index, comm::Responder&& responder, Answer answer = {});
  void commit_up_to(int64_t index);
  // Index of the newest entry that a shard's value may depend on.
  int64_t changed_at(const ShardId& shard) const;
  void on_cut_elsewhere(int64_t round);
  void forget();
  void take_over(int64_t index, std::unique_ptr<ShardGroup> state);
  std::unique_ptr<ShardGroup> new_group();

  messages::InChain chain_message() const { return kvstore::chain_message(view, group); }
  comm::RequestOptions chain_options() const;

 private:
  struct Pending {
    comm::Responder responder;
    Answer answer;
  };
  void apply(const messages::Request& request, std::span<const comm::Buffer> payload, int64_t index);
  void take_cut(int64_t index);
  void keep_snapshot(int64_t index, ShardGroup::Cut cut, bool others_may_have_none);

  const std::function<void(int64_t round)> on_cut_;
  int64_t committed_ = 0;
  std::map<ShardId, int64_t> shard_changed_;  // index of its newest entry
  int64_t all_changed_ = 0;                   // of the newest entry, or copy, that concerns all shards
  std::map<int64_t, std::vector<Pending>> when_committed_;
};

}  // namespace loomix::kvstore
