// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "comm/endpoint.h"
#include "kvstore/cluster/batch.h"
#include "kvstore/cluster/membership.h"
#include "kvstore/cluster/node_metrics.h"
#include "kvstore/cluster/protocol.h"
#include "kvstore/cluster/push_window.h"

namespace loomix::kvstore {

// A worker's way to the shards: finds the head of a group, and finds it again when the cluster changes. Whatever it sends may be sent
// several times; servers apply it once. Every call ends by its deadline. Any thread.
//
// Small pushes and pulls are gathered until the endpoint's thread gets to them, which is at once if it has nothing to do, and
// leave together (batch.h), the most urgent first.
class ClusterClient {
 public:
  // Waits until the cluster is complete; throws NetworkError after the deadline.
  ClusterClient(std::unique_ptr<comm::Transport> transport, const NodeOptions& options);
  ~ClusterClient();

  std::weak_ptr<const int> life() const noexcept { return life_; }  // expires at the end of the destructor
  int32_t rank() const noexcept { return rank_; }
  int workers() const noexcept { return workers_; }
  int groups() const noexcept { return groups_; }
  comm::EndpointStats traffic() const { return endpoint_.stats(); }
  // How many of this worker's pushes of a shard, by key and part, the cluster has from an earlier life. It is another one after this worker was left out and has joined again.
  using KnownShards = std::map<std::pair<std::string, int64_t>, int64_t>;
  std::shared_ptr<const KnownShards> known() const;

  using Done = std::function<void(comm::Message, std::exception_ptr)>;
  struct Call {
    size_t group = 0;
    messages::Request request;  // its sender is filled in here
    std::vector<comm::Buffer> payload;
    std::vector<std::span<std::byte>> into;
    int priority = 0;
    std::string what;  // "push of key 'weight'", for errors
    Done done;         // on the endpoint's thread, or within call(); no locks are held

    size_t bytes() const;  // of values, there or back
  };
  void call(Call call);
  // Waits for the answer and throws its error.
  comm::Message call_and_wait(Call call);
  void barrier(std::optional<int64_t> position = {});
  // Tells the cluster that this worker ends, and why before its work is done (empty if it is done).
  void leave(const std::string& why);

 private:
  struct Pending;
  using PendingRef = std::shared_ptr<Pending>;
  struct Batch;
  void send(const PendingRef& pending);
  void send_alone(const PendingRef& pending);
  // Whether it will leave with others.
  bool gathered(const PendingRef& pending);
  void send_gathered();
  void send_batch(std::vector<PendingRef> items);
  void on_batch_reply(const Batch& batch, comm::Reply&& reply);
  void send_again(const PendingRef& pending, uint64_t attempt, bool alone);
  bool may_go(const PendingRef& pending);
  void on_reply(const PendingRef& pending, uint64_t attempt, comm::Reply&& reply);
  void try_again_soon(const PendingRef& pending);
  comm::TimePoint wait_on(const PendingRef& pending, const std::string& for_whom);
  comm::TimePoint renewed(comm::TimePoint since, comm::TimePoint deadline) const;
  void log_who_is_late(const std::string& what, comm::TimePoint since, const std::string& for_whom);
  void refuse_key(const PendingRef& pending, const std::exception_ptr& error);
  void finish(const PendingRef& pending, comm::Message message, std::exception_ptr error);
  void on_view(const View& view);
  void join();
  static Call join_call(size_t group);
  void sign(messages::Request& request, size_t group) const;
  static void learn(KnownShards& known, const comm::Message& reply);
  void join_again(int64_t life);
  bool is_closing() const;
  void count(comm::MetricsText& text);
  comm::Duration left(const Pending& pending) const;
  std::string without_scheduler() const;

  const std::shared_ptr<const int> life_ = std::make_shared<int>();  // first, so that it goes last
  const int32_t rank_;
  const comm::Duration deadline_;
  const comm::Duration late_deadline_;
  const comm::Duration retry_after_;
  const BatchLimits batch_limits_;
  const uint64_t incarnation_;
  int workers_ = 0;
  int groups_ = 0;

  mutable std::mutex mutex_;  // guards what follows; never held while calling out
  int64_t since_ = 0;         // of this worker in the view
  bool joined_ = false;       // all groups, with this life
  std::shared_ptr<const KnownShards> known_;
  std::condition_variable changed_;
  View view_;
  int64_t barriers_ = 0;  // asked for
  int64_t barriers_passed_ = 0;
  std::exception_ptr entry_error_;
  std::map<std::string, std::exception_ptr>
      refused_;                // keys that are others elsewhere: nothing of them is sent any more
  comm::TimePoint told_late_;  // when somebody who is late was named in the log
  std::set<size_t> given_up_;  // groups that did not answer in time, since the scheduler was lost
  std::set<PendingRef> pending_;
  std::vector<PushWindow<PendingRef>> windows_;  // of each group, for pushes
  std::deque<PendingRef> released_;              // by the windows, to be sent at once
  bool releasing_ = false;                       // somebody is sending them
  std::vector<PendingRef> gathered_;             // emptied by the endpoint's thread
  std::unique_ptr<Membership> membership_;
  bool closing_ = false;
  std::unique_ptr<comm::Endpoint> owned_endpoint_;  // last: its handlers use all the others until it is gone
  comm::Endpoint& endpoint_;
  std::atomic<int64_t> pushes_{0}, pulls_{0};
  std::unique_ptr<comm::MetricsServer> metrics_;
};

}  // namespace loomix::kvstore
