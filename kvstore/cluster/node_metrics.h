// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "comm/endpoint.h"
#include "comm/metrics.h"
#include "kvstore/cluster/view.h"

// What nodes of a cluster tell about themselves, where LOOMIX_METRICS_PORT asks for it.
namespace loomix::kvstore {

// The port of a node: `base` for the scheduler, then the servers, then the workers.
int metrics_port(int base, comm::NodeName node, size_t servers);

// Serves the endpoint's numbers and what `more` adds; that runs on the endpoint's thread. Null where the settings ask for none, and,
// with a warning, where the port is taken. Must be gone before the endpoint is.
std::unique_ptr<comm::MetricsServer> serve_metrics(const comm::Endpoint& endpoint, size_t servers,
                                                   std::function<void(comm::MetricsText&)> more);

// Who is in the cluster and where, as the scheduler sees it.
void add_view_metrics(comm::MetricsText& metrics, const View& view);

// What a server knows of one group.
struct GroupNumbers {
  size_t group = 0;
  int place = -1;  // in the chain; 0 is the head
  size_t shards = 0;
  int64_t pushes = 0;           // applied, of all workers and shards
  int64_t rounds = 0;           // versions of the newest shard
  std::vector<int64_t> behind;  // of each worker: how many pushes of a shard it is behind the first
  size_t unconfirmed = 0;       // entries that the places behind do not have yet
  size_t waiting = 0;           // requests that wait for a shard to change
  size_t held = 0;              // bytes of pushes that wait for others of their round
};
void add_group_metrics(comm::MetricsText& metrics, const std::vector<GroupNumbers>& groups);

}  // namespace loomix::kvstore
