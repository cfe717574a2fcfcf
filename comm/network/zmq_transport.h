// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/epoll.h>

#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "comm/network.h"
#include "comm/network/codec.h"
#include "comm/network/flood_guard.h"
#include "comm/network/local_peers.h"
#include "comm/network/streams.h"
#include "comm/network/zmq_socket.h"

namespace loomix::comm {

// Two ROUTER sockets: one takes connections, one makes them, so that each has its part of the CURVE handshake. A packet is a header
// frame and frames of payload. The own thread sleeps in epoll on both sockets, their monitors (for connections that
// broke), the answers to who may connect (ZAP), local peers, streams and one doorbell.
class ZmqTransport final : public Transport {
 public:
  explicit ZmqTransport(NetworkOptions options);
  ~ZmqTransport() override;

  std::string address() const override { return address_; }
  LinkId connect(const std::string& address) override;
  void close(LinkId link) override;
  bool send(LinkId link, const Packet& packet) override;
  void poll(TimePoint until, TransportEvents& events) override;
  void wake() noexcept override;
  std::string offer(LinkId link) override;
  std::string answer(LinkId link, std::string_view offer) override;
  void settle(LinkId link, std::string_view answer) override;
  std::string describe(LinkId link) const override;

 private:
  struct Route {
    bool dialled = false;
    std::string id;        // of the connection, in its socket
    std::string endpoint;  // of a dialled one
    int file = -1;         // the connection's, once something came
  };
  std::string bind();
  void watch(int file) const;
  bool receive(ZmqSocket& socket, bool dialled, TransportEvents& events);
  void on_frames(bool dialled, const std::string& id, std::vector<Buffer>&& frames, int file,
                 TransportEvents& events);
  bool receive_all(TransportEvents& events);
  bool read_rings(TransportEvents& events);
  bool read_streams(TransportEvents& events);
  bool end_streams(TransportEvents& events);
  void read_ring(LocalPipe& pipe, TransportEvents& events, bool& any);
  void read_monitor(ZmqSocket& monitor, bool dialled);
  void end_broken(TransportEvents& events);
  void answer_who_may_connect();
  void sleep(TimePoint until, TransportEvents& events);
  int wait(std::span<epoll_event> ready, int timeout);
  void rest(TimePoint now);
  bool send_frames(const Route& route, const Packet& packet);
  void go_down(LinkId link, std::string_view reason, TransportEvents& events);
  void guard(TimePoint now);
  void complain(const std::string& what);

  const NetworkOptions options_;
  const File epoll_, doorbell_;
  LocalPeers local_;
  const ZmqContext context_;
  ZmqSocket accepting_, dialling_, accepting_events_, dialling_events_, zap_;
  FloodGuard guard_;                // of accepted connections, where anybody may connect
  std::optional<Streams> streams_;  // beside ZeroMQ's connections
  std::vector<Streams::Ended> ended_streams_;
  std::vector<std::pair<LinkId, std::string_view>> broken_;  // and why
  bool lively_ = false;                                      // something came soon after the last
  TimePoint rested_;                                         // others want the processor until then
  Duration rest_{};
  bool look_ = true;  // ZeroMQ tells of news only after it was found to have none
  std::string address_;
  HeaderCodec codec_;
  LinkId next_link_ = 1;
  std::unordered_map<LinkId, Route> routes_;
  std::unordered_map<std::string, LinkId> by_id_[2];  // accepted, dialled
  std::unordered_map<int, LinkId> by_file_;
  std::unordered_set<std::string> ignored_;  // accepted connections that broke a rule
  std::deque<std::string> ignored_order_;
  std::unordered_set<std::string> trusted_;
  std::string header_;
  TimePoint complained_;
};

}  // namespace loomix::comm
