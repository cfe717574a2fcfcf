// SPDX-License-Identifier: Apache-2.0
//
// One thread plays the device: it picks a random queue whose head is not blocked by a token, now and then naps, and runs
// that head. The mutex guards all queues; work and completions run outside it.
#include "engine/device/null_device.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"

namespace loomix::engine {
namespace {

struct Item {
  InlineFunction<void(), 64> work;  // or:
  TokenRef blocked_by;              // or:
  TokenRef completes;
};

class NullRuntime;

class Queue final : public NullQueue {
 public:
  explicit Queue(NullRuntime& runtime) : runtime_(runtime) {}
  Device device() const override;
  void* native() override { return this; }
  void enqueue(InlineFunction<void(), 64> work) override { put({std::move(work), {}, {}}); }
  void wait_for(CompletionToken& token) override {
    if (&token.queue() != this && !token.done()) put({{}, TokenRef(&token), {}});
  }
  TokenRef record() override {
    TokenRef token = make_ref<CompletionToken>(*this);
    put({{}, {}, token});
    return token;
  }
  void copy(void* to, const void* from, size_t bytes) override {
    enqueue([=] { std::memcpy(to, from, bytes); });
  }
  void fill(void* to, unsigned char byte, size_t bytes) override {
    enqueue([=] { std::memset(to, byte, bytes); });
  }
  Ref<RecordedWork> record_work(const IssueParts&) override { return {}; }
  std::unique_ptr<Branches> branches(int) override { return {}; }

  // On the device's thread.
  void run(InlineFunction<void(), 64>& work) noexcept {
    try {
      work();
    } catch (...) {
      if (!error) error = std::current_exception();
    }
  }

  std::deque<Item> items;    // guarded by the runtime's mutex
  std::exception_ptr error;  // of work since the last token; of the device's thread

 private:
  void put(Item item);
  NullRuntime& runtime_;
};

class NullRuntime final : public DeviceRuntime {
 public:
  NullRuntime(Device device, const EngineOptions& options)
      : device_(device), memory_(device.to_string(), make_host_source(), {.held = options.pool_bytes}) {}
  ~NullRuntime() override {
    {
      const std::lock_guard lock(mutex);
      stopping_ = true;
    }
    changed.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  Device device() const override { return device_; }
  DeviceTraits traits() const noexcept override { return {}; }
  DeviceQueue* queue(Lane lane) override {
    const std::lock_guard lock(mutex);
    auto& queue = queues_[lane];
    if (!queue) queue = std::make_unique<Queue>(*this);
    if (!thread_.joinable()) thread_ = std::thread([this] { play(); });
    return queue.get();
  }
  MemoryPool& memory(MemoryKind) override { return memory_; }
  std::vector<MemoryPool*> pools() override { return {&memory_}; }
  void copy_now(void* to, const void* from, size_t bytes) override { std::memmove(to, from, bytes); }
  void synchronize() override {
    std::vector<TokenRef> tokens;
    {
      const std::lock_guard lock(mutex);
      for (auto& [lane, queue] : queues_) {
        tokens.push_back(make_ref<CompletionToken>(*queue));
        queue->items.push_back({{}, {}, tokens.back()});
      }
    }
    changed.notify_all();
    for (const TokenRef& token : tokens) token->wait();
  }

  std::mutex mutex;
  std::condition_variable changed;

 private:
  void play() {
    std::mt19937 random(static_cast<uint32_t>(device_.id) + 1);
    std::unique_lock lock(mutex);
    for (;;) {
      std::vector<Queue*> runnable;
      bool blocked = false;
      for (auto& [lane, queue] : queues_) {
        while (!queue->items.empty() && queue->items.front().blocked_by &&
               queue->items.front().blocked_by->done()) {
          queue->items.pop_front();
        }
        if (queue->items.empty()) continue;
        if (queue->items.front().blocked_by) {
          blocked = true;
        } else {
          runnable.push_back(queue.get());
        }
      }
      if (runnable.empty()) {
        if (stopping_) return;
        if (blocked) {
          changed.wait_for(lock, std::chrono::microseconds(50));  // for a token of another device
        } else {
          changed.wait(lock);
        }
        continue;
      }
      Queue& queue = *runnable[random() % runnable.size()];
      Item item = std::move(queue.items.front());
      queue.items.pop_front();
      lock.unlock();
      if (random() % 64 == 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
      if (item.work) queue.run(item.work);
      if (item.completes) item.completes->complete(std::exchange(queue.error, nullptr));
      item = {};
      lock.lock();
    }
  }

  const Device device_;
  MemoryPool memory_;
  std::map<Lane, std::unique_ptr<Queue>> queues_;
  bool stopping_ = false;
  std::thread thread_;
};

Device Queue::device() const { return runtime_.device(); }

void Queue::put(Item item) {
  {
    const std::lock_guard lock(runtime_.mutex);
    items.push_back(std::move(item));
  }
  runtime_.changed.notify_all();
}

}  // namespace

std::unique_ptr<DeviceRuntime> make_null_runtime(Device device, const EngineOptions& options) {
  return std::make_unique<NullRuntime>(device, options);
}

}  // namespace loomix::engine
