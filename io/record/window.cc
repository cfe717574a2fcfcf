// SPDX-License-Identifier: Apache-2.0
#include "io/record/window.h"

#include <algorithm>

namespace loomix::io {

Bytes Window::fetch(uint64_t offset, size_t n) {
  const size_t most = source_->read_ahead();
  const bool in_order = move_to(offset);
  if (in_order && ahead_ < most) ahead_ = 4 * std::max(ahead_, n);
  const bool begun = !in_order && filled_ > 0;  // the record began here and is longer than was guessed
  const size_t wanted = begun ? n : std::max(n, std::min(ahead_, most));
  while (filled_ < n) {
    // A length comes from the file and may be wrong, so memory doubles only as far as bytes really arrive.
    const size_t trusted = std::max<size_t>({2 * filled_, most, 1 << 20});
    const size_t ask = std::min(wanted - filled_, trusted);
    const size_t least = std::min(n - filled_, ask);
    reserve(filled_ + ask);
    const size_t got = source_->read_at(begin_ + filled_, {buffer_.get() + filled_, ask}, least);
    filled_ += got;
    if (got < least) break;
  }
  return {buffer_.get(), std::min(n, filled_)};
}

bool Window::peek(uint64_t offset, std::span<uint8_t> out) {
  if (offset >= begin_ && offset + out.size() <= begin_ + filled_) {
    std::memcpy(out.data(), buffer_.get() + (offset - begin_), out.size());
    return true;
  }
  return source_->read_at(offset, out, out.size()) == out.size();
}

// Makes `offset` the beginning of the window; true if that was a step forward inside it.
bool Window::move_to(uint64_t offset) {
  if (offset >= begin_ && offset <= begin_ + filled_) {
    const size_t gone = offset - begin_;
    filled_ -= gone;
    if (gone > 0 && filled_ > 0) std::memmove(buffer_.get(), buffer_.get() + gone, filled_);
    begin_ = offset;
    return gone > 0;
  } else if (source_->seekable() || offset < begin_) {  // a pipe says itself that it cannot go back
    begin_ = offset;
    filled_ = 0;
  } else {
    while (begin_ + filled_ < offset) {  // a pipe goes forward by reading
      begin_ += filled_;
      filled_ = 0;
      reserve(64 << 10);
      const size_t ask = std::min<uint64_t>(64 << 10, offset - begin_);
      filled_ = source_->read_at(begin_, {buffer_.get(), ask}, ask);
      if (filled_ < ask) break;
    }
    begin_ = offset;
    filled_ = 0;
  }
  return false;
}

void Window::reserve(size_t bytes) {
  if (bytes <= capacity_) return;
  const size_t capacity = std::max<size_t>({bytes, capacity_ + capacity_ / 2, 16 << 10});
  auto larger = std::make_unique_for_overwrite<uint8_t[]>(capacity);
  if (filled_ > 0) std::memcpy(larger.get(), buffer_.get(), filled_);
  buffer_ = std::move(larger);
  capacity_ = capacity;
}

}  // namespace loomix::io
