// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "comm/network/stream.h"

namespace loomix::comm {

// A plain tcp connection of our own beside a link's ZeroMQ connection: no second thread between the packets and the system, and
// no copy into ZeroMQ's frames. Without keys it carries all packets once it is there; with keys (and only where the user
// allowed payloads to travel plain) those with a large payload, each with a keyed checksum, since encryption costs several
// times the rest: who has not the key can neither change, repeat nor make one.
//
// Who was called listens at a port of its own and answers the hello with port, a random token, and with keys a random key
// for the checksums, over the ZeroMQ connection. Who called dials the host that it already talks to, and says the token; each
// side uses the connection when it has heard the other on it. Where it cannot be had, ZeroMQ goes on serving; where it breaks
// later the link is down, and made anew as ever.
class Streams {
 public:
  // `listening`: the endpoint at which ZeroMQ listens, whose host is taken; may be empty.
  Streams(int epoll, const std::string& listening, bool sealed, size_t header_bytes);

  std::string answer(LinkId link);
  // That answer, where it came back. `connection`: of ZeroMQ, to the same host.
  void settle(LinkId link, std::string_view answer, int connection);
  void close(LinkId link);

  bool uses(LinkId link) const;
  bool wants(LinkId link, const Packet& packet) const;               // else it goes by ZeroMQ
  bool send(LinkId link, const Packet& packet, HeaderCodec& codec);  // false: full, on_writable comes

  struct Ended {
    LinkId link;
    std::string_view reason;
  };
  bool on_file(int file, uint32_t events);  // false: none of ours
  // Sends what has gathered. Connections that were in use and ended are added to `ended`, here and below.
  bool flush(TransportEvents& events, std::vector<Ended>& ended);  // true: something was told
  bool read(HeaderCodec& codec, TransportEvents& events,
            std::vector<Ended>& ended);  // true: there was something
  int check(TimePoint now);              // cuts who connected and says nothing; how many

 private:
  struct Arriving {
    File socket;
    std::string said;
    TimePoint since;
  };
  struct Expected {
    LinkId link;
    std::string key;
  };
  void listen(const std::string& endpoint);
  void watch(int file) const;
  void accept();
  void hear(int file);
  Stream& keep(std::unique_ptr<Stream> stream);
  void mark(Stream& stream, bool readable);
  void drop(Stream& stream, std::string_view reason, std::vector<Ended>& ended);

  const int epoll_;
  const bool sealed_;
  const size_t header_bytes_;
  const std::shared_ptr<Stream::Unfinished> unfinished_ = std::make_shared<Stream::Unfinished>();
  File listener_;
  uint16_t port_ = 0;
  std::unordered_map<std::string, Expected> expected_;  // by token
  std::unordered_map<LinkId, std::string> answers_;
  std::unordered_map<int, Arriving> arriving_;
  std::unordered_map<LinkId, std::unique_ptr<Stream>> streams_;
  std::unordered_map<int, Stream*> by_file_;
  std::vector<Stream*> dirty_, readable_, looked_at_;
  std::vector<std::unique_ptr<Stream>> closed_;  // until nobody on the stack may use them
  TimePoint checked_;
};

}  // namespace loomix::comm
