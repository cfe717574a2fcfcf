// SPDX-License-Identifier: Apache-2.0
#include "comm/network/flood_guard.h"

#include <fcntl.h>
#include <linux/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <vector>

namespace loomix::comm {
namespace {

constexpr uint64_t kMostAlone =
    uint64_t{32} << 20;  // of one connection; an honest one sends a window without a message's end
constexpr uint64_t kMostTogether = uint64_t{128} << 20;
constexpr uint64_t kAlert = uint64_t{4} << 20;
constexpr Duration kCheckEvery = std::chrono::milliseconds(50);
constexpr Duration kSpeakWithin = std::chrono::seconds(10);
constexpr int kTcpLevel = 6;

// By fstatat, since the thread sanitizer takes fstat for a use of a file that may be closed by now; here that is meant.
uint64_t inode_of(int file) {
  struct stat info;
  return fstatat(file, "", &info, AT_EMPTY_PATH) == 0 && S_ISSOCK(info.st_mode) ? info.st_ino : 0;
}

uint64_t received_by(int file) {
  tcp_info info{};
  socklen_t size = sizeof(info);
  return getsockopt(file, kTcpLevel, TCP_INFO, &info, &size) == 0 ? info.tcpi_bytes_received : 0;
}

}  // namespace

void FloodGuard::accepted(int file) { watched_[file] = {.inode = inode_of(file), .since = Clock::now()}; }

void FloodGuard::message_from(int file) {
  const auto found = watched_.find(file);
  if (found != watched_.end()) found->second.spoke = found->second.known = true;
}

void FloodGuard::cut(int file) {
  const auto found = watched_.find(file);
  if (found == watched_.end()) return;
  shut(file, found->second);
  watched_.erase(found);
}

bool FloodGuard::shut(int file, const Watched& watched) {
  return watched.inode != 0 && inode_of(file) == watched.inode && shutdown(file, SHUT_RDWR) == 0;
}

int FloodGuard::check(TimePoint now) {
  if (now - checked_ < kCheckEvery) return 0;
  checked_ = now;
  alert_ = false;
  uint64_t together = 0;
  std::vector<int> bad;
  for (auto& [file, one] : watched_) {
    if (one.inode == 0 || inode_of(file) != one.inode) {
      bad.push_back(file);
      continue;
    }
    const uint64_t received = received_by(file);
    if (one.spoke || received < one.received) {
      one.spoke = false;
      one.received = received;
    }
    const uint64_t pending = received - one.received;
    together += pending;
    if (pending > kAlert) alert_ = true;
    if (pending > kMostAlone || together > kMostTogether || (!one.known && now - one.since > kSpeakWithin))
      bad.push_back(file);
  }
  int cut = 0;
  for (const int file : bad) {
    cut += shut(file, watched_.at(file));
    watched_.erase(file);
  }
  return cut;
}

}  // namespace loomix::comm
