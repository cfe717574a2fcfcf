// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/message.h"
#include "comm/transport.h"

namespace loomix::comm {

// What a node shows of itself and whom it believes, as PEM texts.
struct Keys {
  std::string authority;  // certificates; who is signed by one of them belongs to the cluster
  std::string own;        // a private key and its certificate, which names the roles that its owner may have
  bool empty() const noexcept { return authority.empty() && own.empty(); }
};

// A new authority, whose own key nobody keeps, and a key with certificate for each set of roles.
struct NewKeys {
  std::string authority;
  std::vector<std::string> own;
};

// Addresses are "tcp://host:port".
struct NetworkOptions {
  std::string listen = "tcp://127.0.0.1:*";       // empty: this node only calls others
  std::string advertise;                          // host by which others reach it; empty: the one of `listen`
  Keys keys;                                      // all connections are TLS 1.3 then
  bool trusted_network = false;                   // allows peers without keys beyond loopback
  bool shared_memory = true;                      // with peers of the same machine and user
  Duration dead_after = std::chrono::seconds(5);  // bytes on the way that no system confirms for so long
  size_t ring_bytes = size_t{2} << 20;            // shared memory each way; a power of two of at least 64 KiB
  size_t header_bytes = Limits{}.header_bytes;
};

// Tcp; peers on one machine pass payloads through shared memory. A module that is loaded at the first call; throws
// NetworkError where it is not installed, and for an address that cannot be had.
std::unique_ptr<Transport> make_network_transport(NetworkOptions options = {});
NewKeys new_keys(const std::vector<std::vector<Role>>& roles);  // as above
bool has_network_module() noexcept;                             // loads it

// What the module exports as `loomix_network_module`.
struct NetworkModule {
  int interface_version;
  std::unique_ptr<Transport> (*open)(NetworkOptions options);
  NewKeys (*new_keys)(const std::vector<std::vector<Role>>& roles);
};
inline constexpr int kNetworkModuleVersion = 4;

// A table of this interface that the module exports; it begins with the version of the interface. Loads the module, as above.
const void* network_module_part(const char* name, int interface_version);
template <class Table>
const Table& network_module_part(const char* name, int interface_version) {
  return *static_cast<const Table*>(network_module_part(name, interface_version));
}

}  // namespace loomix::comm
