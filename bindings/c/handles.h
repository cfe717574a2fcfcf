// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

#include "base/error.h"

namespace loomix::c {

// A number that no other handle of any kind ever has.
inline uintptr_t new_handle() {
  static std::atomic<uintptr_t> last{0};
  return ++last;
}

// Objects that C knows by handles. A handle is a number, not an address, and never given twice, so one that was freed is found
// out. Any thread may call; an object that is freed while another thread uses it lives until that is done.
template <class T>
class Handles {
 public:
  explicit Handles(const char* kind) : kind_(kind) {}

  void* add(std::shared_ptr<T> object) {
    const std::unique_lock lock(mutex_);
    const uintptr_t handle = new_handle();
    objects_.emplace(handle, std::move(object));
    return reinterpret_cast<void*>(handle);
  }
  std::shared_ptr<T> at(void* handle) const {
    const std::shared_lock lock(mutex_);
    const auto found = objects_.find(reinterpret_cast<uintptr_t>(handle));
    check(found != objects_.end(), handle);
    return found->second;
  }
  void remove(void* handle) {
    std::shared_ptr<T> last;  // ends after the lock does
    const std::unique_lock lock(mutex_);
    const auto found = objects_.find(reinterpret_cast<uintptr_t>(handle));
    check(found != objects_.end(), handle);
    last = std::move(found->second);
    objects_.erase(found);
  }

 private:
  void check(bool found, void* handle) const {
    LOOMIX_CHECK(handle != nullptr, ValueError, "[{}] the handle is null.", kind_);
    LOOMIX_CHECK(found, ValueError, "[{}] there is no such handle; it was freed, or is none of these.",
                 kind_);
  }

  const char* kind_;
  mutable std::shared_mutex mutex_;
  std::unordered_map<uintptr_t, std::shared_ptr<T>> objects_;
};

}  // namespace loomix::c
