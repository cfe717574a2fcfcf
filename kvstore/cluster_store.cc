// SPDX-License-Identifier: Apache-2.0
#include "kvstore/cluster_store.h"

#include "comm/network.h"

namespace loomix::kvstore {
namespace {

const ClusterModule& cluster_module() {
  static const auto& module =
      comm::network_module_part<ClusterModule>("loomix_cluster_module", kClusterModuleVersion);
  return module;
}

}  // namespace

std::unique_ptr<ClusterStore> make_dist_store(Runtime& runtime, const std::string& type, int64_t staleness,
                                              const Settings& settings) {
  return cluster_module().make_dist_store(runtime, type, staleness, settings);
}

void serve(Runtime& runtime, const Settings& settings, const std::function<bool()>& go_on,
           CodeOptimizerMaker code) {
  cluster_module().serve(runtime, settings, go_on, std::move(code));
}

std::unique_ptr<comm::ProcessGroup> make_network_group(const Settings& settings,
                                                       const comm::GroupOptions& options) {
  return comm::make_network_group([&] { return cluster_module().network_rank(settings); }, options);
}

std::map<std::string, std::string> new_key_files() { return cluster_module().new_key_files(); }

}  // namespace loomix::kvstore
