// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/buffer.h"
#include "comm/node.h"

namespace loomix::comm {

// What one node tells another. The head travels in the header (header.proto); the payload travels as it is, without a
// copy where the transport can.
struct Message {
  uint32_t command = 0;
  std::string head;  // in the form of who sends it
  std::vector<Buffer> payload;

  uint64_t payload_bytes() const noexcept {
    uint64_t bytes = 0;
    for (const Buffer& part : payload) bytes += part.size();
    return bytes;
  }
};

// What a node accepts. Whatever exceeds it is refused before memory is taken for it.
struct Limits {
  uint64_t message_bytes = uint64_t{1} << 30;   // payload of one message
  uint64_t incoming_bytes = uint64_t{2} << 30;  // of one peer: messages that are not complete
  uint64_t waiting_bytes = uint64_t{64} << 20;  // of one channel without a handler
  size_t waiting_messages = 4096;               // likewise
  size_t requests_in_flight = 65536;            // of one peer, in either direction: those without an answer
  size_t packets_apart = 4096;                  // of one peer: pieces that came before their message's head
  size_t frames = 4096;                         // payload parts of one message
  size_t header_bytes = size_t{1} << 20;        // of one packet, the head of its message included
};

// clang-format off
class PeerLost : public NetworkError { using NetworkError::NetworkError; };       // names the peer, its address and last contact
class DeadlineError : public NetworkError { using NetworkError::NetworkError; };  // no answer in time
// clang-format on

// A message that nobody sends who keeps to the protocol of its channel. Thrown by a handler, it costs the sender the connection.
class ProtocolError : public NetworkError {
  using NetworkError::NetworkError;
};

// What the other side's handler said.
class RemoteError : public NetworkError {
 public:
  RemoteError(const std::string& text, uint32_t code) : NetworkError(text), code_(code) {}
  uint32_t code() const noexcept { return code_; }  // as given to Responder::fail()

 private:
  uint32_t code_;
};

}  // namespace loomix::comm
