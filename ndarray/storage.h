// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "base/device.h"
#include "base/dtype.h"
#include "base/ref_counted.h"
#include "base/shape.h"
#include "engine/device/memory_pool.h"
#include "engine/engine.h"

namespace loomix {

enum class StorageType : int8_t { undefined = -1, dense = 0, row_sparse = 1, csr = 2 };

const char* name_of(StorageType stype);  // MXNet's: "default", "row_sparse", "csr"

// Memory of one array and the Var that orders its use; views share it. Sparse storage also owns its index arrays, whose
// sizes are known only when the task that writes them is done. Up to kInlineBytes of host memory lie in the object.
class alignas(64) Storage final : public RefCounted {
 public:
  static constexpr int64_t kInlineBytes = 64;

  // Memory comes from the device's pool, uninitialised. Throws MemoryError.
  Storage(engine::Engine& engine, int64_t bytes, Device device);
  // Memory of somebody else's; `release` is called when the last user is done.
  Storage(engine::Engine& engine, void* data, int64_t bytes, Device device, std::function<void()> release);
  // A part of the memory of `whole`, with a Var of its own. Whoever has several parts orders those that overlap.
  Storage(Ref<Storage> whole, int64_t offset, int64_t bytes);
  // Nothing yet: the task that writes it says how much (`allocate`, `set_shape`, `resize_sparse`).
  Storage(engine::Engine& engine, StorageType stype, Device device);
  ~Storage() override;

  engine::Engine& engine() const noexcept { return *engine_; }
  engine::Var& var() const noexcept { return *var_; }
  Device device() const noexcept { return device_; }
  MemoryKind kind() const noexcept { return kind_; }
  StorageType stype() const noexcept { return stype_; }
  // Dense elements, or the stored values of a sparse array. Never null after allocation on a host.
  void* data() const noexcept { return data_; }
  int64_t bytes() const noexcept { return bytes_; }
  // Data writes pushed so far: equal numbers mean equal content.
  uint64_t version() const noexcept { return var_->version(); }

  // Counts the times that others could write the memory without a task, through a buffer or a DLPack tensor that shares it. It
  // changes at the end of each such time; while one lasts, equal versions do not mean equal content.
  bool is_exposed() const noexcept { return exposures_.load(std::memory_order_relaxed) > 0; }
  uint32_t past_exposures() const noexcept { return past_exposures_.load(std::memory_order_relaxed); }
  void expose() noexcept { exposures_.fetch_add(1, std::memory_order_relaxed); }
  void end_exposure() noexcept {
    past_exposures_.fetch_add(1, std::memory_order_relaxed);
    exposures_.fetch_sub(1, std::memory_order_release);
  }

  // Whose memory this is, for MemoryError; large storages remember it. Before any other thread knows the storage.
  void describe(const Shape& shape, DType dtype) {
    if (bytes_ >= kDescribedBytes) describe_large(shape, dtype);
  }

  // For the task that writes an array whose shape depends on data: takes memory and publishes the shape.
  void set_shape(const Shape& shape, int64_t bytes);
  const Shape* deferred_shape()
      const noexcept;  // null until the writer is done, and for arrays of fixed shape
  bool is_deferred() const noexcept { return deferred_; }

  // Of foreign memory, while nobody uses it: moves to memory of its own with the same content. Calls that were
  // made ready before still point to the old place, so that is released at the end, as before.
  void own_copy();

  // Sparse content, for tasks that hold the Var. `count` is the number of stored rows (row_sparse) or values (csr).
  int64_t count() const noexcept;
  int64_t* indices() const noexcept;  // count row ids, or column numbers
  int64_t* indptr() const noexcept;   // csr: rows + 1
  // Makes room for `count` items of `item_bytes` and, for csr, `indptr_count` row starts; content is undefined.
  void resize_sparse(int64_t count, int64_t item_bytes, int64_t indptr_count);

  static void* operator new(size_t bytes);
  static void operator delete(void* memory) noexcept;

 private:
  static constexpr int64_t kDescribedBytes = engine::MemoryPool::kNamedBytes;
  struct Extra;
  struct Description;
  void describe_large(const Shape& shape, DType dtype);
  void forget_description() noexcept;
  void allocate(int64_t bytes);  // before any task uses the storage
  void allocate_in_task(int64_t bytes);
  void free() noexcept;
  Extra& extra();

  StorageType stype_ = StorageType::dense;
  MemoryKind kind_ = MemoryKind::host;
  bool deferred_ = false;
  std::atomic<uint32_t> exposures_{0}, past_exposures_{0};
  Device device_;
  engine::Engine* engine_;
  engine::VarRef var_;
  engine::MemoryPool* pool_ = nullptr;  // where data_ came from; null for inline and foreign memory
  void* data_ = nullptr;
  int64_t bytes_ = 0;
  std::unique_ptr<Extra> extra_;  // what only sparse, deferred and foreign storage needs
  alignas(64) std::byte inline_[kInlineBytes];
};

// Holds storage whose memory others may write while this lives.
class Exposure {
 public:
  explicit Exposure(Ref<Storage> storage) : storage_(std::move(storage)) { storage_->expose(); }
  ~Exposure() { storage_->end_exposure(); }
  Exposure(const Exposure&) = delete;
  Exposure& operator=(const Exposure&) = delete;

 private:
  const Ref<Storage> storage_;
};

}  // namespace loomix
