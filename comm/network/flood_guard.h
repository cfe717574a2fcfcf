// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>

#include "comm/transport.h"

namespace loomix::comm {

// Watches connections that anybody may open. ZeroMQ hands a message over when its last frame is there, so one
// without end would fill the memory: a connection from which a lot comes and no message is cut, and so is one that says nothing.
// Connections are ZeroMQ's: they are known by the number of their file, and by the file's inode, so that a number that was
// used again is not taken for the old connection.
class FloodGuard {
 public:
  void accepted(int file);
  void gone(int file) { watched_.erase(file); }
  void message_from(int file);
  void cut(int file);
  // Looks at all, not more often than need be; how many were cut.
  int check(TimePoint now);
  // True while something grows, so that it should be called again soon.
  bool alert() const { return alert_; }

 private:
  struct Watched {
    uint64_t inode = 0;
    uint64_t received = 0;  // bytes, when the last message was seen
    bool spoke = false;     // since the last check
    bool known = false;     // ever
    TimePoint since;
  };
  bool shut(int file, const Watched& watched);

  std::unordered_map<int, Watched> watched_;
  TimePoint checked_;
  bool alert_ = false;
};

}  // namespace loomix::comm
