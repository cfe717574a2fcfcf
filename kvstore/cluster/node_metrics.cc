// SPDX-License-Identifier: Apache-2.0
#include "kvstore/cluster/node_metrics.h"

#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "base/settings.h"

namespace loomix::kvstore {
namespace {

// "tcp://host:port|KEY" -> "host"
std::string host_of(std::string address) {
  address = address.substr(0, address.find('|'));
  const size_t begin = address.find("://");
  const size_t end = address.rfind(':');
  return begin == std::string::npos || end <= begin ? "" : address.substr(begin + 3, end - begin - 3);
}

}  // namespace

int metrics_port(int base, comm::NodeName node, size_t servers) {
  if (node.role == comm::Role::scheduler) return base;
  return base + 1 + node.rank + (node.role == comm::Role::worker ? static_cast<int>(servers) : 0);
}

std::unique_ptr<comm::MetricsServer> serve_metrics(const comm::Endpoint& endpoint, size_t servers,
                                                   std::function<void(comm::MetricsText&)> more) {
  if (settings().metrics_port == 0) return nullptr;
  const comm::NodeName self = endpoint.self().name;
  const int port = metrics_port(settings().metrics_port, self, servers);
  try {
    LOOMIX_CHECK(port <= UINT16_MAX, NetworkError, "[metrics] {} would serve at port {}, and there is none.",
                 self.to_string(), port);
    return std::make_unique<comm::MetricsServer>(
        settings().metrics_host, static_cast<uint16_t>(port), [&endpoint, self, more = std::move(more)] {
          comm::MetricsText metrics;
          metrics.gauge("loomix_node", "Who this is.")
              .value(1, {{"role", comm::name_of(self.role)}, {"rank", std::to_string(self.rank)}});
          add_endpoint_metrics(metrics, endpoint);
          endpoint.run([&] { more(metrics); });
          return metrics.text();
        });
  } catch (const NetworkError& error) {
    log(LogLevel::warning, "{} The node goes on without.", error.what());
    return nullptr;
  }
}

void add_view_metrics(comm::MetricsText& metrics, const View& view) {
  metrics.gauge("loomix_cluster_view", "Number of the cluster's view; each change makes a new one.")
      .value(static_cast<double>(view.number));
  metrics.counter("loomix_cluster_barriers_total", "Barriers passed.")
      .value(static_cast<double>(view.barriers));
  metrics.gauge("loomix_cluster_failed", "1 when nothing can go on.").value(view.failure.empty() ? 0 : 1);
  metrics.gauge("loomix_cluster_member", "1 while the node is there.");
  for (const auto* members : {&view.servers, &view.workers}) {
    for (const Member& member : *members) {
      metrics.value(member.up ? 1 : 0, {{"role", comm::name_of(member.id.name.role)},
                                        {"rank", std::to_string(member.id.name.rank)},
                                        {"host", host_of(member.address)}});
    }
  }
  metrics.gauge("loomix_cluster_copies", "Servers that are there and have a group's values.");
  for (size_t group = 0; group < view.chains.size(); ++group) {
    const Chain& chain = view.chains[group];
    metrics.value(
        static_cast<double>(std::count_if(chain.begin(), chain.end(),
                                          [&](const Link& link) {
                                            return link.synchronised &&
                                                   view.servers[static_cast<size_t>(link.server)].up;
                                          })),
        {{"group", std::to_string(group)}});
  }
}

void add_group_metrics(comm::MetricsText& metrics, const std::vector<GroupNumbers>& groups) {
  const auto family = [&](const char* name, const char* help, bool counts, auto of) {
    counts ? metrics.counter(name, help) : metrics.gauge(name, help);
    for (const GroupNumbers& group : groups) {
      if (group.place < 0) continue;
      metrics.value(static_cast<double>(of(group)),
                    {{"group", std::to_string(group.group)}, {"place", std::to_string(group.place)}});
    }
  };
  family("loomix_shards", "Shards held.", false, [](const GroupNumbers& g) { return g.shards; });
  family("loomix_pushes_total", "Pushes applied.", true, [](const GroupNumbers& g) { return g.pushes; });
  family("loomix_rounds", "Version of the newest shard.", false,
         [](const GroupNumbers& g) { return g.rounds; });
  family("loomix_unconfirmed_entries", "Entries that the rest of the chain does not have yet.", false,
         [](const GroupNumbers& g) { return g.unconfirmed; });
  family("loomix_waiting_requests", "Requests that wait for a shard to change.", false,
         [](const GroupNumbers& g) { return g.waiting; });
  family("loomix_held_bytes", "Bytes of pushes that are kept until those of smaller ranks have come.", false,
         [](const GroupNumbers& g) { return g.held; });
  metrics.gauge("loomix_worker_behind", "Staleness: how many pushes of a key a worker is behind the first.");
  for (const GroupNumbers& group : groups) {
    for (size_t worker = 0; group.place == 0 && worker < group.behind.size(); ++worker) {
      metrics.value(static_cast<double>(group.behind[worker]),
                    {{"worker", std::to_string(worker)}, {"group", std::to_string(group.group)}});
    }
  }
}

}  // namespace loomix::kvstore
