// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "comm/network/file.h"
#include "comm/network/tls.h"

namespace loomix::comm {

// The bytes of a connection, as they are or by TLS, moved by one thread that never waits for them. TLS's records gather
// in memory, so that one call of the system sends many; they are read many at a time by OpenSSL's own buffer.
class Wire {
 public:
  enum class State : uint8_t { going, blocked, ended };  // blocked: nothing moves until the socket has news
  struct Moved {
    size_t bytes = 0;
    State state = State::going;
  };

  Wire(File socket, const TlsContext* tls, bool dialled);  // `tls` null: as they are
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  int file() const { return socket_.get(); }
  State open();  // the handshake; to be called until it is `going`
  // Bytes that were taken may still be pending here: then it says that it is blocked.
  Moved write(std::span<const iovec> parts);
  Moved read(std::span<const iovec> parts);
  bool pending() const { return sent_ < sealed_.size(); }
  const std::string& fault() const { return fault_; }  // why TLS ended it; empty where it did not
  // With one key AES-GCM is good for 380 GB in records of 16 KiB; here it changes earlier.
  uint64_t rekey_after = uint64_t{64} << 30;
  const std::vector<Role>& roles() const { return roles_; }  // of the other end, by its certificate

 private:
  friend struct WireBio;
  State drain();
  State failed(int result);

  const File socket_;
  Openssl<SSL, SSL_free> ssl_;
  std::vector<std::byte> sealed_;  // records on their way out
  size_t sent_ = 0;                // of them
  uint64_t with_this_key_ = 0;     // bytes encrypted
  std::string fault_;
  std::vector<Role> roles_;
};

}  // namespace loomix::comm
