// SPDX-License-Identifier: Apache-2.0
#include "kvstore/cluster/batch.h"

#include <algorithm>

#include "base/error.h"

namespace loomix::kvstore {
namespace {

constexpr size_t kCommon = 4;       // view, group, worker, incarnation
constexpr size_t kPushNumbers = 4;  // part, number, packing
constexpr size_t kPullNumbers = 2;  // part, number
constexpr size_t kOnTheWay = 16;    // what a message has besides as an entry of a chain, and more
constexpr size_t kNumberBytes = 10;

}  // namespace

BatchLimits BatchLimits::within(const comm::Limits& limits) {
  constexpr size_t item_fields = kPushNumbers + 1;
  constexpr size_t item_head = (item_fields + 1) * kNumberBytes + kLongKey;
  constexpr size_t head = 2 * kOnTheWay * kNumberBytes + 256;
  const auto fit = [](size_t limit, size_t common, size_t each) {
    return limit > common ? (limit - common) / each : 0;
  };
  BatchLimits batch;
  batch.bytes = static_cast<size_t>(std::min<uint64_t>(kBatchBytes, limits.message_bytes));
  batch.items = std::min({kBatchItems, limits.texts, fit(limits.fields, kOnTheWay, item_fields),
                          fit(limits.header_bytes, head, item_head)});
  batch.items = std::max<size_t>(batch.items, 1);
  return batch;
}

comm::Message gather(std::span<const comm::Message* const> items) {
  const comm::Message& first = *items.front();
  const bool pushes = first.command == kPush;
  comm::Message batch;
  batch.command = pushes ? kPushes : kPulls;
  batch.fields.reserve(kCommon + items.size() * (kPushNumbers + 1));
  batch.fields.assign(first.fields.begin(), first.fields.begin() + kCommon);
  batch.texts.reserve(items.size());
  for (const comm::Message* const item : items) {
    batch.fields.insert(batch.fields.end(), item->fields.begin() + kCommon, item->fields.end());
    batch.texts.push_back(item->texts.at(0));
    if (!pushes) continue;
    batch.fields.push_back(static_cast<int64_t>(item->payload.at(0).size()));
    batch.payload.push_back(item->payload[0]);
  }
  return batch;
}

void join_payload(comm::Message& batch) {
  size_t size = 0;
  for (const comm::Buffer& part : batch.payload) size = next_part(size) + part.size();
  comm::Buffer all = comm::Buffer::allocate(size);
  size_t at = 0;
  for (const comm::Buffer& part : batch.payload) {
    std::fill(all.writable() + at, all.writable() + next_part(at), std::byte{0});
    at = next_part(at);
    std::copy_n(part.data(), part.size(), all.writable() + at);
    at += part.size();
  }
  batch.payload = {std::move(all)};
}

std::vector<comm::Message> items_of(const comm::Message& batch) {
  const bool pushes = batch.command == kPushes;
  const size_t numbers = pushes ? kPushNumbers : kPullNumbers;
  const size_t count = batch.texts.size();
  LOOMIX_CHECK(count > 0 && count <= kBatchItems &&
                   batch.fields.size() == kCommon + count * (numbers + pushes) &&
                   batch.payload.size() == (pushes ? 1 : 0),
               NetworkError, "[KVStore] a batch came with {} keys, {} numbers and {} payload parts.", count,
               batch.fields.size(), batch.payload.size());
  std::vector<comm::Message> items(count);
  auto next = batch.fields.begin() + kCommon;
  size_t at = 0;
  for (size_t i = 0; i < count; ++i) {
    comm::Message& item = items[i];
    item.command = pushes ? kPush : kPull;
    item.fields.reserve(kCommon + numbers);
    item.fields.assign(batch.fields.begin(), batch.fields.begin() + kCommon);
    item.fields.insert(item.fields.end(), next, next + static_cast<ptrdiff_t>(numbers));
    next += static_cast<ptrdiff_t>(numbers);
    item.texts = {batch.texts[i]};
    if (!pushes) continue;
    const int64_t bytes = *next++;
    at = next_part(at);
    const comm::Buffer& all = batch.payload[0];
    LOOMIX_CHECK(bytes >= 0 && at <= all.size() && static_cast<size_t>(bytes) <= all.size() - at,
                 NetworkError, "[KVStore] item {} of a batch has {} bytes of {}.", i, bytes, all.size());
    item.payload = {all.slice(at, static_cast<size_t>(bytes))};
    at += static_cast<size_t>(bytes);
  }
  return items;
}

}  // namespace loomix::kvstore
