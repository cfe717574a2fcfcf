// SPDX-License-Identifier: Apache-2.0
//
// One queue, one mutex: jobs are few and long. A job is taken by an idle thread, or by a new one while fewer than `most` jobs
// run. A job that waits in the engine (Blocked says so) does not count, since what it waits for may be a job of this queue;
// so whoever begins to wait starts a thread for what is queued. Jobs of a strand that has one running are passed over. A
// thread that finds nothing to do stays if few are idle, else it ends. Threads are detached and share the state with
// their owner, who waits at the end until no job runs; in the child of a fork the state is made anew.
#include "engine/side_threads.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace loomix::engine {

namespace {
constexpr int kMostIdle = 2;
}  // namespace

struct SideThreads::Shared : std::enable_shared_from_this<SideThreads::Shared> {
  explicit Shared(int most_running) : most(most_running) {}

  const int most;
  std::mutex mutex;  // guards all below
  std::condition_variable came, ended;
  std::deque<Item> queue;
  int threads = 0;  // of which `idle` sleep, or are about to take what woke them
  int idle = 0;
  int waiting = 0;  // run jobs that wait
  bool stopping = false;
};

SideThreads::SideThreads(int most) : most_(std::max(most, 1)), shared_(std::make_shared<Shared>(most_)) {}

SideThreads::~SideThreads() {
  if (shared_) stop();
}

void SideThreads::stop() noexcept {
  std::unique_lock lock(shared_->mutex);
  shared_->stopping = true;
  shared_->came.notify_all();
  shared_->ended.wait(lock, [this] { return shared_->threads == 0; });
}

void SideThreads::run(Job job, Ref<Strand> strand) {
  const std::lock_guard lock(shared_->mutex);
  shared_->queue.push_back({std::move(job), std::move(strand)});
  start_if_needed(*shared_);
}

// With the mutex. Wakes a thread for the queue, or starts one. One that a strand holds up finds nothing and sleeps again.
void SideThreads::start_if_needed(Shared& shared) {
  if (shared.queue.empty()) return;
  if (shared.idle > 0) {
    shared.came.notify_one();
    return;
  }
  if (shared.threads - shared.waiting >= shared.most) return;
  try {
    std::thread([self = shared.shared_from_this()] { work(self); }).detach();
    ++shared.threads;
  } catch (const std::system_error&) {
    if (shared.threads == 0) throw;  // else one of those that run takes the job later
  }
}

// With the mutex: the first job whose strand is free.
bool SideThreads::take(Shared& shared, Item& item) {
  const auto found = std::find_if(shared.queue.begin(), shared.queue.end(), [](const Item& waiting) {
    return !waiting.strand || !waiting.strand->busy_;
  });
  if (found == shared.queue.end()) return false;
  item = std::move(*found);
  shared.queue.erase(found);
  if (item.strand) item.strand->busy_ = true;
  return true;
}

void SideThreads::work(const std::shared_ptr<Shared>& shared) noexcept {
  t_shared_ = shared.get();
  std::unique_lock lock(shared->mutex);
  Item item;
  for (;;) {
    if (take(*shared, item)) {
      start_if_needed(*shared);  // for what is behind it
      lock.unlock();
      item.job();
      item.job.reset();
      lock.lock();
      if (item.strand) item.strand->busy_ = false;
      item.strand.reset();
      continue;
    }
    if (shared->stopping || shared->idle >= kMostIdle) break;
    ++shared->idle;
    shared->came.wait(lock);
    --shared->idle;
  }
  t_shared_ = nullptr;
  if (--shared->threads == 0) shared->ended.notify_all();
}

void SideThreads::note_wait(int change) noexcept {
  const std::lock_guard lock(t_shared_->mutex);
  t_shared_->waiting += change;
  if (change <= 0) return;
  try {
    start_if_needed(*t_shared_);
  } catch (const std::system_error&) {  // unreachable: this thread is one
  }
}

void SideThreads::lock_for_fork() noexcept { shared_->mutex.lock(); }
void SideThreads::unlock_after_fork() noexcept { shared_->mutex.unlock(); }

// The old state is left as it is: threads of the parent may be waiting in it.
void SideThreads::forget_threads() noexcept {
  static_cast<void>(new std::shared_ptr<Shared>(std::move(shared_)));
  shared_ = std::make_shared<Shared>(most_);
}

}  // namespace loomix::engine
