// SPDX-License-Identifier: Apache-2.0
#include "comm/buffer.h"

#include <cstring>
#include <memory>

namespace loomix::comm {
namespace {

class Heap final : public RefCounted {
 public:
  explicit Heap(size_t size) : memory(new std::byte[size]) {}
  const std::unique_ptr<std::byte[]> memory;
};

class Pooled final : public RefCounted {
 public:
  Pooled(std::shared_ptr<engine::MemoryPool> pool, size_t size)
      : memory(pool->allocate(size)), pool_(std::move(pool)), size_(size) {}
  ~Pooled() override { pool_->free(memory, size_); }
  void* const memory;

 private:
  const std::shared_ptr<engine::MemoryPool> pool_;
  const size_t size_;
};

class Borrowed final : public RefCounted {
 public:
  explicit Borrowed(Release release) : release_(std::move(release)) {}
  ~Borrowed() override {
    if (release_) release_();
  }

 private:
  Release release_;
};

}  // namespace

Buffer Buffer::allocate(size_t size, const std::shared_ptr<engine::MemoryPool>& pool) {
  Buffer buffer;
  if (size == 0) return buffer;
  if (pool) {
    auto owner = make_ref<Pooled>(pool, size);
    buffer.data_ = static_cast<const std::byte*>(owner->memory);
    buffer.owner_ = owner;
  } else {
    auto owner = make_ref<Heap>(size);
    buffer.data_ = owner->memory.get();
    buffer.owner_ = owner;
  }
  buffer.size_ = size;
  return buffer;
}

Buffer Buffer::copy_of(Bytes bytes) {
  Buffer buffer = allocate(bytes.size());
  if (!bytes.empty()) std::memcpy(buffer.writable(), bytes.data(), bytes.size());
  return buffer;
}

Buffer Buffer::copy_of(std::string_view text) { return copy_of(std::as_bytes(std::span(text))); }

Buffer Buffer::borrow(Bytes bytes, Release release) {
  Buffer buffer;
  buffer.data_ = bytes.data();
  buffer.size_ = bytes.size();
  if (release) buffer.owner_ = make_ref<Borrowed>(std::move(release));
  return buffer;
}

}  // namespace loomix::comm
