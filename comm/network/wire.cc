// SPDX-License-Identifier: Apache-2.0
#include "comm/network/wire.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"

namespace loomix::comm {
namespace {

// OpenSSL copies what it has decrypted. A larger copy is made by an instruction (rep movsb) that takes three times as long on some
// processors, if both places lie at similar offsets of their pages.
constexpr size_t kCopied = 1984;
constexpr size_t kBurst = size_t{128}
                          << 10;  // encrypted at a time, so that it stays in the processor's cache

}  // namespace

// What OpenSSL takes for its connection: it reads the socket, and writes into memory.
struct WireBio {
  static Wire& of(BIO* bio) { return *static_cast<Wire*>(BIO_get_data(bio)); }
  static int read(BIO* bio, char* to, int size) {
    BIO_clear_retry_flags(bio);
    ssize_t came;
    do came = ::recv(of(bio).socket_.get(), to, static_cast<size_t>(size), MSG_DONTWAIT);
    while (came < 0 && errno == EINTR);
    if (came < 0 && errno == EAGAIN) BIO_set_retry_read(bio);
    return static_cast<int>(came);
  }
  static int write(BIO* bio, const char* from, int size) {
    const auto bytes = std::as_bytes(std::span(from, static_cast<size_t>(size)));
    std::vector<std::byte>& sealed = of(bio).sealed_;
    sealed.insert(sealed.end(), bytes.begin(), bytes.end());
    return size;
  }
  static long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }
  static const BIO_METHOD* method() {
    static BIO_METHOD* const method = [] {
      BIO_METHOD* const made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "loomix");
      BIO_meth_set_read(made, read);
      BIO_meth_set_write(made, write);
      BIO_meth_set_ctrl(made, control);
      return made;
    }();
    return method;
  }
};

Wire::Wire(File socket, const TlsContext* tls, bool dialled) : socket_(std::move(socket)) {
  if (!tls) return;
  ssl_.reset(SSL_new(tls->get()));
  BIO* const bio = BIO_new(WireBio::method());
  LOOMIX_CHECK(ssl_ && bio, NetworkError, "[comm] there is no memory for a TLS connection.");
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);
  if (dialled) {
    SSL_set_connect_state(ssl_.get());
  } else {
    SSL_set_accept_state(ssl_.get());
  }
}

Wire::State Wire::open() {
  if (!ssl_) return State::going;
  const int result = SSL_do_handshake(ssl_.get());
  const State state = result == 1 ? State::going : failed(result);
  const State drained = drain();
  if (state == State::going) roles_ = roles_of_peer(ssl_.get());
  return drained == State::ended ? drained : state;
}

// What a result other than success means.
Wire::State Wire::failed(int result) {
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ: return State::blocked;
    case SSL_ERROR_SSL: fault_ = tls_fault(ssl_.get()); return State::ended;
    default: ERR_clear_error(); return State::ended;
  }
}

Wire::State Wire::drain() {
  while (pending()) {
    const ssize_t some =
        ::send(socket_.get(), sealed_.data() + sent_, sealed_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (some < 0 && errno == EINTR) continue;
    if (some < 0) return errno == EAGAIN ? State::blocked : State::ended;
    sent_ += static_cast<size_t>(some);
  }
  sealed_.clear();
  sent_ = 0;
  return State::going;
}

Wire::Moved Wire::write(std::span<const iovec> parts) {
  Moved moved;
  if (!ssl_) {
    if (parts.empty()) return moved;
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(parts.data());
    message.msg_iovlen = parts.size();
    size_t bytes = 0;
    for (const iovec& part : parts) bytes += part.iov_len;
    ssize_t sent;
    do sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    if (sent < 0) return {0, errno == EAGAIN ? State::blocked : State::ended};
    moved.bytes = static_cast<size_t>(sent);
    moved.state = moved.bytes < bytes ? State::blocked : State::going;
    return moved;
  }
  for (const iovec& part : parts) {
    for (size_t at = 0; at < part.iov_len;) {
      if (sealed_.size() >= kBurst || sent_ > 0) {
        moved.state = drain();
        if (moved.state != State::going) return moved;
      }
      if (with_this_key_ >= rekey_after) {
        SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED);
        with_this_key_ = 0;
      }
      size_t some = 0;
      const int result = SSL_write_ex(ssl_.get(), static_cast<const char*>(part.iov_base) + at,
                                      std::min(part.iov_len - at, kBurst), &some);
      if (result != 1) {
        moved.state = failed(result);
        return moved;
      }
      at += some;
      moved.bytes += some;
      with_this_key_ += some;
    }
  }
  moved.state = drain();
  return moved;
}

Wire::Moved Wire::read(std::span<const iovec> parts) {
  Moved moved;
  if (!ssl_) {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(parts.data());
    message.msg_iovlen = parts.size();
    size_t bytes = 0;
    for (const iovec& part : parts) bytes += part.iov_len;
    ssize_t came;
    do came = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT);
    while (came < 0 && errno == EINTR);
    if (came <= 0) return {0, came < 0 && errno == EAGAIN ? State::blocked : State::ended};
    moved.bytes = static_cast<size_t>(came);
    moved.state = moved.bytes < bytes ? State::blocked : State::going;
    return moved;
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    for (size_t at = 0; at < parts[i].iov_len;) {
      size_t some = 0;
      const int result = SSL_read_ex(ssl_.get(), static_cast<char*>(parts[i].iov_base) + at,
                                     std::min(parts[i].iov_len - at, kCopied), &some);
      if (result != 1) {
        moved.state = failed(result);
        drain();  // it may have been asked for something, or says why it ends
        if (moved.state == State::ended && moved.bytes > 0) moved.state = State::going;  // it ends next time
        return moved;
      }
      at += some;
      moved.bytes += some;
      // The last part only holds what comes along: a record's rest would have to be copied on from it.
      if (i + 1 == parts.size()) return moved;
    }
  }
  return moved;
}

}  // namespace loomix::comm
