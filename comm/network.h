// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/message.h"
#include "comm/transport.h"

namespace loomix::comm {

// A CURVE key pair, each half 40 characters of Z85.
struct KeyPair {
  std::string public_key, secret_key;
};

// Addresses are "tcp://host:port"; with keys "tcp://host:port|PUBLIC KEY".
struct NetworkOptions {
  std::string listen = "tcp://127.0.0.1:*";  // empty: this node only calls others
  std::string advertise;                     // host by which others reach it; empty: the one of `listen`
  KeyPair keys;                              // empty: plain, which only loopback and trusted networks may be
  std::vector<std::string>
      trusted;  // public keys that may connect; empty: this node's own, shared by the cluster
  bool trusted_network = false;  // allows plain peers beyond loopback
  bool plain_payloads = false;   // with keys, on a trusted network: large payloads travel plain, with
                                 // keyed checksums, where both sides say so
  bool shared_memory = true;     // with peers of the same machine and user
  bool streams = true;           // a tcp connection of our own beside ZeroMQ's, where there are no keys
  size_t ring_bytes = size_t{2} << 20;  // shared memory each way; a power of two of at least 64 KiB
  size_t header_bytes = Limits{}.header_bytes;
};

// ZeroMQ over tcp; peers on one machine pass payloads through shared memory. A module that is loaded at the first call; throws
// NetworkError where it is not installed, and for an address that cannot be had.
std::unique_ptr<Transport> make_network_transport(NetworkOptions options = {});
KeyPair new_keys();                  // as above
bool has_network_module() noexcept;  // loads it

// What the module exports as `loomix_network_module`.
struct NetworkModule {
  int interface_version;
  std::unique_ptr<Transport> (*open)(NetworkOptions options);
  KeyPair (*new_keys)();
};
inline constexpr int kNetworkModuleVersion = 3;

}  // namespace loomix::comm
