// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>

#include "comm/endpoint.h"
#include "kvstore/cluster/view.h"

namespace loomix::kvstore {

struct ClusterOptions {
  int servers = 1;
  int workers = 1;
  int replicas = 2;  // places in a chain, as far as there are servers
  DeadWorker policy = DeadWorker::fail;
  comm::Duration retry_after = std::chrono::seconds(2);  // of a message without an answer
  comm::Duration deadline =
      std::chrono::seconds(60);  // of nodes' calls: who waits is told for whom before it is over
  comm::Duration complete_within =
      std::chrono::seconds(60);  // all nodes must be there, and again some worker
  // A scheduler that was started anew waits so long for the nodes that its predecessor knew.
  comm::Duration return_within = std::chrono::seconds(10);
  comm::EndpointOptions endpoint;
};

// Knows who is in the cluster and tells all: it names the nodes that may order updates, keeps chains at their length, and
// holds barriers. No value passes through it. One that is started anew at the same address learns from the nodes what was.
class Scheduler {
 public:
  Scheduler(std::unique_ptr<comm::Transport> transport, const ClusterOptions& options);
  ~Scheduler();
  const std::string& address() const;
  View view() const;  // now
  Standing standing() const;
  comm::EndpointStats traffic() const;

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace loomix::kvstore
