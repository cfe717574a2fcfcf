// SPDX-License-Identifier: Apache-2.0
#include "kvstore/cluster/batch.h"

#include <algorithm>

#include "base/error.h"

namespace loomix::kvstore {
namespace {

// Of an encoded message, at most: an item without its key, and the rest, be it a request or an entry of a chain.
constexpr size_t kItemBytes = 64;
constexpr size_t kHeadBytes = 512;

}  // namespace

BatchLimits BatchLimits::within(const comm::Limits& limits) {
  BatchLimits batch;
  batch.bytes = static_cast<size_t>(std::min<uint64_t>(kBatchBytes, limits.message_bytes));
  const size_t room = limits.header_bytes - std::min(limits.header_bytes, kHeadBytes);
  batch.items = std::clamp<size_t>(room / (kItemBytes + kLongKey), 1, kBatchItems);
  return batch;
}

comm::Buffer join_parts(std::span<const comm::Buffer> parts) {
  size_t size = 0;
  for (const comm::Buffer& part : parts) size = next_part(size) + part.size();
  comm::Buffer all = comm::Buffer::allocate(size);
  size_t at = 0;
  for (const comm::Buffer& part : parts) {
    std::fill(all.writable() + at, all.writable() + next_part(at), std::byte{0});
    at = next_part(at);
    std::copy_n(part.data(), part.size(), all.writable() + at);
    at += part.size();
  }
  return all;
}

comm::Buffer PartReader::next(uint64_t bytes) {
  const size_t at = next_part(at_);
  LOOMIX_CHECK(at <= all_.size() && bytes <= all_.size() - at, NetworkError,
               "[KVStore] an item of a batch has {} bytes at byte {} of {}.", bytes, at, all_.size());
  at_ = at + static_cast<size_t>(bytes);
  return all_.slice(at, static_cast<size_t>(bytes));
}

std::vector<comm::Buffer> parts_of(const messages::Pushes& pushes, std::span<const comm::Buffer> payload) {
  in_range("Pushes.items, counted,", pushes.items_size(), 1, kBatchItems);
  PartReader reader(only_part(payload));
  std::vector<comm::Buffer> parts;
  for (const messages::Push& push : pushes.items()) parts.push_back(reader.next(push.bytes()));
  return parts;
}

}  // namespace loomix::kvstore
