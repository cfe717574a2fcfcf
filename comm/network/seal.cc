// SPDX-License-Identifier: Apache-2.0
#include "comm/network/seal.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/random.h>

#include <cstring>
#include <utility>

#include "base/error.h"

namespace loomix::comm {
namespace {

constexpr size_t kNonceBytes = 12;

[[noreturn]] void fail() {
  throw NetworkError("[comm] this machine's OpenSSL makes no checksums (GMAC with AES-128-GCM).");
}

const unsigned char* data_of(Bytes bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }

}  // namespace

Seal::Seal(const std::string& key) : context_(nullptr) {
  EVP_MAC* const mac = EVP_MAC_fetch(nullptr, "GMAC", nullptr);
  context_ = mac ? EVP_MAC_CTX_new(mac) : nullptr;
  EVP_MAC_free(mac);
  char cipher[] = "AES-128-GCM";
  unsigned char nonce[kNonceBytes] = {};
  const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_CIPHER, cipher, 0),
                                   OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_IV, nonce, sizeof(nonce)),
                                   OSSL_PARAM_construct_end()};
  if (!context_ || key.size() != kKeyBytes ||
      EVP_MAC_init(context_, reinterpret_cast<const unsigned char*>(key.data()), key.size(), parameters) !=
          1) {
    EVP_MAC_CTX_free(context_);
    fail();
  }
}
Seal::Seal(Seal&& other) noexcept : context_(std::exchange(other.context_, nullptr)) {}
Seal::~Seal() { EVP_MAC_CTX_free(context_); }

Seal::Tag Seal::sign(bool from_dialler, uint64_t number, Bytes header, std::span<const Buffer> body) {
  unsigned char nonce[kNonceBytes] = {static_cast<unsigned char>(from_dialler)};
  std::memcpy(nonce + kNonceBytes - sizeof(number), &number, sizeof(number));
  const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_IV, nonce, sizeof(nonce)),
                                   OSSL_PARAM_construct_end()};
  // The header's size, so that no byte can move between header and body.
  const uint64_t size = header.size();
  Tag tag;
  size_t written = 0;
  bool good = EVP_MAC_init(context_, nullptr, 0, parameters) == 1 &&
              EVP_MAC_update(context_, reinterpret_cast<const unsigned char*>(&size), sizeof(size)) == 1 &&
              EVP_MAC_update(context_, data_of(header), header.size()) == 1;
  for (const Buffer& part : body) {
    good = good && EVP_MAC_update(context_, data_of(part.bytes()), part.size()) == 1;
  }
  good = good &&
         EVP_MAC_final(context_, reinterpret_cast<unsigned char*>(tag.data()), &written, tag.size()) == 1;
  if (!good || written != tag.size()) fail();
  return tag;
}

bool Seal::fits(const Tag& tag, bool from_dialler, uint64_t number, Bytes header,
                std::span<const Buffer> body) {
  const Tag expected = sign(from_dialler, number, header, body);
  return CRYPTO_memcmp(tag.data(), expected.data(), tag.size()) == 0;
}

std::string random_bytes(size_t count) {
  std::string bytes(count, '\0');
  if (getrandom(bytes.data(), count, 0) != static_cast<ssize_t>(count))
    throw NetworkError("[comm] the system gives no random bytes.");
  return bytes;
}

}  // namespace loomix::comm
