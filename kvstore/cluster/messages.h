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
// Throw NetworkError for bytes that are no such message.
void decode(std::string_view bytes, google::protobuf::MessageLite& message);
template <class M>
M decode(const comm::Message& message) {
  M decoded;
  decode(message.head, decoded);
  return decoded;
}
comm::Message encode(const google::protobuf::MessageLite& message, std::vector<comm::Buffer> payload = {});

// Of an answer. What is none becomes the reply's error.
template <class M>
M decode_reply(comm::Reply& reply) {
  M decoded;
  if (reply.error) return decoded;
  try {
    decode(reply.message.head, decoded);
  } catch (const NetworkError&) {
    reply.error = std::current_exception();
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
