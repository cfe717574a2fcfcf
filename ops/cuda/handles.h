// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

// Handles of NVIDIA's libraries: each belongs to a device and a stream, is made at its first use and kept.
namespace loomix::cuda {

// `Handle` is made by Handle(stream) with the device current. A call has the handle to itself: libraries want that.
template <class Handle>
class Handles {
 public:
  template <class Fn>
  void with(cudaStream_t stream, Fn&& fn) {
    Entry& entry = of(stream);
    const std::lock_guard lock(entry.mutex);
    fn(*entry.handle);
  }

 private:
  struct Entry {
    std::pair<int, cudaStream_t> key;
    std::unique_ptr<Handle> handle;
    std::mutex mutex;
  };
  Entry& of(cudaStream_t stream) {
    int device = 0;
    cudaGetDevice(&device);
    const std::lock_guard lock(mutex_);
    const std::pair key(device, stream);
    for (const auto& entry : entries_) {
      if (entry->key == key) return *entry;
    }
    auto entry = std::make_unique<Entry>();
    entry->key = key;
    entry->handle = std::make_unique<Handle>(stream);
    return *entries_.emplace_back(std::move(entry));
  }
  std::mutex mutex_;
  std::vector<std::unique_ptr<Entry>> entries_;  // as many as an engine has streams: a few
};

// The handles of the process. They are not destroyed: at exit the libraries may be gone before them.
template <class Handle>
Handles<Handle>& handles() {
  static auto& all = *new Handles<Handle>;
  return all;
}

}  // namespace loomix::cuda
