// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace loomix::engine {

class Trace;

// What records apart from the engine while a trace is on, and tells it later what it has.
class TraceSource {
 public:
  virtual void tell() = 0;                               // what has ended until now
  virtual void stop() = 0;                               // records no more, and tells all that it has
  virtual void forget(const Trace& trace) noexcept = 0;  // tells it nothing more

 protected:
  ~TraceSource() = default;
};

// Records when and where tasks ran, and writes them as Chrome trace JSON, which Perfetto opens. Off by default; while
// off it costs one relaxed load a task. Holds at most kLimit events; later ones are counted and dropped.
class Trace {
 public:
  static constexpr size_t kLimit = 4'000'000;

  Trace() = default;
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // Forgets earlier events. With `memory`, which tells bytes in use, each event has what was in use at its end.
  void start(std::function<int64_t()> memory = {});
  void stop();
  void resume();  // after stop(): goes on, and keeps what there is
  bool enabled() const noexcept { return enabled_.load(std::memory_order_relaxed); }
  // It is stopped together with the trace; at once, if that has stopped.
  void attach(TraceSource& source);

  // Nanoseconds on the trace's clock.
  static int64_t now() noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  // A task on `track` ("cpu(0) compute 1"); `category`: "task", "asynchronous", "issue" (of a device task; the device works later), or
  // what a device did itself: "device" (for a task), and within that "kernel", "copy" and "fill". It is told when it is done, so what began
  // before the trace is left out.
  void add(const std::string& track, std::string name, const char* category, int64_t begin_ns,
           int64_t end_ns);

  std::string to_json() const;
  void write(const std::string& path) const;  // throws FileError
  void lock_for_fork() noexcept { mutex_.lock(); }
  void unlock_after_fork() noexcept { mutex_.unlock(); }

 private:
  struct Event {
    int track;
    std::string name;
    const char* category;
    int64_t begin;
    int64_t end;
    int64_t memory;  // bytes in use; -1: not asked for
  };
  std::atomic<bool> enabled_{false};
  std::atomic<TraceSource*> source_{nullptr};
  mutable std::mutex mutex_;
  std::map<std::string, int> tracks_;
  std::vector<Event> events_;
  int64_t origin_ = 0;       // on the trace's clock
  int64_t unix_origin_ = 0;  // the same moment since 1970, to put traces of several machines together
  size_t dropped_ = 0;
  std::function<int64_t()> memory_;
};

}  // namespace loomix::engine
