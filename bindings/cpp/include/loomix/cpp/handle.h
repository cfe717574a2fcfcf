// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "loomix/c_api.h"

// Handles, devices and errors, which cpp.h and nn.h share.
namespace loomix::cpp {
inline namespace names {

// What the library says went wrong.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum DeviceType { kCPU = 1, kGPU = 2, kCPUPinned = 3 };
enum OpReqType {
  kNullOp = LOOMIX_NULL,
  kWriteTo = LOOMIX_WRITE,
  kWriteInplace = LOOMIX_WRITE_IN_PLACE,
  kAddTo = LOOMIX_ADD
};

class Context {
 public:
  Context(const DeviceType& type, int id) : type_(type), id_(id) {}
  static Context cpu(int id = 0) { return {kCPU, id}; }
  static Context gpu(int id = 0) { return {kGPU, id}; }
  DeviceType GetDeviceType() const { return type_; }
  int GetDeviceId() const { return id_; }
  friend bool operator==(const Context& a, const Context& b) { return a.type_ == b.type_ && a.id_ == b.id_; }

 private:
  DeviceType type_;
  int id_;
};

}  // namespace names

namespace detail {

inline void check(int code) {
  if (code != 0) throw Error(LoomixGetLastError());
}

// Shared ownership of a handle. What is done seldom is no part of its callers: handles are everywhere, and programs compile
// sooner.
struct OwnedHandle {
  explicit OwnedHandle(void* of) : raw(of) {}
  void* raw;
  std::atomic<long> users{1};
};
[[gnu::noinline]] inline OwnedHandle* own(void* raw) {
  if (!raw) return nullptr;
  try {
    return std::make_unique<OwnedHandle>(raw).release();
  } catch (...) {
    LoomixFree(raw);
    throw;
  }
}
[[gnu::noinline]] inline void disown(OwnedHandle* owned) {
  if (owned->users.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  LoomixFree(owned->raw);
  std::unique_ptr<OwnedHandle>{owned};
}

template <class Raw>
class Handle {
 public:
  Handle() = default;
  explicit Handle(Raw raw) : owned_(own(raw)) {}
  Handle(const Handle& other) noexcept : owned_(other.owned_) {
    if (owned_) owned_->users.fetch_add(1, std::memory_order_relaxed);
  }
  Handle(Handle&& other) noexcept : owned_(std::exchange(other.owned_, nullptr)) {}
  Handle& operator=(Handle other) noexcept {
    std::swap(owned_, other.owned_);
    return *this;
  }
  ~Handle() {
    if (owned_) disown(owned_);
  }
  Raw get() const { return owned_ ? static_cast<Raw>(owned_->raw) : nullptr; }
  explicit operator bool() const { return owned_ != nullptr; }

 private:
  OwnedHandle* owned_ = nullptr;
};

inline LoomixDevice to_c(const Context& context) {
  return {static_cast<int32_t>(context.GetDeviceType()), context.GetDeviceId()};
}

inline std::string text_of(const Context& context) {
  const char* const names[] = {"cpu", "gpu", "cpu_pinned"};
  return std::string(names[context.GetDeviceType() - 1]) + "(" + std::to_string(context.GetDeviceId()) + ")";
}

}  // namespace detail
}  // namespace loomix::cpp
