// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "comm/endpoint.h"
#include "kvstore/cluster/messages.pb.h"

// How the messages of messages.proto travel: encoded, as the heads of comm::Message. What comes is not trusted.
namespace loomix::kvstore {

comm::Buffer bytes_of(const google::protobuf::MessageLite& message);
// Throw ProtocolError for bytes that are no such message, which cuts off who sent them to a handler.
void decode(std::string_view bytes, google::protobuf::MessageLite& message);
template <class M>
M decode(const comm::Message& message) {
  M decoded;
  decode(message.head, decoded);
  return decoded;
}
comm::Message encode(const google::protobuf::MessageLite& message, std::vector<comm::Buffer> payload = {});

// Of an answer. What is none becomes the reply's error, and cuts off who sent it.
template <class M>
M decode_reply(comm::Endpoint& endpoint, comm::Reply& reply) {
  M decoded;
  if (reply.error) return decoded;
  try {
    decode(reply.message.head, decoded);
  } catch (const comm::ProtocolError& error) {
    reply.error = std::current_exception();
    endpoint.cut_off(reply.from, error.what());
  }
  return decoded;
}

// A request and what it says.
template <class M>
struct Received {
  comm::Incoming incoming;
  M what;
};

// The only part of a payload; throws NetworkError where it has none, or more.
const comm::Buffer& only_part(std::span<const comm::Buffer> payload);
// The value of a field, such as "Init.mode"; throws NetworkError where it is out of the range, which includes both ends.
int64_t in_range(std::string_view field, int64_t value, int64_t least, int64_t most);

}  // namespace loomix::kvstore
