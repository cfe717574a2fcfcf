// SPDX-License-Identifier: Apache-2.0
//
// Copies from memory of the caller's. The caller waits; a signal may end that while the task has still to come.
#include <cstring>
#include <memory>
#include <mutex>
#include <new>

#include "engine/parallel_for.h"
#include "ndarray/copy.h"
#include "ndarray/ndarray.h"

namespace loomix {
namespace {

constexpr int64_t kParallelBytes = 1 << 18;  // smaller pieces are not worth a thread

// Bytes of the caller's, for a task on the host. A caller who leaves early has them kept here.
class HostSource final : public RefCounted {
 public:
  HostSource(const void* data, int64_t bytes) : data_(static_cast<const std::byte*>(data)), bytes_(bytes) {}

  void read(engine::RunContext& context, std::byte* destination) {
    const std::lock_guard lock(mutex_);
    LOOMIX_CHECK(data_ != nullptr || bytes_ == 0, MemoryError,
                 "[copy_from_host] a copy of {} bytes was interrupted, and there was no memory to keep them.",
                 bytes_);
    engine::parallel_for(context, bytes_, kParallelBytes, [&](int64_t begin, int64_t end) {
      std::memcpy(destination + begin, data_ + begin, static_cast<size_t>(end - begin));
    });
    was_read_ = true;
  }
  void keep() noexcept {
    const std::lock_guard lock(mutex_);
    if (was_read_) return;
    kept_.reset(new (std::nothrow) std::byte[static_cast<size_t>(bytes_)]);
    if (kept_) std::memcpy(kept_.get(), data_, static_cast<size_t>(bytes_));
    data_ = kept_.get();
  }

 private:
  std::mutex mutex_;  // guards the rest
  const std::byte* data_;
  const int64_t bytes_;
  bool was_read_ = false;
  std::unique_ptr<std::byte[]> kept_;
};

const char* name_copy(const void*) { return "copy_from_host"; }

void copy_on_host(const NDArray& array, const void* data, int64_t bytes) {
  const auto source = make_ref<HostSource>(data, bytes);
  engine::TaskInfo info;
  info.device = array.device();
  info.cost_ns = move_cost_ns(2 * bytes);
  info.max_cores = bytes > 2 * kParallelBytes ? 255 : 1;
  info.describe.name = name_copy;
  ArrayTags tags;
  tags.write(array);
  array.engine().push(
      std::move(info), tags.tags(),
      [source, storage = array.storage_ref(), offset = array.offset()](engine::RunContext& context) {
        source->read(context, static_cast<std::byte*>(storage->data()) + offset);
      });
  try {
    array.wait_to_read();
  } catch (const Interrupted&) {
    source->keep();
    throw;
  }
}

// A device reads the caller's memory itself, at its own time: that cannot be taken back, so the wait goes on.
void copy_to_device(const NDArray& array, const void* data, int64_t bytes) {
  const NDArray source(
      make_ref<Storage>(array.engine(), const_cast<void*>(data), bytes, Device::cpu(), nullptr),
      array.shape(), array.dtype());
  copy(source, array);
  bool interrupted = false;
  for (bool reads = true; reads;) {
    try {
      source.wait_to_write();
      reads = false;
    } catch (const Interrupted&) {
      interrupted = true;
    }
  }
  LOOMIX_CHECK(!interrupted, Interrupted, "[copy_from_host] a copy was interrupted by a signal.");
  array.wait_to_read();
}

}  // namespace

void NDArray::copy_from_host(const void* data, int64_t bytes) {
  LOOMIX_CHECK(is_dense(), TypeError, "[copy_from_host] the array's storage is {}; expected a dense one.",
               name_of(stype()));
  LOOMIX_CHECK(bytes == this->bytes(), ShapeError, "[copy_from_host] {} bytes were given for an array of {}.",
               bytes, this->bytes());
  device().is_host() ? copy_on_host(*this, data, bytes) : copy_to_device(*this, data, bytes);
}

}  // namespace loomix
