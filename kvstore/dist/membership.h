// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "comm/endpoint.h"
#include "kvstore/dist/view.h"

namespace loomix::kvstore {

struct NodeOptions {
  int32_t rank = 0;
  std::string scheduler;                                 // its address
  comm::Duration deadline = std::chrono::seconds(60);    // of every call
  comm::Duration retry_after = std::chrono::seconds(2);  // of a message without an answer
  comm::EndpointOptions endpoint;
};

// A rank that the scheduler finds free, for a node that was given none.
int32_t ask_for_rank(std::unique_ptr<comm::Transport> transport, comm::Role role, const NodeOptions& options);

// A server's or worker's side of being in a cluster: it registers with the scheduler, again whenever one of them was
// thought lost, and follows its views. All happens on the endpoint's thread.
class Membership {
 public:
  // `on_view` gets every view that is newer than the one before; `on_error` why registering failed.
  Membership(comm::Endpoint& endpoint, const NodeOptions& options, std::function<void(const View&)> on_view,
             std::function<void(std::exception_ptr)> on_error);
  Standing standing() const;  // any thread

 private:
  void enter();
  void take(const comm::Message& message);

  comm::Endpoint& endpoint_;
  const comm::Duration deadline_;
  const comm::Duration retry_after_;
  const std::function<void(const View&)> on_view_;
  const std::function<void(std::exception_ptr)> on_error_;
  int64_t number_ = 0;
  uint64_t scheduler_ = 0;  // its incarnation at the last registration
  bool entering_ = false;
  mutable std::mutex mutex_;  // guards what follows
  Standing standing_;
  std::optional<comm::TimePoint> lost_at_;  // since when there is no scheduler
  std::string lost_;
};

}  // namespace loomix::kvstore
