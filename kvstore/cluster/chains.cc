// SPDX-License-Identifier: Apache-2.0
#include "kvstore/cluster/chains.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "kvstore/cluster/messages.h"

namespace loomix::kvstore {

// ---- who reaches whom --------------------------------------------------------------------------------------------

bool Unreached::learn(const View& view, const comm::NodeId& from, const messages::Unreached& message) {
  Told& told = told_[from.name.rank];
  if (told.by == from.incarnation && told.number >= message.number()) return false;
  Told fresh = {from.incarnation, message.number(), {}};
  for (const messages::Node& server : message.servers()) {
    in_range("Unreached.servers.rank", server.rank(), 0, static_cast<int64_t>(view.servers.size()) - 1);
    fresh.others[server.rank()] = server.incarnation();
  }
  told = std::move(fresh);
  return true;
}

bool Unreached::says(const View& view, int32_t from, int32_t of) const {
  const Member& teller = view.servers[static_cast<size_t>(from)];
  const Member& other = view.servers[static_cast<size_t>(of)];
  const auto found = told_.find(from);
  if (found == told_.end() || !teller.up || !other.up || found->second.by != teller.id.incarnation)
    return false;
  const auto one = found->second.others.find(of);
  return one != found->second.others.end() && one->second == other.id.incarnation;
}

bool Unreached::are_apart(const View& view, int32_t a, int32_t b) const {
  return says(view, a, b) || says(view, b, a);
}

int64_t Unreached::count(const View& view, int32_t server) const {
  int64_t count = 0;
  for (const Member& other : view.servers)
    count += other.id.name.rank != server && are_apart(view, server, other.id.name.rank);
  return count;
}

// ---- chains ------------------------------------------------------------------------------------------------------

std::vector<Chain> first_chains(int servers, int length) {
  std::vector<Chain> chains(static_cast<size_t>(servers));
  for (int group = 0; group < servers; ++group) {
    for (int i = 0; i < length; ++i) {
      chains[static_cast<size_t>(group)].push_back(
          {.server = (group + i) % servers, .synchronised = true, .since = 1});
    }
  }
  return chains;
}

void bring_back(View& view, int32_t server) {
  for (size_t group = 0; group < view.chains.size(); ++group) {
    const int position = view.position(group, server);
    if (position < 0) continue;
    Chain& chain = view.chains[group];
    const Link lost = chain[static_cast<size_t>(position)];
    chain.erase(chain.begin() + position);
    if (std::any_of(chain.begin(), chain.end(), [](const Link& link) { return link.synchronised; })) continue;
    chain = {lost};
    view.failure = fmt::format(
        "server {} was started again and no other server has the values of its group, so they are lost. "
        "Run more "
        "replicas, and start the cluster anew.",
        server);
  }
}

void drop_dead_places(View& view) {
  for (Chain& chain : view.chains) {
    const auto dead = [&](const Link& link) { return !view.servers[static_cast<size_t>(link.server)].up; };
    const bool any = std::any_of(chain.begin(), chain.end(),
                                 [&](const Link& link) { return link.synchronised && !dead(link); });
    if (any) {
      std::erase_if(chain, dead);
    } else {
      // All that had the state are gone: the last of them is waited for.
      const auto last =
          std::find_if(chain.rbegin(), chain.rend(), [](const Link& link) { return link.synchronised; });
      const Link kept = *last;
      chain = {kept};
    }
  }
}

void part_chains(View& view, const Unreached& unreached) {
  for (size_t group = 0; group < view.chains.size(); ++group) {
    Chain& chain = view.chains[group];
    for (size_t i = 0; i + 1 < chain.size();) {
      const Link before = chain[i], behind = chain[i + 1];
      if (!unreached.are_apart(view, before.server, behind.server)) {
        ++i;
        continue;
      }
      const bool first_goes =
          behind.synchronised && unreached.count(view, before.server) > unreached.count(view, behind.server);
      const int32_t out = first_goes ? before.server : behind.server;
      chain.erase(chain.begin() + static_cast<std::ptrdiff_t>(first_goes ? i : i + 1));
      log(LogLevel::warning,
          "[KVStore] servers {} and {} do not reach each other: server {} is taken out of the chain of "
          "group {}, which {} now.",
          before.server, behind.server, out, group,
          chain.size() == 1 ? "has one copy" : fmt::format("has {} copies", chain.size()));
      i = 0;  // there are new neighbours
    }
  }
}

void fill_chains(View& view, int length, const Unreached& unreached) {
  const auto servers = static_cast<int>(view.servers.size());
  for (int group = 0; group < servers; ++group) {
    Chain& chain = view.chains[static_cast<size_t>(group)];
    // One that waits for its state must have a place before it that has it.
    if (!view.servers[static_cast<size_t>(chain.front().server)].up) continue;
    for (int i = 0; i < servers && static_cast<int>(chain.size()) < length; ++i) {
      const int32_t server = (group + i) % servers;
      if (!view.servers[static_cast<size_t>(server)].up ||
          view.position(static_cast<size_t>(group), server) >= 0 ||
          unreached.are_apart(view, chain.back().server, server))
        continue;
      if (!chain.back().synchronised) break;  // one after the other
      chain.push_back({.server = server, .synchronised = false, .since = view.number + 1});
    }
  }
}

}  // namespace loomix::kvstore
