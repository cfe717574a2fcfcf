// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "base/settings.h"
#include "comm/network_group.h"
#include "kvstore/kvstore.h"
#include "kvstore/optimizer.h"
#include "symbol/executor/runtime.h"

// Clusters of separate processes: what the settings (LOOMIX_KV_*, DMLC_*) say becomes a scheduler, a server or a worker's store. They are
// in the network module, which is loaded at the first call of these functions; they throw NetworkError where it is not installed.
namespace loomix::kvstore {

// A worker's store: the devices of this machine are added up here, and only the sum travels.
class ClusterStore : public KVStore {
 public:
  using KVStore::barrier;
  // The barrier at this position in the program, from 1 on: it is passed if any worker has passed it before, so a worker that
  // was started again does not wait there. Positions grow from barrier to barrier, on all workers alike.
  virtual void barrier(int64_t position) = 0;
  // Servers update values by it from now on; the call of worker 0 counts.
  virtual void set_optimizer(const OptimizerSpec& spec) = 0;
  // From the first push on, servers scale the gradients of each round so that the norm of those of all these keys together is at
  // most this. All workers call it, alike, when the keys have their first values.
  virtual void limit_norm(double most, std::span<const Key> keys) = 0;
  // How many times this worker has pushed the key, in earlier lives of it too. Rounds that went on without it count.
  virtual int64_t pushes(const Key& key) = 0;
  // Expires when the worker has left: tasks may hold its connection for a moment longer than the store lives.
  virtual std::weak_ptr<const int> life() const noexcept = 0;
};

// Waits until the cluster is complete. `staleness` is for dist_ssp.
std::unique_ptr<ClusterStore> make_dist_store(Runtime& runtime, const std::string& type, int64_t staleness,
                                              const Settings& settings);

// Runs the scheduler or a server until all workers have left, or `go_on`, which is asked several times a second, says no. Throws
// NetworkError where the cluster fails. `code` makes optimizers that are code; it is used where LOOMIX_KV_ALLOW_PICKLE says so.
void serve(Runtime& runtime, const Settings& settings, const std::function<bool()>& go_on,
           CodeOptimizerMaker code = {});

// The files of a folder of keys (LOOMIX_KV_KEYS) for a new cluster, by name.
std::map<std::string, std::string> new_key_files();

// The group of all processes of a job without MPI, by the settings group_*. The first call meets the others.
std::unique_ptr<comm::ProcessGroup> make_network_group(const Settings& settings,
                                                       const comm::GroupOptions& options);

// What the network module exports as `loomix_cluster_module`.
struct ClusterModule {
  int interface_version;
  std::unique_ptr<ClusterStore> (*make_dist_store)(Runtime& runtime, const std::string& type,
                                                   int64_t staleness, const Settings& settings);
  void (*serve)(Runtime& runtime, const Settings& settings, const std::function<bool()>& go_on,
                CodeOptimizerMaker code);
  std::map<std::string, std::string> (*new_key_files)();
  comm::NetworkRank (*network_rank)(const Settings& settings);
};
inline constexpr int kClusterModuleVersion = 3;

}  // namespace loomix::kvstore
