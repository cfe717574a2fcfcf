// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/epoll.h>

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "comm/network.h"
#include "comm/network/address.h"
#include "comm/network/codec.h"
#include "comm/network/local_peers.h"
#include "comm/network/name_lookup.h"
#include "comm/network/stream.h"

namespace loomix::comm {

// A link is a tcp connection, by TLS where there are keys. The own thread sleeps in epoll on the port, the connections, local
// peers and one doorbell. A connection that somebody made here is shown to the endpoint with its first packet. One that could not be
// made, or broke, is told as down; the endpoint calls again.
class TcpTransport final : public Transport {
 public:
  explicit TcpTransport(NetworkOptions options);

  std::string address() const override { return address_; }
  LinkId connect(const std::string& address) override;
  void close(LinkId link) override;
  bool send(LinkId link, const Packet& packet) override;
  void poll(TimePoint until, TransportEvents& events) override;
  void wake() noexcept override;
  std::string offer(LinkId link) override;
  std::string answer(LinkId link, std::string_view offer) override;
  void settle(LinkId link, std::string_view answer) override;
  std::string objection(LinkId link, Role role) override;
  std::string describe(LinkId link) const override;

 private:
  struct Ended {
    LinkId link;
    std::string reason;
  };
  void listen();
  void watch(int file, uint32_t events) const;
  void set_up(int socket) const;
  Stream& add(LinkId link, bool dialled);
  void use(Stream& stream, File socket);
  void dial(Stream& stream, const SocketAddress& to);
  void take_lookups();
  void accept();
  void make_room();
  void cut_silent(TimePoint now);

  void on_doorbell();
  void on_stream(Stream& stream, uint32_t events);
  void secure(Stream& stream);
  void mark(Stream& stream, bool readable);
  void end(Stream& stream, std::string reason);
  bool flush_streams(TransportEvents& events);
  bool read_streams(TransportEvents& events);
  bool read_rings(TransportEvents& events);
  void read_ring(LocalPipe& pipe, TransportEvents& events, bool& any);
  bool move_all(TransportEvents& events);
  void tell_ended(TransportEvents& events);

  void sleep(TimePoint until, TransportEvents& events);
  int wait(std::span<epoll_event> ready, int timeout);
  void rest(TimePoint now);
  void complain(const std::string& what);

  const NetworkOptions options_;
  const File epoll_, doorbell_;
  LocalPeers local_;
  std::optional<TlsContext> tls_;
  NameLookup names_;
  File listener_;
  std::string address_;
  HeaderCodec codec_;
  LinkId next_link_ = 1;
  const std::shared_ptr<Stream::Unfinished> unfinished_ = std::make_shared<Stream::Unfinished>();
  std::unordered_map<LinkId, std::unique_ptr<Stream>> streams_;
  std::unordered_map<int, Stream*> by_file_;
  std::unordered_map<LinkId, TimePoint> strangers_;  // who called and said nothing yet
  std::vector<Stream*> dirty_, readable_, looked_at_;
  std::vector<std::unique_ptr<Stream>> closed_;  // until nobody on the stack may use them
  std::vector<Ended> ended_;
  std::string header_;
  bool lively_ = false;  // something came soon after the last
  TimePoint rested_;     // others want the processor until then
  Duration rest_{};
  TimePoint checked_, complained_;
};

}  // namespace loomix::comm
