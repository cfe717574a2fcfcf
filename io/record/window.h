// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "io/record/format.h"
#include "io/record/source.h"

namespace loomix::io {

// The part of a source that is in memory. It moves forward with the reader, fetches ahead while it is read in order,
// and little after a jump.
class Window {
 public:
  explicit Window(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}

  // The bytes at [offset, offset + n), fewer only where the source ends. Valid until the next call; what lies before
  // `offset` may be gone after it. Memory grows with what the source really holds, not with `n`.
  Bytes at(uint64_t offset, size_t n) {
    if (offset >= begin_ && offset + n <= begin_ + filled_) {
      return {buffer_.get() + (offset - begin_), n};
    }
    return fetch(offset, n);
  }

  // Says that reading goes on elsewhere, with about `n` bytes at once.
  void jump(size_t n) { ahead_ = n > source_->least_read() ? n : source_->least_read(); }

  // Copies the bytes at `offset` and leaves the window where it is; false if they are not all there. The source must
  // be seekable.
  bool peek(uint64_t offset, std::span<uint8_t> out);

  const ByteSource& source() const { return *source_; }

 private:
  Bytes fetch(uint64_t offset, size_t n);
  bool move_to(uint64_t offset);
  void reserve(size_t bytes);

  std::unique_ptr<ByteSource> source_;
  std::unique_ptr<uint8_t[]> buffer_;
  size_t capacity_ = 0;
  uint64_t begin_ = 0;  // offset of buffer_[0]
  size_t filled_ = 0;
  size_t ahead_ = SIZE_MAX;  // what the next read fetches at least; SIZE_MAX: as the source likes it
};

}  // namespace loomix::io
