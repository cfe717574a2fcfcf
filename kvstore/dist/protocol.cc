// SPDX-License-Identifier: Apache-2.0
#include "kvstore/dist/protocol.h"

#include <charconv>

#include "base/error.h"
#include "kvstore/dist/view.h"

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
  responder.fail("this server is not the head of the group.", kNotTheHead);
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

namespace {

void put_members(comm::Message& message, const std::vector<Member>& members) {
  message.fields.push_back(static_cast<int64_t>(members.size()));
  for (const Member& member : members) {
    message.fields.push_back(static_cast<int64_t>(member.id.incarnation));
    message.fields.push_back(member.up);
    message.fields.push_back(member.departed);
    message.fields.push_back(member.since);
    message.texts.push_back(member.address);
  }
}

std::vector<Member> get_members(Reader& reader, comm::Role role) {
  constexpr int64_t kMost = 1 << 16;
  std::vector<Member> members(static_cast<size_t>(reader.number(0, kMost)));
  for (size_t rank = 0; rank < members.size(); ++rank) {
    members[rank].id.name = {role, static_cast<int32_t>(rank)};
    members[rank].id.incarnation = static_cast<uint64_t>(reader.number());
    members[rank].up = reader.number(0, 1) != 0;
    members[rank].departed = reader.number(0, 1) != 0;
    members[rank].since = reader.number();
    members[rank].address = reader.text();
  }
  return members;
}

}  // namespace

comm::Message encode(const View& view) {
  comm::Message message;
  message.command = kView;
  message.fields = {view.number, static_cast<int64_t>(view.policy), view.barriers, view.ended};
  message.texts = {view.failure};
  put_members(message, view.servers);
  put_members(message, view.workers);
  for (const Chain& chain : view.chains) {
    message.fields.push_back(static_cast<int64_t>(chain.size()));
    for (const Link& link : chain) {
      message.fields.push_back(link.server);
      message.fields.push_back(link.synchronised);
      message.fields.push_back(link.since);
    }
  }
  return message;
}

View decode_view(const comm::Message& message) {
  Reader reader(message);
  View view;
  view.number = reader.number();
  view.policy = static_cast<DeadWorker>(reader.number(0, 2));
  view.barriers = reader.number();
  view.ended = reader.number(0, 1) != 0;
  view.failure = reader.text();
  view.servers = get_members(reader, comm::Role::server);
  view.workers = get_members(reader, comm::Role::worker);
  const auto servers = static_cast<int64_t>(view.servers.size());
  for (int64_t group = 0; group < servers; ++group) {
    Chain chain(static_cast<size_t>(reader.number(1, servers)));
    for (Link& link : chain) {
      link.server = static_cast<int32_t>(reader.number(0, servers - 1));
      link.synchronised = reader.number(0, 1) != 0;
      link.since = reader.number();
    }
    view.chains.push_back(std::move(chain));
  }
  return view;
}

}  // namespace loomix::kvstore
