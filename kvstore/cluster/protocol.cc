// SPDX-License-Identifier: Apache-2.0
#include "kvstore/cluster/protocol.h"

#include <charconv>

#include "base/error.h"
#include "kvstore/cluster/view.h"

namespace loomix::kvstore {

int64_t Reader::number() {
  LOOMIX_CHECK(number_ < message_.fields.size(), NetworkError,
               "[KVStore] a message of kind {} has {} numbers; expected more.", message_.command,
               message_.fields.size());
  return message_.fields[number_++];
}

int64_t Reader::number(int64_t least, int64_t most) {
  const int64_t value = number();
  LOOMIX_CHECK(least <= value && value <= most, NetworkError,
               "[KVStore] number {} of a message of kind {} is {}; expected {} to {}.", number_ - 1,
               message_.command, value, least, most);
  return value;
}

const std::string& Reader::text() {
  LOOMIX_CHECK(text_ < message_.texts.size(), NetworkError,
               "[KVStore] a message of kind {} has {} texts; expected more.", message_.command,
               message_.texts.size());
  return message_.texts[text_++];
}

void refuse_as_no_head(comm::Responder& responder) {
  if (responder) responder.fail("this server is not the head of the group.", kNotTheHead);
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

// {how many there are, how many follow, {rank, incarnation, up, departed, since} of each}, {address of each}
template <class Told>
void put_members(comm::Message& message, const std::vector<Member>& members, const Told& told) {
  message.fields.push_back(static_cast<int64_t>(members.size()));
  const size_t count = message.fields.size();
  message.fields.push_back(0);
  for (const Member& member : members) {
    const int32_t rank = member.id.name.rank;
    if (!told(static_cast<size_t>(rank))) continue;
    ++message.fields[count];
    message.fields.insert(message.fields.end(), {rank, static_cast<int64_t>(member.id.incarnation), member.up,
                                                 member.departed, member.since});
    message.texts.push_back(member.address);
  }
}

void get_members(Reader& reader, comm::Role role, bool whole, std::vector<Member>& members) {
  const int64_t size = whole ? 0 : static_cast<int64_t>(members.size());
  members.resize(static_cast<size_t>(reader.number(size, whole ? kMostMembers : size)));
  for (size_t rank = 0; whole && rank < members.size(); ++rank)
    members[rank].id.name = {role, static_cast<int32_t>(rank)};
  const auto count = static_cast<int64_t>(members.size());
  for (int64_t left = reader.number(whole ? count : 0, count); left > 0; --left) {
    Member& member = members[static_cast<size_t>(reader.number(0, count - 1))];
    member.id.incarnation = static_cast<uint64_t>(reader.number());
    member.up = reader.number(0, 1) != 0;
    member.departed = reader.number(0, 1) != 0;
    member.since = reader.number();
    member.address = reader.text();
  }
}

void get_chains(Reader& reader, bool whole, View& view) {
  const auto servers = static_cast<int64_t>(view.servers.size());
  view.chains.resize(view.servers.size());
  for (int64_t left = reader.number(whole ? servers : 0, servers); left > 0; --left) {
    Chain& chain = view.chains[static_cast<size_t>(reader.number(0, servers - 1))];
    chain.assign(static_cast<size_t>(reader.number(1, servers)), {});
    for (Link& link : chain) {
      link.server = static_cast<int32_t>(reader.number(0, servers - 1));
      link.synchronised = reader.number(0, 1) != 0;
      link.since = reader.number();
    }
  }
  for (const Chain& chain : view.chains)
    LOOMIX_CHECK(!chain.empty(), NetworkError, "[KVStore] a view came without the chain of a group.");
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

comm::Message ViewChanges::since(int64_t number) const {
  comm::Message message;
  message.command = kView;
  message.fields = {view_.number, number, static_cast<int64_t>(view_.policy), view_.barriers, view_.ended};
  message.texts = {view_.failure};
  const auto told = [number](const std::vector<int64_t>& changed) {
    return [&changed, number](size_t i) { return number == 0 || changed[i] > number; };
  };
  put_members(message, view_.servers, told(servers_));
  put_members(message, view_.workers, told(workers_));
  const size_t count = message.fields.size();
  message.fields.push_back(0);
  for (size_t group = 0; group < chains_.size(); ++group) {
    if (!told(chains_)(group)) continue;
    ++message.fields[count];
    const Chain& chain = view_.chains[group];
    message.fields.insert(message.fields.end(),
                          {static_cast<int64_t>(group), static_cast<int64_t>(chain.size())});
    for (const Link& link : chain)
      message.fields.insert(message.fields.end(), {link.server, link.synchronised, link.since});
  }
  return message;
}

bool follow(View& view, const comm::Message& message) {
  Reader reader(message);
  View fresh = view;
  fresh.number = reader.number();
  const int64_t base = reader.number();
  if (fresh.number <= view.number || base > view.number) return false;
  const bool whole = base == 0;
  fresh.policy = static_cast<DeadWorker>(reader.number(0, 2));
  fresh.barriers = reader.number();
  fresh.ended = reader.number(0, 1) != 0;
  fresh.failure = reader.text();
  get_members(reader, comm::Role::server, whole, fresh.servers);
  get_members(reader, comm::Role::worker, whole, fresh.workers);
  get_chains(reader, whole, fresh);
  view = std::move(fresh);
  return true;
}

}  // namespace loomix::kvstore
