// SPDX-License-Identifier: Apache-2.0
#include "comm/network/address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>

#include <cstring>
#include <memory>

#include "base/error.h"

namespace loomix::comm {
namespace {

// Null, with the system's code, where the host is not found.
std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> look_up(const Address& address, int flags, int& error) {
  std::string host = address.host;
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_family = AF_INET;
  wanted.ai_flags = flags | AI_NUMERICSERV;
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
    wanted.ai_family = AF_INET6;
    wanted.ai_flags |= AI_NUMERICHOST;
  }
  const std::string port = address.port == "*" ? "0" : address.port;
  error = getaddrinfo(host == "*" ? "0.0.0.0" : host.c_str(), port.c_str(), &wanted, &found);
  return {error == 0 ? found : nullptr, freeaddrinfo};
}

}  // namespace

Address parse_address(const std::string& text) {
  constexpr std::string_view kScheme = "tcp://";
  const size_t colon = text.rfind(':');
  Address address;
  if (text.starts_with(kScheme) && colon > kScheme.size()) {
    address.host = text.substr(kScheme.size(), colon - kScheme.size());
    address.port = text.substr(colon + 1);
  }
  const bool number = !address.port.empty() && address.port.size() <= 5 &&
                      address.port.find_first_not_of("0123456789") == std::string::npos &&
                      std::stoul(address.port) <= 65535;
  LOOMIX_CHECK(!address.host.empty() && (number || address.port == "*"), ValueError,
               "[comm] '{}' is no address; expected tcp://host:port.", text);
  return address;
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host.starts_with("127.") || host == "[::1]";
}

std::string first_outer_host() {
  ifaddrs* all = nullptr;
  std::string host = "127.0.0.1";
  if (getifaddrs(&all) != 0) return host;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    char text[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, text, sizeof(text));
    if (is_loopback(text)) continue;
    host = text;
    break;
  }
  freeifaddrs(all);
  return host;
}

SocketAddress SocketAddress::resolve(const Address& address) {
  int error = 0;
  const auto found = look_up(address, 0, error);
  LOOMIX_CHECK(found, NetworkError, "[comm] the host '{}' is not known: {}.", address.host,
               gai_strerror(error));
  SocketAddress result;
  std::memcpy(&result.storage_, found->ai_addr, found->ai_addrlen);
  result.size_ = found->ai_addrlen;
  return result;
}

bool SocketAddress::from_numbers(const Address& address, SocketAddress& result) {
  int error = 0;
  const auto found = look_up(address, AI_NUMERICHOST, error);
  if (!found) return false;
  std::memcpy(&result.storage_, found->ai_addr, found->ai_addrlen);
  result.size_ = found->ai_addrlen;
  return true;
}

SocketAddress SocketAddress::of_own(int socket) {
  SocketAddress address;
  getsockname(socket, reinterpret_cast<sockaddr*>(&address.storage_), &address.size_);
  return address;
}

SocketAddress SocketAddress::of_peer(int socket) {
  SocketAddress address;
  getpeername(socket, reinterpret_cast<sockaddr*>(&address.storage_), &address.size_);
  return address;
}

Bytes SocketAddress::host() const {
  if (family() == AF_INET)
    return std::as_bytes(std::span(&reinterpret_cast<const sockaddr_in*>(&storage_)->sin_addr, 1));
  return std::as_bytes(std::span(&reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_addr, 1));
}

uint16_t SocketAddress::port() const {
  return ntohs(family() == AF_INET ? reinterpret_cast<const sockaddr_in*>(&storage_)->sin_port
                                   : reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_port);
}

std::string SocketAddress::to_string() const {
  char text[INET6_ADDRSTRLEN] = {};
  if (inet_ntop(family(), host().data(), text, sizeof(text)) == nullptr) return "a peer";
  return fmt::format(fmt::runtime(family() == AF_INET6 ? "[{}]:{}" : "{}:{}"), text, port());
}

}  // namespace loomix::comm
