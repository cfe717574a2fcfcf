// SPDX-License-Identifier: Apache-2.0
#include "kvstore/cluster/messages.h"

#include "base/error.h"

namespace loomix::kvstore {

using google::protobuf::MessageLite;

comm::Buffer bytes_of(const MessageLite& message) {
  const size_t size = message.ByteSizeLong();
  comm::Buffer bytes = comm::Buffer::allocate(size);
  message.SerializeWithCachedSizesToArray(reinterpret_cast<uint8_t*>(bytes.writable()));
  return bytes;
}

void decode(std::string_view bytes, MessageLite& message) {
  const bool good =
      bytes.size() <= INT32_MAX && message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  LOOMIX_CHECK(good, comm::ProtocolError, "[KVStore] {} bytes came that are no message {}", bytes.size(),
               message.GetTypeName());
}

comm::Message encode(const MessageLite& message, std::vector<comm::Buffer> payload) {
  comm::Message encoded;
  message.SerializeToString(&encoded.head);
  encoded.payload = std::move(payload);
  return encoded;
}

const comm::Buffer& only_part(std::span<const comm::Buffer> payload) {
  LOOMIX_CHECK(payload.size() == 1, NetworkError,
               "[KVStore] a message came with {} payload parts; expected 1.", payload.size());
  return payload[0];
}

int64_t in_range(std::string_view field, int64_t value, int64_t least, int64_t most) {
  LOOMIX_CHECK(least <= value && value <= most, NetworkError,
               "[KVStore] a message has the {} {}; expected {} to {}.", field, value, least, most);
  return value;
}

}  // namespace loomix::kvstore
