// SPDX-License-Identifier: Apache-2.0
#include "kvstore/dist/server.h"

#include <vector>

#include "base/error.h"
#include "kvstore/dist/membership.h"
#include "kvstore/dist/node_metrics.h"
#include "kvstore/dist/replica.h"

namespace loomix::kvstore {

struct Server::Core {
  Core(Runtime& given, std::unique_ptr<comm::Transport> transport, const NodeOptions& options)
      : runtime(given),
        rank(options.rank),
        retry_after(options.retry_after),
        link(std::make_shared<ServerLink>()),
        endpoint(
            *(link->endpoint = std::make_unique<comm::Endpoint>(
                  std::move(transport), comm::NodeId{{comm::Role::server, rank}, comm::new_incarnation()},
                  options.endpoint))) {
    endpoint.serve(kToServer, [this](comm::Incoming&& incoming) {
      if (incoming.from.name.role != comm::Role::worker)
        return incoming.responder.fail("only workers push and pull.");
      if (Replica* const replica = replica_for(incoming)) replica->on_worker(std::move(incoming));
    });
    endpoint.serve(kChain, [this](comm::Incoming&& incoming) {
      if (incoming.from.name.role != comm::Role::server)
        return incoming.responder.fail("only servers are in chains.");
      if (Replica* const replica = replica_for(incoming)) replica->on_chain(std::move(incoming));
    });
    membership = std::make_unique<Membership>(
        endpoint, options, [this](const View& view) { take(view); },
        [](const std::exception_ptr&) {},  // standing() tells
        [] { return 0; });
  }
  ~Core() {
    std::unique_ptr<comm::MetricsServer> asks;  // ends here: the endpoint's thread must not wait for it
    endpoint.run([&] {
      closing = true;
      asks = std::move(metrics);
    });
    asks.reset();
    std::unique_ptr<comm::Endpoint> last;
    const std::lock_guard lock(link->mutex);
    last = std::move(link->endpoint);
  }

  // Null: refused, or kept until there is a view.
  Replica* replica_for(comm::Incoming& incoming) {
    const comm::Message& message = incoming.message;
    if (message.fields.size() < 3 || message.fields[1] < 0 ||
        (!replicas.empty() && static_cast<size_t>(message.fields[1]) >= replicas.size())) {
      incoming.responder.fail("the message names no group of this cluster.");
      return nullptr;
    }
    if (!replicas.empty()) return replicas[static_cast<size_t>(message.fields[1])].get();
    before_view.push_back(std::move(incoming));
    return nullptr;
  }

  void take(const View& view) {
    for (size_t group = replicas.size(); group < view.chains.size(); ++group)
      replicas.push_back(std::make_unique<Replica>(runtime, endpoint, link, rank, group, retry_after));
    if (!metrics && !closing) {
      metrics = serve_metrics(endpoint, view.servers.size(), [this](comm::MetricsText& text) {
        std::vector<GroupNumbers> groups;
        for (const auto& replica : replicas) groups.push_back(replica->numbers());
        add_group_metrics(text, groups);
      });
    }
    for (const auto& replica : replicas) replica->on_view(view);
    for (comm::Incoming& incoming : std::exchange(before_view, {})) {
      Replica* const replica = replica_for(incoming);
      if (replica == nullptr) continue;
      incoming.message.command >= kHello ? replica->on_chain(std::move(incoming))
                                         : replica->on_worker(std::move(incoming));
    }
  }

  Runtime& runtime;
  const int32_t rank;
  const comm::Duration retry_after;
  std::shared_ptr<ServerLink> link;
  comm::Endpoint& endpoint;                        // link->endpoint, which is null while it ends
  std::vector<std::unique_ptr<Replica>> replicas;  // by group, from the first view on
  std::vector<comm::Incoming> before_view;         // emptied by the first view
  std::unique_ptr<Membership> membership;
  bool closing = false;                          // of the endpoint's thread, like all of these
  std::unique_ptr<comm::MetricsServer> metrics;  // from the first view on; it asks the endpoint
};

Server::Server(Runtime& runtime, std::unique_ptr<comm::Transport> transport, const NodeOptions& options)
    : core_(std::make_unique<Core>(runtime, std::move(transport), options)) {}
Server::~Server() = default;
Standing Server::standing() const { return core_->membership->standing(); }

}  // namespace loomix::kvstore
