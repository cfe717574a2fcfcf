// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <future>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "comm/inproc.h"
#include "kvstore/cluster/dist_store.h"
#include "kvstore/cluster/scheduler.h"
#include "kvstore/cluster/server.h"
#include "tests/cpp/kvstore/store_fixture.h"

namespace loomix::kvstore {

using namespace std::chrono_literals;

// A whole cluster in this process. Nodes share an engine; the network does what it is told.
class Cluster {
 public:
  struct Setup {
    int servers = 2;
    int workers = 2;
    int replicas = 2;
    DeadWorker policy = DeadWorker::fail;
    std::string type = "dist_sync";
    int64_t staleness = 0;
    comm::Duration deadline = 20s;
    comm::Duration late_deadline = 60s;
    comm::Duration patience = 0s;       // with which nodes wait for silent ones; 0: as the scheduler does
    comm::Duration dead_after = 500ms;  // of silence; links of the killed break at once
    comm::Duration return_within = 10s;
    std::vector<CodeOptimizerMaker> code = {};  // by server, of those that run any
    comm::Duration retry_after =
        20ms;  // more where bytes are counted: a slow machine's repetitions are bytes, too
    comm::Limits limits = {};
    SnapshotOptions snapshots = {};
  };

  Cluster(Runtime& runtime, const Setup& setup, uint64_t seed = 0, comm::Faults faults = {})
      : runtime_(runtime), setup_(setup), network(seed, faults) {
    start_scheduler();
    servers.resize(static_cast<size_t>(setup.servers));
    workers.resize(static_cast<size_t>(setup.workers));
    for (int rank = 0; rank < setup.servers; ++rank) start_server(rank);
    std::vector<std::future<void>> starting;
    for (int rank = 0; rank < setup.workers; ++rank)
      starting.push_back(std::async(std::launch::async, [this, rank] { start_worker(rank); }));
    for (auto& one : starting) one.get();
  }
  ~Cluster() {
    workers.clear();
    servers.clear();
    scheduler.reset();
  }

  void start_scheduler() {
    ClusterOptions options;
    options.servers = setup_.servers;
    options.workers = setup_.workers;
    options.replicas = setup_.replicas;
    options.policy = setup_.policy;
    options.endpoint = endpoint_options();
    options.retry_after = setup_.retry_after;
    options.deadline = setup_.deadline;
    options.return_within = setup_.return_within;
    scheduler = std::make_unique<Scheduler>(network.attach("inproc://scheduler"), options);
  }
  void start_server(int rank) {
    servers[static_cast<size_t>(rank)] = std::make_unique<Server>(
        runtime_, network.attach(server_address(rank)), node_options(rank),
        static_cast<size_t>(rank) < setup_.code.size() ? setup_.code[static_cast<size_t>(rank)]
                                                       : CodeOptimizerMaker());
  }
  void start_worker(int rank) {
    workers[static_cast<size_t>(rank)] = std::make_unique<DistStore>(
        runtime_, setup_.type, setup_.staleness, network.attach(worker_address(rank)), node_options(rank));
  }
  // As SIGKILL does: nobody hears a goodbye.
  void kill_scheduler(bool reset = true) {
    network.kill("inproc://scheduler", reset);
    scheduler.reset();
  }
  void kill_server(int rank, bool reset = true) {
    network.kill(server_address(rank), reset);
    servers[static_cast<size_t>(rank)].reset();
  }
  void kill_worker(int rank, bool reset = true) {
    network.kill(worker_address(rank), reset);
    workers[static_cast<size_t>(rank)].reset();
  }
  static std::string server_address(int rank) { return "inproc://server" + std::to_string(rank); }
  static std::string worker_address(int rank) { return "inproc://worker" + std::to_string(rank); }

  // Every chain has all its places, and each has its state.
  bool whole() const {
    const View view = scheduler->view();
    const auto length = static_cast<size_t>(std::min(setup_.replicas, setup_.servers));
    for (const Chain& chain : view.chains) {
      if (chain.size() != length) return false;
      for (const Link& link : chain) {
        if (!link.synchronised || !view.servers[static_cast<size_t>(link.server)].up) return false;
      }
    }
    return view.number > 0;
  }
  bool wait_until_whole(comm::Duration deadline = 30s) const {
    const auto until = comm::Clock::now() + deadline;
    while (!whole()) {
      if (comm::Clock::now() > until) return false;
      std::this_thread::sleep_for(1ms);
    }
    return true;
  }

 private:
  comm::EndpointOptions endpoint_options() const {
    comm::EndpointOptions options;
    options.limits = setup_.limits;
    options.heartbeat_every = 50ms;
    options.dead_after = setup_.dead_after;
    options.reconnect_within = 150ms;
    options.hello_every = 5ms;
    return options;
  }
  NodeOptions node_options(int rank) const {
    NodeOptions options;
    options.rank = rank;
    options.scheduler = "inproc://scheduler";
    options.deadline = setup_.deadline;
    options.late_deadline = setup_.late_deadline;
    options.retry_after = setup_.retry_after;
    options.endpoint = endpoint_options();
    options.snapshots = setup_.snapshots;
    if (setup_.patience > 0s)
      options.endpoint.dead_after = options.endpoint.reconnect_within = setup_.patience;
    return options;
  }

  Runtime& runtime_;
  const Setup setup_;

 public:
  comm::InprocNetwork network;
  std::unique_ptr<Scheduler> scheduler;
  std::vector<std::unique_ptr<Server>> servers;
  std::vector<std::unique_ptr<DistStore>> workers;
};

class ClusterTest : public StoreTest {
 protected:
  // Runs `body(rank)` for every worker, each on a thread of its own, and throws the first error.
  static void on_workers(Cluster& cluster, const std::function<void(int)>& body) {
    std::vector<std::future<void>> all;
    for (size_t rank = 0; rank < cluster.workers.size(); ++rank)
      all.push_back(std::async(std::launch::async, body, static_cast<int>(rank)));
    for (auto& one : all) one.get();
  }
};

}  // namespace loomix::kvstore
