// SPDX-License-Identifier: Apache-2.0
#include "comm/network/local_peers.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/error.h"
#include "base/log.h"

namespace loomix::comm {
namespace {

constexpr size_t kTokenBytes = 32;
constexpr size_t kMaxArriving = 64;
constexpr size_t kMaxExpected = 4096;

std::string random_hex(size_t digits) {
  std::string bytes(digits / 2, '\0');
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return {};
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

// The same for all processes of a user that can reach each other's abstract sockets; empty where that cannot be told.
std::string machine_name() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  struct stat network;
  if (!std::getline(file, boot) || stat("/proc/self/ns/net", &network) != 0) return {};
  return fmt::format("{}/{}/{}", boot, network.st_ino, geteuid());
}

socklen_t fill(sockaddr_un& address, std::string_view name) {
  address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), std::min(name.size(), sizeof(address.sun_path) - 1));
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

bool send_files(int socket, std::string_view text, std::initializer_list<int> files) {
  iovec part{const_cast<char*>(text.data()), text.size()};
  alignas(cmsghdr) char space[CMSG_SPACE(2 * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = CMSG_SPACE(files.size() * sizeof(int));
  cmsghdr* const control = CMSG_FIRSTHDR(&message);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(files.size() * sizeof(int));
  std::memcpy(CMSG_DATA(control), files.begin(), files.size() * sizeof(int));
  return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(text.size());
}

// Bytes received; 0 at the end, -1 if there is nothing.
ssize_t receive_files(int socket, std::string& text, std::vector<File>& files) {
  char buffer[256];
  iovec part{buffer, sizeof(buffer)};
  alignas(cmsghdr) char space[CMSG_SPACE(4 * sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof(space);
  const ssize_t bytes = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (bytes < 0) return errno == EAGAIN || errno == EINTR ? -1 : 0;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int file;
      std::memcpy(&file, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
      files.emplace_back(file);
    }
  }
  text.assign(buffer, static_cast<size_t>(bytes));
  return bytes;
}

bool same_user(int socket) {
  ucred who{};
  socklen_t size = sizeof(who);
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.uid == geteuid();
}

}  // namespace

void LocalPipe::start() {
  writer.emplace(rings.out_state(creator), rings.out_bytes(creator), rings.ring_bytes());
  reader.emplace(rings.in_state(creator), rings.in_bytes(creator), rings.ring_bytes());
  fcntl(bell.get(), F_SETFL, O_NONBLOCK);
  ready = true;
}

void LocalPipe::ring() const {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(bell.get(), &one, sizeof(one));  // full: it rings already
}

LocalPeers::LocalPeers(int epoll, int doorbell, size_t ring_bytes)
    : epoll_(epoll), doorbell_(doorbell), ring_bytes_(ring_bytes), machine_(machine_name()) {
  name_ = "loomix-" + random_hex(kTokenBytes);
  listener_ = File(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address;
  const socklen_t size = fill(address, name_);
  if (machine_.empty() || bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listener_.get(), 1024) != 0) {
    machine_.clear();
    return;
  }
  watch(listener_.get());
}

void LocalPeers::watch(int file) const {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP;
  event.data.fd = file;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, file, &event);
}

std::string LocalPeers::answer(LinkId link, std::string_view offer) {
  if (machine_.empty() || offer != machine_ || expected_.size() >= kMaxExpected) return {};
  std::string token = random_hex(kTokenBytes);
  if (token.empty()) return {};
  expected_[token] = link;
  return name_ + '/' + token;
}

void LocalPeers::settle(LinkId link, std::string_view answer) {
  const size_t slash = answer.find('/');
  sockaddr_un address;
  if (slash == std::string_view::npos || slash >= sizeof(address.sun_path) - 1 || pipes_.contains(link))
    return;
  auto pipe = std::make_unique<LocalPipe>();
  pipe->link = link;
  pipe->creator = true;
  pipe->socket = File(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const socklen_t size = fill(address, answer.substr(0, slash));
  if (connect(pipe->socket.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      !same_user(pipe->socket.get()))
    return;
  try {
    pipe->rings = SharedRings::create(ring_bytes_);
  } catch (const NetworkError& error) {
    return log(LogLevel::warning, "{} Peers on this machine talk over tcp.", error.what());
  }
  if (!send_files(pipe->socket.get(), answer.substr(slash + 1), {pipe->rings.file().get(), doorbell_}))
    return;
  watch(pipe->socket.get());
  by_socket_[pipe->socket.get()] = link;
  pipes_[link] = std::move(pipe);
}

LocalPipe* LocalPeers::pipe(LinkId link) {
  if (pipes_.empty()) return nullptr;
  const auto found = pipes_.find(link);
  return found != pipes_.end() && found->second->ready ? found->second.get() : nullptr;
}

void LocalPeers::close(LinkId link) {
  std::erase_if(expected_, [link](const auto& entry) { return entry.second == link; });
  const auto found = pipes_.find(link);
  if (found == pipes_.end()) return;
  std::erase(ready_, found->second.get());
  by_socket_.erase(found->second->socket.get());
  pipes_.erase(found);
}

bool LocalPeers::on_file(int file, std::vector<LinkId>& ended) {
  if (file == listener_.get()) {
    accept();
    return true;
  }
  if (const auto arriving = arriving_.find(file); arriving != arriving_.end()) {
    receive(arriving->second, ended);
    return true;
  }
  const auto known = by_socket_.find(file);
  if (known == by_socket_.end()) return false;
  receive(*pipes_.at(known->second), ended);
  return true;
}

void LocalPeers::accept() {
  for (;;) {
    File socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) return;
    if (!same_user(socket.get()) || arriving_.size() >= kMaxArriving) continue;
    watch(socket.get());
    const int file = socket.get();
    arriving_[file].socket = std::move(socket);
  }
}

void LocalPeers::receive(LocalPipe& pipe, std::vector<LinkId>& ended) {
  const int file = pipe.socket.get();
  std::string text;
  std::vector<File> files;
  const ssize_t bytes = receive_files(file, text, files);
  if (bytes < 0) return;
  if (pipe.link == 0) {
    const auto expected = expected_.find(text);
    if (expected != expected_.end() && files.size() == 2 && !pipes_.contains(expected->second) &&
        SharedRings::open(std::move(files[0]), pipe.rings) && send_files(file, "ok", {doorbell_})) {
      pipe.link = expected->second;
      pipe.bell = std::move(files[1]);
      auto kept = std::make_unique<LocalPipe>(std::move(pipe));
      by_socket_[file] = kept->link;
      start(*kept);
      pipes_[kept->link] = std::move(kept);
      expected_.erase(expected);
    } else {
      log(LogLevel::warning, "[comm] a process of this machine knocked without being expected; dropped.");
    }
    arriving_.erase(file);
  } else if (pipe.creator && !pipe.ready && bytes > 0 && files.size() == 1) {
    pipe.bell = std::move(files[0]);
    start(pipe);
  } else {
    ended.push_back(pipe.link);
  }
}

void LocalPeers::start(LocalPipe& pipe) {
  pipe.start();
  ready_.push_back(&pipe);
}

}  // namespace loomix::comm
