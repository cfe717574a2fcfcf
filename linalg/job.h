// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "comm/process_group.h"
#include "linalg/kept.h"
#include "linalg/transfer.h"
#include "ndarray/ndarray.h"
#include "symbol/executor/runtime.h"

namespace loomix::linalg {

// What ways to multiply are chosen by. The same on all ranks.
struct Links {
  double bytes_per_s = 3e9;  // from a rank to another one, while all send
  double latency_s = 3e-5;   // of a message
  double flops = 5e10;       // of a rank, in products
};

// The ranks that matrices lie on, and what operations on them need: a group that sends messages, an engine whose tasks they are, plans
// that were made before. Every rank makes one of the same group, and then calls the same operations in the same order.
class Job : public std::enable_shared_from_this<Job> {
 public:
  Job(Runtime& runtime, std::shared_ptr<comm::ProcessGroup> group)
      : runtime_(runtime), group_(std::move(group)), transfers_(group_->rank()) {}
  int rank() const { return group_->rank(); }
  int size() const { return group_->size(); }
  Runtime& runtime() { return runtime_; }
  engine::Engine& engine() { return runtime_.engine(); }
  comm::ProcessGroup& group() { return *group_; }
  TransferCache& transfers() { return transfers_; }
  KeptCopies& kept() { return kept_; }

  Links links;
  // What a remap packs into one message, and so the size of its buffers. The same on all ranks.
  int64_t message_bytes = int64_t{1} << 20;
  // Of a remap or a product each way, or for each rank of a line: how far what travels may be ahead. 2 or more.
  int buffers = 2;
  // Whether remaps go in parts where the group takes them. The same on all
  // ranks.
  bool in_parts = true;

 private:
  friend class Operation;
  int reserve_tags(int count);  // for messages; the same on all ranks, as they call the same

  Runtime& runtime_;
  const std::shared_ptr<comm::ProcessGroup> group_;
  TransferCache transfers_;
  KeptCopies kept_;
  std::mutex mutex_;  // guards the next
  int next_tag_ = 0;
};
using JobRef = std::shared_ptr<Job>;

// Memory for what goes from a rank to another one: elements, and behind them a mark that they are good.
class Message {
 public:
  Message(Job& job, int64_t bytes);  // of the elements
  // The first of them, as an array. A task that writes it is followed by push_mark(), or ends with mark_good().
  NDArray elements(const Shape& shape, DType dtype) const {
    return NDArray(whole_.storage_ref(), shape, dtype);
  }
  const NDArray& whole() const { return whole_; }
  // The same memory for a shorter one.
  Message first(int64_t bytes) const;
  void push_mark() const;
  static void mark_good(const NDArray& whole);

 private:
  explicit Message(NDArray whole) : whole_(std::move(whole)) {}

  NDArray whole_;
};

// A message that lies nowhere as a whole, to or from a rank.
struct PartedMessage {
  int rank = 0;
  comm::Parts parts;
};

// One operation that all ranks do together. They agree on what it is: if they do not, what it writes throws ValueError on all of them,
// which says who does what. Copies are the same operation.
//
// Its messages are tasks. One whose data has an error tells the other rank, so that what is received throws there, too, and nobody waits.
class Operation {
 public:
  // `what` and `key` must be the same on all ranks; `what` is for people: "remap of (4, 4) float32". `messages`: how many numbers
  // its messages take.
  Operation(const JobRef& job, std::string what, uint64_t key, int messages = 1);

  // Pushes. A message of a pair of ranks meets its place by its number, below `messages`, which serves once a pair.
  void send(const Message& message, int to, int number = 0, const Message* after = nullptr) const;
  void receive(const Message& message, int from, int number = 0) const;
  // The same in parts, each at most kMostPartBytes. Sending reads what `tags` say; receiving, of all such messages in one task, writes it.
  static constexpr size_t kMostPartBytes = comm::Parts::kMostBytes - sizeof(uint64_t);
  void send_parts(const ArrayTags& tags, PartedMessage message) const;
  void receive_parts(const ArrayTags& tags, std::vector<PartedMessage> messages) const;
  Job& job() const;
  // The bits that all ranks give. Waits until all have called it; ValueError if they do different things.
  static uint8_t agree(const JobRef& job, std::string what, uint64_t key, uint8_t bits);

 private:
  struct State;
  class Sending;
  class SendingParts;
  struct Receiving;
  static void tell(const std::shared_ptr<State>& state, uint64_t key, uint8_t bits);
  std::shared_ptr<State> state_;
};

}  // namespace loomix::linalg
