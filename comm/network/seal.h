// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "comm/buffer.h"

struct evp_mac_ctx_st;

namespace loomix::comm {

// Keyed checksums of packets that travel plain: GMAC (AES-128-GCM without a secret text) over header and body. The nonce is
// the direction and the packet's number, so each number may be signed once only.
class Seal {
 public:
  static constexpr size_t kKeyBytes = 16, kTagBytes = 16;
  using Tag = std::array<std::byte, kTagBytes>;

  explicit Seal(const std::string& key);  // kKeyBytes; throws NetworkError where there is no GMAC
  Seal(Seal&& other) noexcept;
  Seal& operator=(Seal&&) = delete;
  ~Seal();
  // `from_dialler`: the direction.
  Tag sign(bool from_dialler, uint64_t number, Bytes header, std::span<const Buffer> body);
  bool fits(const Tag& tag, bool from_dialler, uint64_t number, Bytes header, std::span<const Buffer> body);

 private:
  evp_mac_ctx_st* context_;
};

std::string random_bytes(size_t count);  // throws NetworkError where the system has none

}  // namespace loomix::comm
