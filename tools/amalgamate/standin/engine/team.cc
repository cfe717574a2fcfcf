// SPDX-License-Identifier: Apache-2.0
#include "engine/team.h"

#if LOOMIX_PREDICT_THREADS
#include <algorithm>
#endif

// A job lies on its caller's stack. It is listed while helpers are welcome; the caller takes it off the list, and waits until nobody
// is inside. Threads look for a listed job for a while before they sleep, since a network's loops follow each other closely.
namespace loomix::engine {
namespace {

[[maybe_unused]] thread_local bool inside = false;  // of a part: loops in it run on the thread itself

[[maybe_unused]] constexpr int kLooks = 2000;  // before a thread sleeps

}  // namespace

#if LOOMIX_PREDICT_THREADS

int Team::machine_cores() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

void Team::work(Job& job) {
  inside = true;
  for (int64_t part = job.next++; part < job.parts; part = job.next++) job.run(job.body, part);
  inside = false;
}

void Team::run(int helpers, int64_t parts, void (*run)(void* body, int64_t part), void* body) {
  if (helpers < 1 || parts < 2 || inside) {
    for (int64_t part = 0; part < parts; ++part) run(body, part);
    return;
  }
  Job job{run, body, parts, {0}, static_cast<int>(std::min<int64_t>(helpers, parts - 1))};
  {
    const std::lock_guard lock(mutex_);
    while (static_cast<int>(threads_.size()) < helpers) threads_.emplace_back([this] { help(); });
    jobs_.push_back(&job);
    ++offered_;
  }
  wake_.notify_all();
  work(job);
  std::unique_lock lock(mutex_);
  std::erase(jobs_, &job);
  --offered_;
  done_.wait(lock, [&] { return job.helping == 0; });
}

void Team::help() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const auto found = std::find_if(jobs_.begin(), jobs_.end(), [](Job* job) { return job->welcome > 0; });
    if (found == jobs_.end()) {
      lock.unlock();
      for (int look = 0; look < kLooks && offered_ == 0; ++look) std::this_thread::yield();
      lock.lock();
      if (offered_ == 0 && !stopping_) wake_.wait(lock);
      else if (std::none_of(jobs_.begin(), jobs_.end(), [](Job* job) { return job->welcome > 0; }) &&
               !stopping_)
        wake_.wait(lock);
      continue;
    }
    Job& job = **found;
    --job.welcome;
    ++job.helping;
    lock.unlock();
    work(job);
    lock.lock();
    if (--job.helping == 0) done_.notify_all();
  }
}

Team::~Team() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

#else

int Team::machine_cores() { return 1; }

void Team::run(int, int64_t parts, void (*run)(void* body, int64_t part), void* body) {
  for (int64_t part = 0; part < parts; ++part) run(body, part);
}

#endif

}  // namespace loomix::engine
