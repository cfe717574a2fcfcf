// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "kvstore/cluster/messages.h"

// Small pushes, or small pulls, of one worker to one group that travel in one request. A batch is only a way to travel: each
// item keeps its key, part and number, is judged by itself, and has an outcome of its own. Nothing in a batch waits for
// another: what cannot be answered well at once is asked for again, the second time alone if it needs an answer of its own.
namespace loomix::kvstore {

// Bytes: an item that is larger travels alone, and a batch is what something more urgent may have to wait for.
inline constexpr size_t kSmallItem = size_t{8} << 10;
inline constexpr size_t kBatchBytes = size_t{64} << 10;
inline constexpr size_t kBatchItems = 256;
inline constexpr size_t kLongKey = 256;  // such keys travel alone

// The same where less is allowed in a message; a batch of one is a message that travels alone.
struct BatchLimits {
  size_t bytes = kBatchBytes;
  size_t items = kBatchItems;
  static BatchLimits within(const comm::Limits& limits);
};

// What became of an item: as many bytes of the answer's payload, or one of these.
enum Outcome : int64_t {
  kNotYet = -1,  // a pull that has to wait
  kAlone = -2,   // to be sent alone, which tells why
};

// The parts of a batch's payload in one, and again one by one.
comm::Buffer join_parts(std::span<const comm::Buffer> parts);
class PartReader {
 public:
  explicit PartReader(comm::Buffer all) : all_(std::move(all)) {}
  comm::Buffer next(uint64_t bytes);  // throws NetworkError where there are fewer

 private:
  const comm::Buffer all_;
  size_t at_ = 0;
};

// The payload of each push of a batch; throws NetworkError for what is none.
std::vector<comm::Buffer> parts_of(const messages::Pushes& pushes, std::span<const comm::Buffer> payload);

// Where a part of so many bytes begins after one that ends at `end`.
inline size_t next_part(size_t end) { return (end + 15) / 16 * 16; }

}  // namespace loomix::kvstore
