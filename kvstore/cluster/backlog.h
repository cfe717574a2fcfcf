// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "comm/buffer.h"

namespace loomix::kvstore {

// Bytes of pushes that came and are still in memory, since the engine has not got to them or others have to come before. Any thread.
class Backlog : public std::enable_shared_from_this<Backlog> {
 public:
  explicit Backlog(std::function<void()> on_less) : on_less_(std::move(on_less)) {}

  // The same bytes, which count until their last share is gone.
  comm::Buffer count(const comm::Buffer& bytes) {
    bytes_ += bytes.size();
    return comm::Buffer::borrow(bytes.bytes(), [self = shared_from_this(), bytes] {
      self->bytes_ -= bytes.size();
      if (self->wanted_.exchange(false) && self->on_less_) self->on_less_();
    });
  }
  size_t bytes() const { return bytes_; }
  // `on_less` is called once when there are fewer than the next look at bytes() shows.
  void tell_when_less() { wanted_ = true; }

 private:
  const std::function<void()> on_less_;
  std::atomic<size_t> bytes_{0};
  std::atomic<bool> wanted_{false};
};

}  // namespace loomix::kvstore
