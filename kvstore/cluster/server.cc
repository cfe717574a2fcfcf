// SPDX-License-Identifier: Apache-2.0
#include "kvstore/cluster/server.h"

#include <vector>

#include "base/error.h"
#include "kvstore/cluster/membership.h"
#include "kvstore/cluster/messages.h"
#include "kvstore/cluster/node_metrics.h"
#include "kvstore/cluster/reach.h"
#include "kvstore/cluster/replica.h"

namespace loomix::kvstore {

namespace {

constexpr auto kSquaresWithin = std::chrono::seconds(60);  // then they are asked for again

}  // namespace

struct Server::Core {
  Core(Runtime& given, std::unique_ptr<comm::Transport> transport, const NodeOptions& options,
       CodeOptimizerMaker given_code)
      : runtime(given),
        rank(options.rank),
        node_options(options),
        link(std::make_shared<ServerLink>()),
        endpoint(*(link->endpoint = std::make_unique<comm::Endpoint>(
                       std::move(transport),
                       comm::NodeId{{comm::Role::server, rank}, comm::new_incarnation()}, options.endpoint))),
        parts{runtime, endpoint, link, rank, node_options, std::move(given_code)} {
    endpoint.serve(kToServer, [this](comm::Incoming&& incoming) {
      const engine::ForTask never_waits(runtime.engine());  // for work that waits for this thread
      if (!incoming.responder) return;                      // a notice is none of ours
      if (incoming.from.name.role != comm::Role::worker || !is_rank(incoming.from.name.rank, known.workers))
        return incoming.responder.fail("only workers push and pull.");
      hand_on<messages::Request>(std::move(incoming), early_requests);
    });
    endpoint.serve(kChain, [this](comm::Incoming&& incoming) {
      const engine::ForTask never_waits(runtime.engine());
      if (!incoming.responder) return;
      if (incoming.from.name.role != comm::Role::server || !is_rank(incoming.from.name.rank, known.servers))
        return incoming.responder.fail("only servers are in chains.");
      hand_on<messages::InChain>(std::move(incoming), early_messages);
    });
    tell_who_is_late();
    reach = std::make_unique<Reach>(endpoint, options.endpoint.dead_after / 2);
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

  // Who only knows the cluster's name must not fill what waits for views.
  bool is_rank(int32_t rank, const std::vector<Member>& members) const {
    return rank >= 0 && (known.number == 0 || static_cast<size_t>(rank) < members.size());
  }

  // To the replica of its group; `early` keeps it until there is a view.
  template <class M>
  void hand_on(comm::Incoming&& incoming, std::vector<Received<M>>& early) {
    M what = decode<M>(incoming.message);
    if (replicas.empty()) return early.push_back({std::move(incoming), std::move(what)});
    hand_on(Received<M>{std::move(incoming), std::move(what)});
  }
  template <class M>
  void hand_on(Received<M>&& message) {
    if (message.what.group() >= replicas.size())
      return message.incoming.responder.fail("the message names no group of this cluster.");
    replicas[message.what.group()]->take(std::move(message));
  }

  void take(const View& view) {
    try {
      follow(view);
    } catch (const Error& error) {  // a snapshot that is no good; the others' views go on
      fail(error.what());
    }
  }

  void tell_who_is_late() {
    for (const auto& replica : replicas) replica->tell_who_is_late();
    endpoint.after(node_options.deadline / kTellsInDeadline, [this] { tell_who_is_late(); });
  }

  // The cluster's failure, which the scheduler tells to all.
  void fail(const std::string& why) {
    {
      const std::lock_guard lock(mutex);
      if (!failure.empty()) return;
      failure = why;
    }
    messages::ToScheduler message;
    message.mutable_leaving()->set_why(why);
    endpoint.request(kScheduler, kToScheduler, encode(message), {}, [](comm::Reply&&) {});
  }

  // Heads of groups that nobody pushes to have no rounds of their own.
  void tell_of_cut(size_t group, int64_t round) {
    for (size_t other = 0; other < replicas.size(); ++other) {
      if (other == group) continue;
      if (known.head(other) == rank) {
        replicas[other]->on_cut_elsewhere(round);
        continue;
      }
      messages::InChain message = chain_message(known, other);
      message.mutable_cut()->set_round(round);
      endpoint.request(known.head_member(other).id.name, kChain, encode(message), {}, [](comm::Reply&&) {});
    }
  }

  // For the norm of a round.
  void ask_for_squares(size_t group, int64_t round, NormExchange::Answer answer) {
    if (known.head(group) == rank) return replicas[group]->on_asked_for_squares(round, std::move(answer));
    messages::InChain message = chain_message(known, group);
    message.mutable_ask_squares()->set_round(round);
    comm::RequestOptions options;
    options.deadline = kSquaresWithin;
    options.retry_after = node_options.retry_after;
    endpoint.request(known.head_member(group).id.name, kChain, encode(message), std::move(options),
                     [this, answer = std::move(answer)](comm::Reply&& reply) {
                       const auto squares = decode_reply<messages::Squares>(endpoint, reply);
                       answer(reply.error ? std::nullopt : std::optional(squares.sum()));
                     });
  }

  void follow(const View& view) {
    known = view;
    if (!snapshots)
      snapshots = std::make_unique<Snapshots>(runtime, node_options.snapshots, view.chains.size(),
                                              view.workers.size());
    for (size_t group = replicas.size(); group < view.chains.size(); ++group) {
      replicas.push_back(std::make_unique<Replica>(
          parts, group, *snapshots, [this, group](int64_t round) { tell_of_cut(group, round); },
          [this](size_t other, int64_t round, NormExchange::Answer answer) {
            ask_for_squares(other, round, std::move(answer));
          }));
    }
    if (!metrics && !closing) {
      metrics = serve_metrics(endpoint, view.servers.size(), [this](comm::MetricsText& text) {
        std::vector<GroupNumbers> groups;
        for (const auto& replica : replicas) groups.push_back(replica->numbers());
        text.gauge("loomix_cluster_view", "Number of the cluster's view that is known here.")
            .value(static_cast<double>(known.number));
        add_group_metrics(text, groups);
      });
    }
    for (const auto& replica : replicas) replica->on_view(view);
    reach->on_view(view);
    for (auto& request : std::exchange(early_requests, {})) hand_on(std::move(request));
    for (auto& message : std::exchange(early_messages, {})) hand_on(std::move(message));
  }

  Runtime& runtime;
  const int32_t rank;
  const NodeOptions node_options;
  std::shared_ptr<ServerLink> link;
  comm::Endpoint& endpoint;  // link->endpoint, which is null while it ends
  const ServerParts parts;
  View known;
  std::unique_ptr<Snapshots> snapshots;                     // from the first view on
  std::vector<std::unique_ptr<Replica>> replicas;           // by group, likewise
  std::vector<Received<messages::Request>> early_requests;  // emptied by the first view
  std::vector<Received<messages::InChain>> early_messages;  // likewise
  std::unique_ptr<Reach> reach;
  std::unique_ptr<Membership> membership;
  bool closing = false;                          // of the endpoint's thread, like all of these
  std::unique_ptr<comm::MetricsServer> metrics;  // from the first view on; it asks the endpoint
  mutable std::mutex mutex;                      // guards the next
  std::string failure;
};

Server::Server(Runtime& runtime, std::unique_ptr<comm::Transport> transport, const NodeOptions& options,
               CodeOptimizerMaker code)
    : core_(std::make_unique<Core>(runtime, std::move(transport), options, std::move(code))) {}
Server::~Server() = default;
Standing Server::standing() const {
  Standing standing = core_->membership->standing();
  const std::lock_guard lock(core_->mutex);
  if (!core_->failure.empty()) standing.failure = core_->failure;
  return standing;
}

}  // namespace loomix::kvstore
