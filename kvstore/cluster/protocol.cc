// SPDX-License-Identifier: Apache-2.0
#include "kvstore/cluster/protocol.h"

#include <charconv>

#include "base/error.h"
#include "kvstore/cluster/messages.h"
#include "kvstore/cluster/view.h"

namespace loomix::kvstore {

void refuse_as_no_head(comm::Responder& responder) {
  if (responder) responder.fail("this server is not the head of the group.", kNotTheHead);
}

Refusal refusal_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const comm::RemoteError& refused) {
    return static_cast<Refusal>(refused.code());
  } catch (...) {
    return kOther;
  }
}

bool is_lost(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const comm::PeerLost&) {
    return true;
  } catch (...) {
    return false;
  }
}

std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    return known.what();
  }
}

std::string wire_key(const Key& key) {
  const int64_t* const number = std::get_if<int64_t>(&key);
  return number ? "i" + std::to_string(*number) : "s" + std::get<std::string>(key);
}

Key key_of_wire(const std::string& text) {
  if (text.starts_with('s')) return text.substr(1);
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const bool good = text.starts_with('i') && std::from_chars(text.data() + 1, end, number).ptr == end;
  LOOMIX_CHECK(good, NetworkError, "[KVStore] a message names the key '{}'; expected i or s before it.",
               text);
  return number;
}

int View::position(size_t group, int32_t server) const {
  const Chain& chain = chains[group];
  for (size_t i = 0; i < chain.size(); ++i) {
    if (chain[i].server == server) return static_cast<int>(i);
  }
  return -1;
}

// ---- views on their way --------------------------------------------------------------------------------------------

namespace {

constexpr int64_t kMostMembers = 1 << 16;
using Members = google::protobuf::RepeatedPtrField<messages::Member>;

template <class Told>
void put_members(Members& to, const std::vector<Member>& members, const Told& told) {
  for (const Member& member : members) {
    const int32_t rank = member.id.name.rank;
    if (!told(static_cast<size_t>(rank))) continue;
    messages::Member& one = *to.Add();
    one.set_rank(rank);
    one.set_incarnation(member.id.incarnation);
    one.set_up(member.up);
    one.set_departed(member.departed);
    one.set_since(member.since);
    one.set_address(member.address);
  }
}

// There are `size` of them, of which some are told; `field` is that of these.
void get_members(std::string_view field, const Members& told, int64_t size, comm::Role role, bool whole,
                 std::vector<Member>& members) {
  const int64_t known = static_cast<int64_t>(members.size());
  const std::string counted = fmt::format("{}, counted,", field);
  in_range(counted, size, whole ? 0 : known, whole ? kMostMembers : known);
  in_range(counted, told.size(), whole ? size : 0, size);
  if (whole) members.assign(static_cast<size_t>(size), {});
  for (size_t rank = 0; whole && rank < members.size(); ++rank)
    members[rank].id.name = {role, static_cast<int32_t>(rank)};
  for (const messages::Member& one : told) {
    Member& member = members[static_cast<size_t>(in_range("Member.rank", one.rank(), 0, size - 1))];
    member.id.incarnation = one.incarnation();
    member.up = one.up();
    member.departed = one.departed();
    member.since = one.since();
    member.address = one.address();
  }
}

void get_chains(const messages::View& told, bool whole, View& view) {
  const auto servers = static_cast<int64_t>(view.servers.size());
  view.chains.resize(view.servers.size());
  in_range("View.chains, counted,", told.chains_size(), whole ? servers : 0, servers);
  for (const messages::Chain& one : told.chains()) {
    Chain& chain = view.chains[static_cast<size_t>(in_range("Chain.group", one.group(), 0, servers - 1))];
    chain.clear();
    in_range("Chain.links, counted,", one.links_size(), 1, servers);
    for (const messages::Link& link : one.links()) {
      const int64_t server = in_range("Link.server", link.server(), 0, servers - 1);
      chain.push_back({static_cast<int32_t>(server), link.synchronised(), link.since()});
    }
  }
  for (const Chain& chain : view.chains)
    LOOMIX_CHECK(!chain.empty(), NetworkError, "[KVStore] a View came without the Chain of a group.");
}

}  // namespace

ViewChanges::ViewChanges(const View& view) { note(view); }

void ViewChanges::note(const View& view) {
  const auto compare = [&](const auto& before, const auto& now, std::vector<int64_t>& changed) {
    changed.resize(now.size(), view.number);
    for (size_t i = 0; i < now.size(); ++i) {
      if (i >= before.size() || before[i] != now[i]) changed[i] = view.number;
    }
  };
  compare(view_.servers, view.servers, servers_);
  compare(view_.workers, view.workers, workers_);
  compare(view_.chains, view.chains, chains_);
  view_ = view;
}

messages::View ViewChanges::since(int64_t number) const {
  messages::View message;
  message.set_number(view_.number);
  message.set_since(number);
  message.set_policy(static_cast<uint32_t>(view_.policy));
  message.set_barriers(view_.barriers);
  message.set_ended(view_.ended);
  message.set_failure(view_.failure);
  message.set_server_count(static_cast<uint32_t>(view_.servers.size()));
  message.set_worker_count(static_cast<uint32_t>(view_.workers.size()));
  const auto told = [number](const std::vector<int64_t>& changed) {
    return [&changed, number](size_t i) { return number == 0 || changed[i] > number; };
  };
  put_members(*message.mutable_servers(), view_.servers, told(servers_));
  put_members(*message.mutable_workers(), view_.workers, told(workers_));
  for (size_t group = 0; group < chains_.size(); ++group) {
    if (!told(chains_)(group)) continue;
    messages::Chain& chain = *message.add_chains();
    chain.set_group(static_cast<uint32_t>(group));
    for (const Link& link : view_.chains[group]) {
      messages::Link& one = *chain.add_links();
      one.set_server(link.server);
      one.set_synchronised(link.synchronised);
      one.set_since(link.since);
    }
  }
  return message;
}

bool follow(View& view, const messages::View& told) {
  View fresh = view;
  fresh.number = told.number();
  if (fresh.number <= view.number || told.since() > view.number) return false;
  const bool whole = told.since() == 0;
  fresh.policy = static_cast<DeadWorker>(in_range("View.policy", told.policy(), 0, 2));
  fresh.barriers = told.barriers();
  fresh.ended = told.ended();
  fresh.failure = told.failure();
  get_members("View.servers", told.servers(), told.server_count(), comm::Role::server, whole, fresh.servers);
  get_members("View.workers", told.workers(), told.worker_count(), comm::Role::worker, whole, fresh.workers);
  get_chains(told, whole, fresh);
  view = std::move(fresh);
  return true;
}

}  // namespace loomix::kvstore
