// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "comm/endpoint.h"
#include "kvstore/cluster/snapshot.h"
#include "kvstore/cluster/view.h"

namespace loomix::kvstore {

struct NodeOptions {
  int32_t rank = 0;
  std::string scheduler;                                    // its address
  comm::Duration deadline = std::chrono::seconds(60);       // of every call
  comm::Duration late_deadline = std::chrono::minutes(30);  // of one that waits for workers which are there
  comm::Duration retry_after = std::chrono::seconds(2);     // of a message without an answer
  comm::Duration without_scheduler =
      std::chrono::hours(1);  // until that fails the node, once it was in the cluster
  comm::EndpointOptions endpoint;
  SnapshotOptions snapshots;  // of servers
};

// A rank that the scheduler finds free, for a node that was given none.
int32_t ask_for_rank(std::unique_ptr<comm::Transport> transport, comm::Role role, const NodeOptions& options);

// A server's or worker's side of being in a cluster: it registers with the scheduler, again whenever one of them was
// thought lost or the scheduler was started anew, and follows its views. All happens on the endpoint's thread.
class Membership {
 public:
  // `on_view` gets every view that is newer than the one before; `on_error` why registering failed; `barriers` tells how many
  // this node has passed.
  Membership(comm::Endpoint& endpoint, const NodeOptions& options, std::function<void(const View&)> on_view,
             std::function<void(std::exception_ptr)> on_error, std::function<int64_t()> barriers);
  Standing standing() const;           // any thread
  std::string scheduler_lost() const;  // likewise: how; empty while it is there

 private:
  void enter();
  void take(const messages::View& told);
  void fail(const std::string& why);
  bool all_departed() const;

  comm::Endpoint& endpoint_;
  const comm::Duration deadline_;
  const comm::Duration retry_after_;
  const comm::Duration without_scheduler_;
  const int64_t least_epoch_;  // that no snapshot on disk has
  const std::function<void(const View&)> on_view_;
  const std::function<void(std::exception_ptr)> on_error_;
  const std::function<int64_t()> barriers_;
  View view_;
  std::map<int32_t, uint64_t> departed_;  // workers that said goodbye here
  int64_t passed_ = 0;                    // the last barrier that the scheduler told of
  bool entering_ = false;
  mutable std::mutex mutex_;  // guards what follows
  Standing standing_;
  bool entered_ = false;                    // there was a view
  bool all_departed_ = false;               // the workers of the latest view, as was heard here
  std::optional<comm::TimePoint> lost_at_;  // since when there is no scheduler
  std::string lost_;
};

}  // namespace loomix::kvstore
