// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <vector>

#include "comm/network.h"

namespace loomix::comm {

// What OpenSSL has made, and how it is freed.
template <auto free>
struct OpensslFree {
  template <class T>
  void operator()(T* made) const {
    free(made);
  }
};
template <class T, auto free>
using Openssl = std::unique_ptr<T, OpensslFree<free>>;

// TLS 1.3 with certificates on both sides, checked against the cluster's authority. Host names are not compared: what
// counts is the role that a certificate names, as a DNS name among its alternative names.
class TlsContext {
 public:
  explicit TlsContext(const Keys& keys);  // throws ValueError
  SSL_CTX* get() const { return context_.get(); }

 private:
  Openssl<SSL_CTX, SSL_CTX_free> context_;
};

// In few words, what went wrong last, for a sentence about the other end; forgets it.
std::string tls_fault(SSL* connection);
// The roles that the other end's certificate names.
std::vector<Role> roles_of_peer(SSL* connection);

NewKeys make_keys(const std::vector<std::vector<Role>>& roles);

}  // namespace loomix::comm
