// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "base/ref_counted.h"
#include "engine/device/memory_pool.h"
#include "engine/inline_function.h"

namespace loomix::comm {

using Bytes = std::span<const std::byte>;
using Release = engine::InlineFunction<void(), 64>;

// Bytes and a share in what keeps them alive. Copies share; the last one to go calls the release function, on any
// thread. Making a slice allocates nothing.
class Buffer {
 public:
  Buffer() noexcept = default;
  static Buffer copy_of(Bytes bytes);
  static Buffer copy_of(std::string_view text);
  // Uninitialised memory, from `pool` if there is one.
  static Buffer allocate(size_t size, const std::shared_ptr<engine::MemoryPool>& pool = nullptr);
  // Somebody else's memory, which stays as it is until `release` is called.
  static Buffer borrow(Bytes bytes, Release release = {});

  const std::byte* data() const noexcept { return data_; }
  size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  Bytes bytes() const noexcept { return {data_, size_}; }
  std::string_view text() const noexcept { return {reinterpret_cast<const char*>(data_), size_}; }
  // For whoever fills a buffer from allocate() before it is shared.
  std::byte* writable() noexcept { return const_cast<std::byte*>(data_); }
  // `offset + size` must lie within.
  Buffer slice(size_t offset, size_t size) const {
    Buffer part = *this;
    part.data_ += offset;
    part.size_ = size;
    return part;
  }

 private:
  Ref<RefCounted> owner_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace loomix::comm
