// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <string>

#include "comm/buffer.h"

// Addresses as people write them, and as the system wants them.
namespace loomix::comm {

// "tcp://host:port"; the port may be "*" where a node listens, and a host in brackets is of version 6.
struct Address {
  std::string host, port;
};
Address parse_address(const std::string& text);  // throws ValueError
bool is_loopback(const std::string& host);
std::string first_outer_host();  // of this machine; loopback where it has no other

class SocketAddress {
 public:
  // Looks names up (version 4 only), which may take seconds. Throws NetworkError.
  static SocketAddress resolve(const Address& address);
  // The same, but only for hosts in numbers, at once; false for names.
  static bool from_numbers(const Address& address, SocketAddress& found);
  static SocketAddress of_own(int socket);
  static SocketAddress of_peer(int socket);

  int family() const { return storage_.ss_family; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t size() const { return size_; }
  Bytes host() const;
  uint16_t port() const;
  std::string to_string() const;  // host:port, in numbers; "a peer" where it is not known

 private:
  sockaddr_storage storage_{};
  socklen_t size_ = sizeof(sockaddr_storage);
};

}  // namespace loomix::comm
