// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "comm/network/file.h"
#include "comm/network/ring.h"
#include "comm/transport.h"

// Finds peers on the same machine, of the same user and network namespace, and gives each a pipe through shared memory.
// Who dialled makes the memory and hands it over a Unix socket with no name in any file system, with a token that the other
// gave over the link that they met on. The socket stays: when it closes, the peer has ended.
namespace loomix::comm {

struct LocalPipe {
  LinkId link = 0;
  bool creator = false;
  bool ready = false;    // the other has the memory, too
  bool waiting = false;  // for room
  File socket, bell;
  SharedRings rings;
  std::optional<RingWriter> writer;
  std::optional<RingReader> reader;

  void start();
  void ring() const;
};

class LocalPeers {
 public:
  // Files are watched by `epoll`; peers ring `doorbell`.
  LocalPeers(int epoll, int doorbell, size_t ring_bytes);

  const std::string& offer() const { return machine_; }
  std::string answer(LinkId link, std::string_view offer);
  void settle(LinkId link, std::string_view answer);
  LocalPipe* pipe(LinkId link);
  void close(LinkId link);
  // Something happened to a file; false if it is none of ours. Pipes that ended are added to `ended`.
  bool on_file(int file, std::vector<LinkId>& ended);
  const std::vector<LocalPipe*>& ready() const { return ready_; }

 private:
  void watch(int file) const;
  void accept();
  void receive(LocalPipe& pipe, std::vector<LinkId>& ended);
  void start(LocalPipe& pipe);

  const int epoll_;
  const int doorbell_;
  const size_t ring_bytes_;
  std::string machine_, name_;
  File listener_;
  std::unordered_map<std::string, LinkId> expected_;  // by token
  std::unordered_map<int, LocalPipe> arriving_;       // accepted, no token yet
  std::unordered_map<LinkId, std::unique_ptr<LocalPipe>> pipes_;
  std::unordered_map<int, LinkId> by_socket_;
  std::vector<LocalPipe*> ready_;
};

}  // namespace loomix::comm
