// SPDX-License-Identifier: Apache-2.0
#include "ndarray/storage.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "engine/block_cache.h"
#include "engine/device/device_runtime.h"
#include "ndarray/array_origin.h"

namespace loomix {

using Blocks = engine::BlockCache<sizeof(Storage)>;

// Immutable, as another thread may read it.
struct Storage::Description final : engine::MemoryOwner {
  std::string describe() const override {
    std::string text = fmt::format("{} {}", name_of(dtype), shape.to_string());
    if (stype != StorageType::dense) text += fmt::format(", {}", name_of(stype));
    return origin.empty() ? text : fmt::format("{}, {}", text, origin);
  }
  Shape shape;
  DType dtype;
  StorageType stype;
  std::string origin;
};

struct Storage::Extra {
  std::function<void()> release;  // foreign memory
  Ref<Storage> whole;             // whose memory this is a part of
  std::unique_ptr<Description> description;
  std::unique_ptr<Shape> shape;  // deferred
  int64_t count = 0;             // sparse
  std::unique_ptr<int64_t[]> indices;
  std::unique_ptr<int64_t[]> indptr;
};

const char* name_of(StorageType stype) {
  switch (stype) {
    case StorageType::dense: return "default";
    case StorageType::row_sparse: return "row_sparse";
    case StorageType::csr: return "csr";
    case StorageType::undefined: break;
  }
  return "undefined";
}

void* Storage::operator new(size_t) { return Blocks::allocate(); }
void Storage::operator delete(void* memory) noexcept { Blocks::free(memory); }

Storage::Storage(engine::Engine& engine, int64_t bytes, Device device)
    : device_(device), engine_(&engine), var_(engine.new_var()) {
  allocate(bytes);
}

Storage::Storage(engine::Engine& engine, void* data, int64_t bytes, Device device,
                 std::function<void()> release)
    : device_(device), engine_(&engine), var_(engine.new_var()), data_(data), bytes_(bytes) {
  extra().release = std::move(release);
  expose();  // its owner may write it
}

Storage::Storage(Ref<Storage> whole, int64_t offset, int64_t bytes)
    : kind_(whole->kind_),
      device_(whole->device_),
      engine_(whole->engine_),
      var_(engine_->new_var()),
      data_(static_cast<std::byte*>(whole->data_) + offset),
      bytes_(bytes) {
  LOOMIX_INTERNAL_CHECK(offset >= 0 && bytes >= 0 && offset + bytes <= whole->bytes_);
  var_->add_pending(whole->var_->pending_tokens());
  extra().whole = std::move(whole);
}

Storage::Storage(engine::Engine& engine, StorageType stype, Device device)
    : stype_(stype),
      deferred_(stype == StorageType::dense),
      device_(device),
      engine_(&engine),
      var_(engine.new_var()) {
  extra();
}

Storage::~Storage() {
  free();
  if (!extra_) return;
  if (extra_->whole) extra_->whole->var_->add_pending(var_->pending_tokens());
  if (extra_->release) extra_->release();
}

Storage::Extra& Storage::extra() {
  if (!extra_) extra_ = std::make_unique<Extra>();
  return *extra_;
}

void Storage::allocate(int64_t bytes) {
  if (device_.is_host()) return allocate_in_task(bytes);
  kind_ = MemoryKind::device;
  engine::DeviceRuntime& runtime = engine_->device(device_);
  pool_ = &runtime.memory(kind_);
  std::vector<engine::TokenRef> pending;
  data_ = pool_->allocate(static_cast<size_t>(bytes), runtime.queue(engine::Lane::compute), pending);
  bytes_ = bytes;
  var_->add_pending(std::move(pending));
}

// The task has waited for its Vars already, so the memory must not be anybody's any more.
void Storage::allocate_in_task(int64_t bytes) {
  kind_ = !device_.is_host()                       ? MemoryKind::device
          : device_.type == DeviceType::cpu_pinned ? MemoryKind::pinned
                                                   : MemoryKind::host;
  if (bytes <= kInlineBytes && device_.is_host()) {
    data_ = inline_;
  } else {
    pool_ = &engine_->device(device_).memory(kind_);
    data_ = pool_->allocate(static_cast<size_t>(bytes));
  }
  bytes_ = bytes;
}

void Storage::own_copy() {
  LOOMIX_INTERNAL_CHECK(pool_ == nullptr && stype_ == StorageType::dense);
  const void* const from = data_;
  const int64_t bytes = bytes_;
  allocate_in_task(bytes);
  if (bytes > 0) engine_->device(device_).copy_now(data_, from, static_cast<size_t>(bytes));
  end_exposure();
}

void Storage::describe_large(const Shape& shape, DType dtype) {
  if (pool_ == nullptr) return;
  forget_description();
  auto description = std::make_unique<Description>();
  description->shape = shape;
  description->dtype = dtype;
  description->stype = stype_;
  description->origin = ArrayOrigin::current();
  pool_->add_owner(*description, static_cast<size_t>(bytes_));
  extra().description = std::move(description);
}

void Storage::forget_description() noexcept {
  if (!extra_ || !extra_->description) return;
  pool_->remove_owner(*extra_->description);
  extra_->description.reset();
}

void Storage::free() noexcept {
  forget_description();
  if (pool_ && device_.is_host()) {
    pool_->free(data_, static_cast<size_t>(bytes_));
  } else if (pool_) {
    pool_->free(data_, static_cast<size_t>(bytes_), var_->pending_tokens());
  }
  pool_ = nullptr;
  data_ = nullptr;
  bytes_ = 0;
}

void Storage::set_shape(const Shape& shape, int64_t bytes) {
  free();
  allocate_in_task(bytes);
  extra().shape = std::make_unique<Shape>(shape);
}

const Shape* Storage::deferred_shape() const noexcept { return extra_ ? extra_->shape.get() : nullptr; }

int64_t Storage::count() const noexcept { return extra_ ? extra_->count : 0; }
int64_t* Storage::indices() const noexcept { return extra_ ? extra_->indices.get() : nullptr; }
int64_t* Storage::indptr() const noexcept { return extra_ ? extra_->indptr.get() : nullptr; }

// Of a device's sparse array the index lies on the host, where its tasks read it, and behind the values, for kernels.
void Storage::resize_sparse(int64_t count, int64_t item_bytes, int64_t indptr_count) {
  Extra& parts = extra();
  auto indices = std::make_unique_for_overwrite<int64_t[]>(static_cast<size_t>(count));
  auto indptr =
      indptr_count ? std::make_unique_for_overwrite<int64_t[]>(static_cast<size_t>(indptr_count)) : nullptr;
  free();
  const int64_t index_bytes =
      device_.is_host() ? 0 : (count + indptr_count) * static_cast<int64_t>(sizeof(int64_t));
  // Whole words, so that the index behind them is aligned.
  const int64_t value_bytes = device_.is_host() ? count * item_bytes : (count * item_bytes + 63) / 64 * 64;
  allocate_in_task(value_bytes + index_bytes);
  parts.count = count;
  parts.indices = std::move(indices);
  parts.indptr = std::move(indptr);
  describe({count, item_bytes}, DType::uint8);
}

}  // namespace loomix
