// SPDX-License-Identifier: Apache-2.0
#include "ops/cuda/report.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace loomix::cuda {
namespace {

// Words that nobody has now. They stay until the process ends: as many as there were operators in flight at once.
struct Words {
  std::mutex mutex;
  std::vector<int64_t*> free;

  static Words& get() {
    static Words* const words = new Words;  // NOLINT: tasks may end after static objects do
    return *words;
  }
};

// A thread for what may wait for memory, which a queue's own thread gives back. Whoever puts a job here is in flight, and so bounded.
class Continuations {
 public:
  static Continuations& get() {
    static Continuations* const all = new Continuations;  // NOLINT: as above
    return *all;
  }
  void put(std::function<void()> job) {
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back(std::move(job));
    }
    changed_.notify_one();
  }

 private:
  Continuations() {
    std::thread([this] { run(); }).detach();
  }
  void run() {
    for (;;) {
      std::function<void()> job;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return !jobs_.empty(); });
        job = std::move(jobs_.front());
        jobs_.pop_front();
      }
      job();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
};

}  // namespace

HostWord::HostWord() {
  Words& words = Words::get();
  const std::lock_guard lock(words.mutex);
  if (words.free.empty()) {
    constexpr size_t kAtOnce = 64;
    constexpr size_t kLine = 8;  // a cache line each, in words
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, kAtOnce * kLine * sizeof(int64_t), cudaHostAllocPortable), "pinned memory");
    for (size_t i = 0; i < kAtOnce; ++i) words.free.push_back(static_cast<int64_t*>(memory) + i * kLine);
  }
  word_ = words.free.back();
  words.free.pop_back();
  *word_ = 0;
}

HostWord::~HostWord() {
  if (word_ == nullptr) return;
  Words& words = Words::get();
  const std::lock_guard lock(words.mutex);
  words.free.push_back(word_);
}

void when_done(engine::DeviceQueue& queue, bool on_own_thread, Next next) {
  const engine::TokenRef token = queue.record();
  const auto shared =
      std::make_shared<Next>(std::move(next));  // `subscribe` lets go of what it does not take
  const auto go_on = [token, shared, on_own_thread, &queue] {
    if (!on_own_thread) return (*shared)(token->error());
    Continuations::get().put([token, shared, &queue] {
      queue.enter_thread();
      (*shared)(token->error());
    });
  };
  if (!token->subscribe(go_on)) go_on();
}

void go_on_when_done(const ops::KernelArgs& args, engine::Completion completion,
                     std::function<void(const ops::KernelArgs&)> next) {
  struct State {
    ops::KernelArgs args;
    engine::RunContext context;  // the one that was given is gone when the device is done
    engine::Completion completion;
    std::function<void(const ops::KernelArgs&)> next;
  };
  const auto state =
      std::make_shared<State>(State{args, *args.context, std::move(completion), std::move(next)});
  state->args.context = &state->context;
  const auto end = [state](std::exception_ptr error) {
    error ? state->completion.fail(std::move(error)) : state->completion.done();
  };
  engine::DeviceQueue& queue = *state->context.queue;
  when_done(queue, true, [state, end, &queue](std::exception_ptr error) {
    try {
      if (error) std::rethrow_exception(error);
      state->next(state->args);
      when_done(queue, false, end);
    } catch (...) {
      end(std::current_exception());
    }
  });
}

HostCopy::HostCopy(const TensorView& array) : bytes_(static_cast<size_t>(array.bytes())), view_(array) {
  view_.data = bytes_.data();
  if (bytes_.empty()) return;
  const cudaStream_t stream = nullptr;
  check(cudaMemcpyAsync(bytes_.data(), array.data, bytes_.size(), cudaMemcpyDeviceToHost, stream), "a copy");
  check(cudaStreamSynchronize(stream), "a copy");
}

}  // namespace loomix::cuda
