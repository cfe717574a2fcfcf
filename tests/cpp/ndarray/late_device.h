// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "engine/device/device_runtime.h"
#include "engine/device/null_device.h"
#include "ndarray/ndarray.h"

namespace loomix::testing_arrays {

// A token for the null device's queues to wait for; the test completes it.
inline engine::TokenRef make_gate(engine::Engine& engine) {
  return make_ref<engine::CompletionToken>(*engine.device(Device::null(15)).queue(engine::Lane::compute));
}

// Pushes work that its queue comes to when `gate` is complete; other queues go on. The arrays live until it is issued,
// as an operator's do; it gets bare pointers.
inline void push_late(const NDArray& reads, const NDArray& writes, engine::Lane lane,
                      const engine::TokenRef& gate, engine::InlineFunction<void(), 64> work) {
  ArrayTags tags;
  tags.read(reads);
  tags.write(writes);
  engine::TaskInfo info;
  info.device = writes.device();
  info.lane = lane;
  struct Issue {
    NDArray reads;
    NDArray writes;
    engine::TokenRef gate;
    engine::InlineFunction<void(), 64> work;
  };
  auto issue = std::make_shared<Issue>(Issue{reads, writes, gate, std::move(work)});
  writes.engine().push(std::move(info), tags.tags(), [issue](engine::RunContext& context) {
    context.queue->wait_for(*issue->gate);
    static_cast<engine::NullQueue&>(*context.queue).enqueue(std::move(issue->work));
  });
}

// Opens gates one after the other, each a little later.
class GateKeeper {
 public:
  explicit GateKeeper(engine::Engine& engine) : engine_(engine), thread_([this] { run(); }) {}
  ~GateKeeper() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  engine::TokenRef next() {
    const std::lock_guard lock(mutex_);
    gates_.push_back(make_gate(engine_));
    changed_.notify_all();
    return gates_.back();
  }

 private:
  void run() {
    for (std::unique_lock lock(mutex_);;) {
      changed_.wait(lock, [this] { return stopping_ || !gates_.empty(); });
      if (gates_.empty()) return;
      const engine::TokenRef gate = gates_.front();
      gates_.pop_front();
      lock.unlock();
      std::this_thread::sleep_for(std::chrono::microseconds(500));
      gate->complete(nullptr);
      lock.lock();
    }
  }

  engine::Engine& engine_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<engine::TokenRef> gates_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace loomix::testing_arrays
