// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "comm/network/codec.h"
#include "comm/network/flood_guard.h"
#include "comm/network/seal.h"
#include "comm/network/zmq_socket.h"
#include "comm/transport.h"

// Encryption costs several times the work of the rest. On a network that the user trusts not to be read, packets with a
// large payload may travel beside their encrypted link, plain, each with a keyed checksum and a number that only grows: nobody
// without the key can change, repeat or make one. Key and token are random, and travel over the encrypted link. Where the plain
// connection breaks, or something does not fit, packets take the encrypted link again.
//
//   frames of a packet: token (16 bytes), number (8), checksum (16) | header | payload ...
namespace loomix::comm {

class PlainLinks {
 public:
  // Listens at `endpoint` (host and any port); `host` is how others reach it.
  PlainLinks(const ZmqContext& context, const std::string& endpoint, const std::string& host,
             int64_t max_frame);

  std::string answer(LinkId link);                    // to a peer that wants this, over the encrypted link
  bool settle(LinkId link, std::string_view answer);  // that answer, where it came back; false: it is none
  void close(LinkId link);
  // False: send it as ever.
  bool send(LinkId link, const Packet& packet, HeaderCodec& codec);
  bool used(LinkId link) const;

  // Reads some of what came; packets whose checksum fits are told. True if there was any.
  bool receive(HeaderCodec& codec, size_t header_bytes, TransportEvents& events);
  std::vector<int> files() const;
  bool owns(int file) const;
  void read_monitors();
  FloodGuard& guard() { return guard_; }
  uint64_t refused() const { return refused_; }

 private:
  struct Plain {
    Seal seal;
    std::string token;
    bool dialled = false;
    bool ready = false;    // the other side was heard on it
    std::string id;        // of the connection, in its socket
    std::string endpoint;  // of a dialled one
    std::string answer;    // that made it
    int file = -1;
    uint64_t sent = 0, received = 0;
  };
  bool receive(bool dialled, HeaderCodec& codec, size_t header_bytes, TransportEvents& events);
  void on_frames(bool dialled, std::string_view id, std::vector<Buffer>&& frames, int file,
                 HeaderCodec& codec, size_t header_bytes, TransportEvents& events);
  bool send_sealed(Plain& plain, Bytes header, const std::vector<Buffer>& body);

  ZmqSocket sockets_[2], events_[2];  // accepting, dialling
  std::string address_;
  std::unordered_map<LinkId, Plain> links_;
  std::unordered_map<std::string, LinkId> by_token_;
  FloodGuard guard_;
  uint64_t dialled_ = 0;
  uint64_t refused_ = 0;
};

}  // namespace loomix::comm
