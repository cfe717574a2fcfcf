// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "base/device.h"
#include "base/ref_counted.h"
#include "engine/engine.h"

namespace loomix {

enum class StorageType : int8_t { undefined = -1, dense = 0, row_sparse = 1, csr = 2 };
inline const char* name_of(StorageType stype) {
  return stype == StorageType::csr ? "csr" : stype == StorageType::row_sparse ? "row_sparse" : "default";
}

// Aligned memory, with room behind it for loops that read whole vectors.
class Memory {
 public:
  static constexpr size_t kAlignment = 64;
  explicit Memory(size_t bytes = 0)
      : bytes_(static_cast<std::byte*>(::operator new(bytes + kAlignment, std::align_val_t(kAlignment)))) {}
  explicit Memory(std::nullptr_t) {}
  std::byte* data() const { return bytes_.get(); }

 private:
  struct Free {
    void operator()(std::byte* bytes) const { ::operator delete(bytes, std::align_val_t(kAlignment)); }
  };
  std::unique_ptr<std::byte, Free> bytes_;
};

// Memory of one array, which copies share. Of a sparse one: the stored values and where they belong.
class Storage final : public RefCounted {
 public:
  Storage() : memory_(nullptr) {}
  Storage(engine::Engine&, int64_t bytes) : memory_(static_cast<size_t>(bytes)) {}
  Storage(engine::Engine&, StorageType stype, Device) : stype_(stype) {}
  StorageType stype() const { return stype_; }
  void* data() const { return memory_.data(); }
  int64_t count() const { return static_cast<int64_t>(indices_.size()); }
  int64_t* indices() { return indices_.data(); }
  int64_t* indptr() { return indptr_.data(); }
  void resize_sparse(int64_t count, int64_t item_bytes, int64_t indptr_count) {
    memory_ = Memory(static_cast<size_t>(count * item_bytes));
    indices_.resize(static_cast<size_t>(count));
    indptr_.resize(static_cast<size_t>(indptr_count));
  }

 private:
  StorageType stype_ = StorageType::dense;
  Memory memory_;
  std::vector<int64_t> indices_, indptr_;
};

}  // namespace loomix
