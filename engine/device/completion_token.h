// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <exception>
#include <span>
#include <vector>

#include "base/ref_counted.h"
#include "engine/inline_function.h"
#include "engine/spin_lock.h"

namespace loomix::engine {

class DeviceQueue;

// Stands for all work put on a device queue up to some point. Device work of another queue waits for it on the device;
// hosts subscribe. Completed once, by the device's runtime.
class CompletionToken : public RefCounted {
 public:
  using Callback = InlineFunction<void(), 64>;

  explicit CompletionToken(DeviceQueue& queue) noexcept : queue_(&queue) {}
  DeviceQueue& queue() const noexcept { return *queue_; }
  bool done() const noexcept { return done_.load(std::memory_order_acquire); }
  // The device's error, once done; null if none.
  const std::exception_ptr& error() const noexcept { return error_; }

  // Calls `callback` when done, on a thread of the device's runtime. Returns false, and does nothing, if it already is.
  bool subscribe(Callback callback);
  void complete(std::exception_ptr error) noexcept;
  void wait();  // blocks the calling thread; throws nothing

 protected:
  // Asked for at the first subscription: makes sure that complete() will be called without a further push.
  virtual void watch() {}

 private:
  DeviceQueue* queue_;
  std::atomic<bool> done_{false};
  bool watched_ = false;
  SpinLock lock_;  // guards callbacks_, watched_ and the step to done
  std::vector<Callback> callbacks_;
  std::exception_ptr error_;
};

using TokenRef = Ref<CompletionToken>;

// The device work that a Var still waits for: its last writer's, and that of the readers since.
class TokenSet {
 public:
  // A writer's token takes the place of all others: its queue has waited for them.
  void set_writer(TokenRef token);
  // Of one queue only the last token is kept, as it covers the earlier ones.
  void add_reader(TokenRef token);
  // Work that has nothing to do with the data but still uses its memory: exclusive accesses wait for it.
  void add_pending(std::vector<TokenRef> tokens);
  void clear() noexcept;
  // Pending tokens that an access has to wait for; finished ones are dropped, unless they hold an error.
  void collect(bool exclusive, std::vector<TokenRef>& pending) const;
  bool pending(bool exclusive) const noexcept;
  const CompletionToken* failed_writer()
      const noexcept;  // null if there is none, or it is not done, or did not fail

 private:
  TokenRef writer_;
  std::vector<TokenRef> readers_;
};

}  // namespace loomix::engine
