// SPDX-License-Identifier: Apache-2.0
// What the groups of a process have counted, for Prometheus.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/log.h"
#include "comm/group/node.h"
#include "comm/metrics.h"

namespace loomix::comm {
namespace {

struct Counted {
  std::string group, ranks;
  std::vector<int> members;
  GroupTraffic traffic;
  bool broken;
};

}  // namespace

std::string GroupNode::metrics_text() const {
  std::vector<Counted> all;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [number, weak] : groups_) {
      const auto group = weak.lock();
      if (!group) continue;
      const std::lock_guard of_group(group->mutex);
      all.push_back({std::to_string(number), fmt::format("{}", fmt::join(group->ranks, ",")), group->ranks,
                     group->traffic, !group->broken.empty()});
    }
  }
  MetricsText metrics;
  metrics.gauge("loomix_node", "Who this is.")
      .value(1, {{"role", "rank"}, {"rank", std::to_string(core_->links().rank())}});
  metrics.counter("loomix_group_calls_total", "Calls of the group that have begun.");
  for (const Counted& one : all)
    metrics.value(static_cast<double>(one.traffic.calls), {{"group", one.group}, {"ranks", one.ranks}});
  metrics.counter("loomix_group_waited_seconds_total", "From calls to their ends, added up.");
  for (const Counted& one : all)
    metrics.value(one.traffic.waited_s, {{"group", one.group}, {"ranks", one.ranks}});
  metrics.gauge("loomix_group_broken", "1 when the group's calls fail.");
  for (const Counted& one : all)
    metrics.value(one.broken ? 1 : 0, {{"group", one.group}, {"ranks", one.ranks}});
  const auto by_rank = [&](const std::vector<uint64_t> GroupTraffic::*bytes) {
    for (const Counted& one : all) {
      for (size_t i = 0; i < one.members.size(); ++i) {
        if (one.members[i] == core_->links().rank()) continue;
        metrics.value(static_cast<double>((one.traffic.*bytes)[i]),
                      {{"group", one.group}, {"rank", std::to_string(one.members[i])}});
      }
    }
  };
  metrics.counter("loomix_group_sent_bytes_total", "Bytes of values sent to the rank.");
  by_rank(&GroupTraffic::sent);
  metrics.counter("loomix_group_received_bytes_total", "Bytes of values received from the rank.");
  by_rank(&GroupTraffic::received);
  return metrics.text();
}

// With the mutex.
void GroupNode::serve_metrics(const GroupOptions& options) {
  if (options.metrics_port == 0 || metrics_) return;
  const int port = options.metrics_port + core_->links().rank();
  try {
    LOOMIX_CHECK(port <= UINT16_MAX, NetworkError,
                 "[metrics] rank {} would serve at port {}, and there is none.", core_->links().rank(), port);
    metrics_ = std::make_unique<MetricsServer>(options.metrics_host, static_cast<uint16_t>(port),
                                               [this] { return metrics_text(); });
  } catch (const NetworkError& error) {
    log(LogLevel::warning, "{} The rank goes on without.", error.what());
  }
}

}  // namespace loomix::comm
