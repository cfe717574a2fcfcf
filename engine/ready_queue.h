// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/spin_lock.h"
#include "engine/task.h"

namespace loomix::engine {

// What a test counts: which cache lines the queues touch.
struct NoProbe {
  static void read(const void*) noexcept {}
  static void write(const void*) noexcept {}  // locks, too
};

// The ready tasks of default priority of one worker: an inbox, into which any thread pushes without a lock, and a ring,
// oldest first. The owner moves the inbox into the ring from time to time; others take from both when they have nothing.
//
// The inbox is an array of cells: a producer claims the next position and then fills its cell, whose `turn` says for which
// position it is filled. Nobody follows pointers through tasks that lie in another core's cache, and whoever empties the
// inbox sees far ahead which tasks to fetch. A producer that finds it full empties it itself.
//
// A worker may run a task's first successor past the ring, which `passes` counts. Each task in the ring notes that count,
// and once the oldest has been passed by `most_passes` no more successors pass until it has had its turn.
template <class Probe = NoProbe>
class alignas(64) ReadyQueue {
 public:
  static constexpr uint32_t kMostStolen = 64;

  // From any thread.
  void push(Task* task) {
    uint32_t position = claimed_.load(std::memory_order_relaxed);
    for (;;) {
      Cell& cell = cells_[position % kCells];
      const auto ahead = static_cast<int32_t>(cell.turn.load(std::memory_order_acquire) - position);
      if (ahead == 0) {
        Probe::write(&claimed_);
        if (!claimed_.compare_exchange_weak(position, position + 1, std::memory_order_seq_cst,
                                            std::memory_order_relaxed))
          continue;
        Probe::write(&cell);
        cell.task = task;
        cell.turn.store(position + 1, std::memory_order_release);
        return;
      }
      if (ahead < 0) return push_over(task);
      position = claimed_.load(std::memory_order_relaxed);
    }
  }
  // What is claimed counts, though it may still be on its way.
  bool empty() const noexcept {
    Probe::read(&size_);
    return inbox_empty() && size_.load(std::memory_order_seq_cst) == 0;  // in the order in which tasks go
  }
  uint32_t size() const noexcept {
    Probe::read(&size_);
    return size_.load(std::memory_order_relaxed);
  }
  // Tasks that its owner has taken; others see by it whether that goes on.
  uint32_t taken() const noexcept { return taken_.load(std::memory_order_relaxed); }

  // The owner's: to the end of the ring.
  void push_own(Task* task) {
    Probe::write(&lock_);
    const std::lock_guard guard(lock_);
    append(task);
    size_.store(size_.load(std::memory_order_relaxed),
                std::memory_order_seq_cst);  // published before anybody looks for sleepers
  }
  // The owner's: the oldest of the ring, else of the inbox; null if there is none.
  Task* pop() {
    if (size_.load(std::memory_order_relaxed) == 0 && inbox_empty()) return nullptr;
    Probe::write(&lock_);
    const std::lock_guard guard(lock_);
    if (size_.load(std::memory_order_relaxed) == 0) drain();
    if (size_.load(std::memory_order_relaxed) == 0) return nullptr;
    const Entry entry = take_first();
    oldest_ = entry.passes;
    taken_.store(taken_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    fetch_ahead();
    return entry.task;
  }
  // The owner's: whether one more successor may run at once. If so it counts.
  bool pass(uint32_t most_passes) noexcept {
    const uint32_t passes = passes_.load(std::memory_order_relaxed);
    if (passes - oldest_ >= most_passes && size_.load(std::memory_order_relaxed) > 0) return false;
    passes_.store(passes + 1, std::memory_order_relaxed);
    return true;
  }

  // Puts what is in the inbox into the ring.
  void open() {
    if (inbox_empty()) return;
    Probe::write(&lock_);
    const std::lock_guard guard(lock_);
    drain();
    publish();
  }
  // Moves the older half of another's tasks, at most `most`, to the end of this ring. The owner's; false if there was
  // nothing.
  bool steal_from(ReadyQueue& victim, uint32_t most) {
    Task* taken[kMostStolen];
    const uint32_t count = victim.give(taken, std::min(most, kMostStolen));
    if (count == 0) return false;
    Probe::write(&lock_);
    const std::lock_guard guard(lock_);
    for (uint32_t i = 0; i < count; ++i) append(taken[i]);
    publish();
    return true;
  }
  // The oldest, if it may run on a foreign thread; else null.
  Task* pop_for_guest() {
    if (empty()) return nullptr;
    Probe::write(&lock_);
    const std::lock_guard guard(lock_);
    if (size_.load(std::memory_order_relaxed) == 0) drain();
    if (size_.load(std::memory_order_relaxed) == 0 || !(ring_[head_].task->flags & kMayInline))
      return nullptr;
    return take_first().task;
  }

 private:
  struct Entry {
    Task* task;
    uint32_t passes;  // when it came
  };

  void append(Task* task) {
    const uint32_t count = size_.load(std::memory_order_relaxed);
    if (count == ring_.size()) {
      std::rotate(ring_.begin(), ring_.begin() + head_, ring_.end());
      head_ = 0;
      ring_.resize(ring_.size() * 2);
    }
    ring_[(head_ + count) & (ring_.size() - 1)] = {task, passes_.load(std::memory_order_relaxed)};
    size_.store(count + 1, std::memory_order_relaxed);
  }
  void publish() noexcept { size_.store(size_.load(std::memory_order_relaxed), std::memory_order_seq_cst); }
  Entry take_first() noexcept {
    const Entry entry = ring_[head_];
    head_ = (head_ + 1) & static_cast<uint32_t>(ring_.size() - 1);
    size_.store(size_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    return entry;
  }
  struct Cell;
  static std::unique_ptr<Cell[]> make_cells() {
    auto cells = std::make_unique<Cell[]>(kCells);
    for (uint32_t i = 0; i < kCells; ++i) cells[i].turn.store(i, std::memory_order_relaxed);
    return cells;
  }
  bool inbox_empty() const noexcept {
    Probe::read(&claimed_);
    return claimed_.load(std::memory_order_seq_cst) == emptied_.load(std::memory_order_acquire);
  }
  // Moves what has arrived in the inbox to the ring. Caller holds the lock.
  void drain() {
    uint32_t position = emptied_.load(std::memory_order_relaxed);
    for (;; ++position) {
      Cell& cell = cells_[position % kCells];
      Probe::read(&cell);
      if (cell.turn.load(std::memory_order_acquire) != position + 1) break;
      append(cell.task);
      cell.turn.store(position + kCells, std::memory_order_release);
    }
    emptied_.store(position, std::memory_order_release);
  }
  // The inbox is full: all of it goes to the ring, and the task behind it.
  void push_over(Task* task) {
    Probe::write(&lock_);
    const std::lock_guard guard(lock_);
    drain();
    append(task);
    publish();
  }
  // The older half, at most `most`.
  uint32_t give(Task** taken, uint32_t most) {
    if (empty() || !lock_.try_lock()) return 0;
    Probe::write(&lock_);
    const std::lock_guard guard(lock_, std::adopt_lock);
    drain();
    const uint32_t count = std::min((size_.load(std::memory_order_relaxed) + 1) / 2, most);
    for (uint32_t i = 0; i < count; ++i) taken[i] = take_first().task;
    publish();
    return count;
  }
  // Tasks were last touched by other cores: brings what comes soon, and the first Var of what comes sooner.
  void fetch_ahead() const noexcept {
    constexpr uint32_t kSoon = 4, kSooner = 2;
    const uint32_t count = size_.load(std::memory_order_relaxed);
    const uint32_t mask = static_cast<uint32_t>(ring_.size() - 1);
    if (count > kSoon) {
      const char* const task = reinterpret_cast<const char*>(ring_[(head_ + kSoon) & mask].task);
      __builtin_prefetch(task, 1);
      __builtin_prefetch(task + 128, 1);
    }
    if (count > kSooner) {
      const Task& task = *ring_[(head_ + kSooner) & mask].task;
      if (task.inline_count > 0 && !(task.flags & kWideNodes))
        __builtin_prefetch(&task.inline_nodes[0].var(), 1);
    }
  }

  struct Cell {
    std::atomic<uint32_t> turn;
    Task* task;
  };
  static constexpr uint32_t kCells = 1024;  // divides 2^32

  SpinLock lock_;  // guards ring_ and head_; size_ is written under it
  uint32_t head_ = 0;
  std::atomic<uint32_t> size_{0};
  std::atomic<uint32_t> passes_{0};  // written by the owner
  uint32_t oldest_ = 0;  // the owner's: `passes` of what it took last, so none in the ring is older
  std::atomic<uint32_t> taken_{0};                     // written by the owner
  std::vector<Entry> ring_ = std::vector<Entry>(256);  // a power of two
  std::atomic<uint32_t> emptied_{0};  // position of the inbox up to which it was moved; under the lock
  const std::unique_ptr<Cell[]> cells_ = make_cells();
  alignas(64) std::atomic<uint32_t> claimed_{0};  // the next position for a producer
};

// The ready queues of a pool's workers, who are in groups of neighbours: those who have nothing look there first.
template <class Probe = NoProbe>
class ReadyQueues {
 public:
  static constexpr int kTurn = 64;     // tasks that a worker runs before it looks beyond its ring
  static constexpr int kRescues = 16;  // parts that are taken from a worker that does not go on

  // `groups`: the first worker of each group, and at the end how many there are.
  explicit ReadyQueues(std::vector<int> groups)
      : groups_(std::move(groups)),
        workers_(groups_.back()),
        queues_(std::make_unique<Slot[]>(static_cast<size_t>(workers_))),
        most_passes_(static_cast<uint32_t>(std::max(64, 512 / workers_))) {
    for (int group = 0; group + 1 < static_cast<int>(groups_.size()); ++group) {
      for (int i = groups_[static_cast<size_t>(group)]; i < groups_[static_cast<size_t>(group) + 1]; ++i) {
        at(i).group = group;
        at(i).next_watched = i;
        at(i).random = static_cast<uint32_t>(i + 1) * 2654435761u;
      }
    }
  }
  int workers() const noexcept { return workers_; }
  int group_of(int worker) const noexcept { return slot(worker).group; }

  // From a thread that is no worker of the pool: some tasks for one worker, then some for the next. Returns whose.
  int push(uint32_t& cursor, Task* task) noexcept {
    const int worker = static_cast<int>(cursor++ / kTurn % static_cast<uint32_t>(workers_));
    at(worker).queue.push(task);
    return worker;
  }
  void push_own(int worker, Task* task) { at(worker).queue.push_own(task); }
  bool pass(int worker) noexcept { return at(worker).queue.pass(most_passes_); }
  Task* pop(int worker) { return at(worker).queue.pop(); }
  bool has_more(int worker) const noexcept { return !slot(worker).queue.empty(); }

  // After each task of a worker that goes on: every kTurn tasks it opens its inbox, and relieves another worker that takes
  // nothing, or has much more than it has itself.
  void ran(int worker, int tasks) {
    Slot& own = at(worker);
    own.since_turn += tasks;
    if (own.since_turn < kTurn) return;
    own.since_turn = 0;
    own.queue.open();
    if (workers_ > 1) relieve(worker);
  }
  // Something from others: first from the neighbours, then from the rest, each beginning anywhere.
  Task* steal(int worker) {
    Slot& own = at(worker);
    const int begin = groups_[static_cast<size_t>(own.group)];
    const int end = groups_[static_cast<size_t>(own.group) + 1];
    if (steal_among(own, begin, end - begin)) return own.queue.pop();
    if (end - begin == workers_) return nullptr;
    return steal_among(own, end, workers_ - (end - begin)) ? own.queue.pop() : nullptr;
  }
  Task* pop_for_guest(uint32_t first) {
    for (uint32_t i = 0; i < static_cast<uint32_t>(workers_); ++i) {
      if (Task* const task =
              at(static_cast<int>((first + i) % static_cast<uint32_t>(workers_))).queue.pop_for_guest())
        return task;
    }
    return nullptr;
  }
  bool empty() const noexcept {
    for (int i = 0; i < workers_; ++i) {
      if (!slot(i).queue.empty()) return false;
    }
    return true;
  }

 private:
  struct alignas(64) Slot {
    ReadyQueue<Probe> queue;
    int group = 0;
    int since_turn = 0;
    uint32_t random = 1;
    int next_watched = 0;
    int watched = -1;  // whom it looked at last, to see once more; and how many tasks that one had taken then
    uint32_t watched_taken = 0;
  };
  Slot& at(int worker) noexcept { return queues_[static_cast<size_t>(worker)]; }
  const Slot& slot(int worker) const noexcept { return queues_[static_cast<size_t>(worker)]; }
  static uint32_t next_random(Slot& own) noexcept {
    own.random ^= own.random << 13;
    own.random ^= own.random >> 17;
    own.random ^= own.random << 5;
    return own.random;
  }

  // Among `count` workers from `first` on, round the end.
  bool steal_among(Slot& own, int first, int count) {
    const uint32_t start = next_random(own) % static_cast<uint32_t>(count);
    for (int i = 0; i < count; ++i) {
      Slot& victim = at((first + (static_cast<int>(start) + i) % count) % workers_);
      if (&victim != &own && own.queue.steal_from(victim.queue, UINT32_MAX)) return true;
    }
    return false;
  }
  void relieve(int worker) {
    Slot& own = at(worker);
    const bool again = own.watched >= 0;
    if (!again) {
      own.next_watched = (own.next_watched + 1) % workers_;
      if (own.next_watched == worker) own.next_watched = (worker + 1) % workers_;
      own.watched = own.next_watched;
    }
    ReadyQueue<Probe>& other = at(own.watched).queue;
    const uint32_t size = other.size();
    const uint32_t taken = other.taken();
    const bool stuck = again && taken == own.watched_taken;
    own.watched_taken = taken;
    if (stuck) {
      for (int i = 0; i < kRescues && own.queue.steal_from(other, UINT32_MAX); ++i) {}
      own.watched = -1;
    } else if (const uint32_t mine = own.queue.size(); size > 2 * mine + kTurn) {
      own.queue.steal_from(other, (size - mine) / 2);
    } else if (again) {
      own.watched = -1;
    }
  }

  const std::vector<int> groups_;
  const int workers_;
  const std::unique_ptr<Slot[]> queues_;
  const uint32_t most_passes_;
};

}  // namespace loomix::engine
