// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#if !defined(LOOMIX_PREDICT_THREADS)
#if defined(__wasm__) && !defined(__EMSCRIPTEN_PTHREADS__)
#define LOOMIX_PREDICT_THREADS 0
#else
#define LOOMIX_PREDICT_THREADS 1
#endif
#endif

#if LOOMIX_PREDICT_THREADS
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>
#endif

// The threads of parallel_for. Without LOOMIX_PREDICT_THREADS there is only the caller.
namespace loomix::engine {

class Team {
 public:
  // Calls run(body, part) for every part in [0, parts), on the caller and at most `helpers` others; returns when all are done.
  void run(int helpers, int64_t parts, void (*run)(void* body, int64_t part), void* body);
  static int machine_cores();
#if LOOMIX_PREDICT_THREADS
  ~Team();

 private:
  struct Job {
    void (*run)(void* body, int64_t part);
    void* body;
    int64_t parts;
    std::atomic<int64_t> next{0};
    int welcome;      // further helpers; under the lock
    int helping = 0;  // those inside; under the lock
  };
  void help();
  static void work(Job& job);

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::vector<std::thread> threads_;
  std::vector<Job*> jobs_;
  std::atomic<int> offered_{0};
  bool stopping_ = false;
#endif
};

}  // namespace loomix::engine
