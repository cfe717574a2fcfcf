// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/buffer.h"
#include "comm/network/file.h"

// Two processes and the memory that they share: a ring of records each way. The memory has no name (memfd), so whatever
// happens to the two, the kernel frees it with the last of them.
//
//   one page of RingState a -> b and b -> a | bytes of a -> b | bytes of b -> a
//
// Each ring of bytes is mapped twice in a row, so that every record lies in one piece. The producer writes a record, then
// moves `tail`; the consumer reads it, then moves `head`. Who wants to sleep says so and looks again; who moves a
// position and sees that, rings the other's doorbell (an eventfd). Nothing that the other side writes is trusted: positions and
// lengths are checked against each other, and the file is sealed, so that it cannot shrink under the reader.
namespace loomix::comm {

struct RingState {
  alignas(64) std::atomic<uint64_t> head;  // bytes consumed
  std::atomic<uint32_t> producer_waits;
  alignas(64) std::atomic<uint64_t> tail;  // bytes produced
  std::atomic<uint32_t> consumer_sleeps;
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

class SharedRings {
 public:
  static SharedRings create(size_t ring_bytes);  // throws NetworkError
  // The other's file; false if it is not one of ours.
  static bool open(File file, SharedRings& rings);
  SharedRings() = default;
  SharedRings(SharedRings&& other) noexcept { *this = std::move(other); }
  SharedRings& operator=(SharedRings&& other) noexcept;
  ~SharedRings();

  const File& file() const { return file_; }
  // `creator`: which end this is.
  RingState* out_state(bool creator) const { return states_ + (creator ? 0 : 1); }
  RingState* in_state(bool creator) const { return states_ + (creator ? 1 : 0); }
  std::byte* out_bytes(bool creator) const { return bytes_[creator ? 0 : 1]; }
  std::byte* in_bytes(bool creator) const { return bytes_[creator ? 1 : 0]; }
  size_t ring_bytes() const { return ring_bytes_; }

 private:
  bool map();
  File file_;
  size_t ring_bytes_ = 0;
  RingState* states_ = nullptr;
  std::byte* bytes_[2] = {};
};

class RingWriter {
 public:
  RingWriter(RingState* state, std::byte* bytes, size_t size) : state_(state), bytes_(bytes), size_(size) {}
  // False: no room now; `waits` is set then, and the reader rings when it has made some.
  bool write(Bytes header, std::span<const Buffer> body);
  bool reader_sleeps();  // and if so, somebody has to ring
  bool room() const { return tail_ - state_->head.load(std::memory_order_acquire) <= size_ / 2; }

 private:
  RingState* state_;
  std::byte* bytes_;
  size_t size_;
  uint64_t tail_ = 0;
};

class RingReader {
 public:
  RingReader(RingState* state, std::byte* bytes, size_t size) : state_(state), bytes_(bytes), size_(size) {}
  enum class Result : uint8_t { record, none, broken };
  Result next(Bytes& header, Bytes& body);  // views into the ring, until done()
  bool done();                              // true: the writer waits for room, ring
  // True: there is something already, do not sleep.
  bool about_to_sleep() {
    state_->consumer_sleeps.store(1);
    return state_->tail.load() != head_;
  }
  void awake() { state_->consumer_sleeps.store(0, std::memory_order_relaxed); }

 private:
  RingState* state_;
  std::byte* bytes_;
  size_t size_;
  uint64_t head_ = 0, next_ = 0;
};

}  // namespace loomix::comm
