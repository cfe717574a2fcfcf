// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/settings.h"
#include "comm/network.h"
#include "kvstore/cluster/membership.h"
#include "kvstore/cluster/scheduler.h"
#include "kvstore/kvstore.h"
#include "kvstore/optimizer.h"
#include "symbol/executor/runtime.h"

// Nodes as separate processes: what the settings (LOOMIX_KV_*, DMLC_*) say becomes a scheduler, a server or a worker's store.
namespace loomix::kvstore {

// Waits until the cluster is complete. `staleness` is for dist_ssp.
std::unique_ptr<KVStore> make_dist_store(Runtime& runtime, const std::string& type, int64_t staleness,
                                         const Settings& settings);

// Runs the scheduler or a server until all workers have left, or `go_on`, which is asked several times a second, says no. Throws
// NetworkError where the cluster fails. `code` makes optimizers that are code; it is used where LOOMIX_KV_ALLOW_PICKLE says so.
void serve(Runtime& runtime, const Settings& settings, const std::function<bool()>& go_on,
           CodeOptimizerMaker code = {});

// The keys of a role, from a folder with ca.pem and the role's file (server.pem); throws where others can read that.
comm::Keys read_keys(const std::string& folder, comm::Role role);
// The files of such a folder for a new cluster, by name.
std::map<std::string, std::string> new_key_files();

}  // namespace loomix::kvstore
