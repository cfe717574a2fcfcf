// SPDX-License-Identifier: Apache-2.0
//
// Blocks of threads on the host. A block runs on the thread of its stream. Its threads are fibres that share this thread: a carrier
// takes one thread of the block after the other; where one waits (at a barrier, in an exchange between lanes), the next carrier
// goes on with the threads that have not begun. So a block that never waits is a plain loop. When no thread can go on, the ones that
// wait are let through if all have come, else a rule of the device is broken, and the stream's error says which.
#include <boost/context/fiber.hpp>
#include <boost/context/pooled_fixedsize_stack.hpp>

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/standin/device.h"
#include "tests/standin/stream.h"

namespace loomix::standin {

thread_local const Fibre* running = nullptr;

namespace {

namespace context = boost::context;

// Shared memory holds anything when a block begins. Here it is this thread's copy of the module's thread-local storage, all of which
// is filled with 0xFF bytes: NaN to types of floating point. So nothing else in the module may be thread_local, but for what is set after
// this, or kept over it.
void forget_shared() {
  struct Storage {
    ptrdiff_t from_current = 0;  // the distance of its begin from a variable of it, the same on all threads
    size_t bytes = 0;
  };
  static const Storage storage = [] {
    Storage found;
    dl_iterate_phdr(
        [](dl_phdr_info* module, size_t, void* result) {
          for (int i = 0; i < module->dlpi_phnum; ++i) {
            const auto& part = module->dlpi_phdr[i];
            const auto* const begin = static_cast<const char*>(module->dlpi_tls_data);
            const auto* const at = reinterpret_cast<const char*>(&running);
            if (part.p_type != PT_TLS || begin == nullptr || at < begin || at >= begin + part.p_memsz)
              continue;
            *static_cast<Storage*>(result) = {begin - at, part.p_memsz};
          }
          return 0;
        },
        &found);
    return found;
  }();
  int device = 0;
  cudaGetDevice(&device);
  std::memset(reinterpret_cast<char*>(&running) + storage.from_current, 0xff, storage.bytes);
  running = nullptr;
  cudaSetDevice(device);
}

constexpr size_t kStackBytes = 256 * 1024;

struct BrokenRule : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class State { fresh, runnable, at_barrier, in_exchange, done };

struct Thread : Fibre {
  State state = State::fresh;
  unsigned mask = 0;       // of the exchange
  bool vote = false;       // at a counting barrier
  int votes = 0;           // its result
  context::fiber carrier;  // while it waits
};

struct Warp {
  uint64_t given[32];   // by lanes that have come
  uint64_t result[32];  // of the last exchange
};

class Block {
 public:
  Block(const std::function<void()>& kernel, dim3 blocks, dim3 threads)
      : kernel_(kernel),
        threads_(static_cast<size_t>(threads.x) * threads.y * threads.z),
        warps_((threads_.size() + 31) / 32) {
    for (size_t i = 0; i < threads_.size(); ++i) {
      Thread& thread = threads_[i];
      thread.place = static_cast<int>(i);
      thread.thread = {static_cast<unsigned>(i % threads.x), static_cast<unsigned>(i / threads.x % threads.y),
                       static_cast<unsigned>(i / threads.x / threads.y)};
      thread.threads = threads;
      thread.blocks = blocks;
    }
  }

  void run(uint3 block) {
    forget_shared();
    for (Thread& thread : threads_) {
      thread.block = block;
      thread.state = State::fresh;
    }
    next_ = 0;
    left_ = threads_.size();
    current = this;
    while (left_ > 0) {
      if (next_ < threads_.size()) {
        start_carrier();
      } else if (!resume_any() && !release_lanes() && !release_barrier()) {
        throw BrokenRule("a barrier or exchange that not all threads of the block or mask have come to");
      }
      if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    }
    running = nullptr;
  }

  void wait(State state) {
    Thread& self = threads_[static_cast<size_t>(running->place)];
    self.state = state;
    waiting_ = &self;
    scheduler_ = std::move(scheduler_).resume();
    running = &self;
    if (abandoned_) throw BrokenRule("left");  // unwinds the carrier
  }

  Thread& self() { return threads_[static_cast<size_t>(running->place)]; }
  Warp& warp() { return warps_[static_cast<size_t>(running->place) / 32]; }
  ~Block() {
    abandoned_ = true;
    for (Thread& thread : threads_) {
      if (thread.carrier) resume(thread);
    }
  }

  static thread_local Block* current;

 private:
  void start_carrier() {
    waiting_ = nullptr;
    context::fiber carrier(std::allocator_arg, stacks(), [this](context::fiber&& scheduler) {
      scheduler_ = std::move(scheduler);
      try {
        while (next_ < threads_.size()) {
          Thread& thread = threads_[next_++];
          running = &thread;
          kernel_();
          thread.state = State::done;
          --left_;
        }
      } catch (const BrokenRule&) {
        if (!abandoned_) error_ = std::current_exception();
      }
      return std::move(scheduler_);
    });
    keep(std::move(carrier).resume());
  }
  // Where a thread waits, its carrier comes back with it.
  void keep(context::fiber carrier) {
    if (waiting_ != nullptr) waiting_->carrier = std::move(carrier);
  }
  void resume(Thread& thread) {
    waiting_ = nullptr;
    running = &thread;
    keep(std::move(thread.carrier).resume());
  }
  bool resume_any() {
    bool any = false;
    for (Thread& thread : threads_) {
      if (thread.state != State::runnable) continue;
      any = true;
      resume(thread);
      if (error_) return true;
    }
    return any;
  }
  // Exchanges whose lanes have all come.
  bool release_lanes() {
    bool any = false;
    for (size_t first = 0; first < threads_.size(); first += 32) {
      const size_t lanes = std::min<size_t>(32, threads_.size() - first);
      for (size_t lane = 0; lane < lanes; ++lane) {
        const Thread& asks = threads_[first + lane];
        if (asks.state != State::in_exchange || !have_come(first, lanes, asks.mask)) continue;
        Warp& warp = warps_[first / 32];
        const unsigned mask = asks.mask;
        for (size_t i = 0; i < lanes; ++i) {
          if ((mask >> i & 1) == 0) continue;
          warp.result[i] = warp.given[i];
          threads_[first + i].state = State::runnable;
        }
        any = true;
      }
    }
    return any;
  }
  bool have_come(size_t first, size_t lanes, unsigned mask) const {
    for (size_t i = 0; i < 32; ++i) {
      if ((mask >> i & 1) == 0) continue;
      if (i >= lanes) continue;  // the last warp of a block has fewer lanes
      const Thread& lane = threads_[first + i];
      if (lane.state != State::in_exchange || lane.mask != mask) return false;
    }
    return true;
  }
  bool release_barrier() {
    int votes = 0;
    for (const Thread& thread : threads_) {
      if (thread.state != State::at_barrier) return false;
      votes += thread.vote ? 1 : 0;
    }
    for (Thread& thread : threads_) {
      thread.votes = votes;
      thread.state = State::runnable;
    }
    return true;
  }
  // Of this thread. Not thread_local: see forget_shared().
  static context::pooled_fixedsize_stack stacks() {
    static std::mutex mutex;
    static std::map<std::thread::id, context::pooled_fixedsize_stack> pools;
    const std::lock_guard lock(mutex);
    return pools.try_emplace(std::this_thread::get_id(), kStackBytes).first->second;
  }

  const std::function<void()>& kernel_;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  context::fiber scheduler_;
  Thread* waiting_ = nullptr;
  size_t next_ = 0;
  size_t left_ = 0;
  bool abandoned_ = false;
  std::exception_ptr error_;
};

thread_local Block* Block::current = nullptr;

void run_grid(dim3 blocks, dim3 threads, const std::function<void()>& kernel) {
  constexpr unsigned kMostThreads = 1024;
  if (threads.x * threads.y * threads.z > kMostThreads || blocks.y > 65535 || blocks.z > 65535)
    throw BrokenRule("a launch with more threads or blocks than a device takes");
  const size_t count = static_cast<size_t>(blocks.x) * blocks.y * blocks.z;
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  static std::atomic<unsigned> launches{1};
  std::minstd_rand random(launches.fetch_add(1));
  std::shuffle(order.begin(), order.end(), random);
  Block block(kernel, blocks, threads);
  for (const size_t i : order) {
    block.run({static_cast<unsigned>(i % blocks.x), static_cast<unsigned>(i / blocks.x % blocks.y),
               static_cast<unsigned>(i / blocks.x / blocks.y)});
  }
}

}  // namespace

void put_grid(cudaStream_t stream, dim3 blocks, dim3 threads, std::function<void()> kernel) {
  const Launch launch{&kernel.target_type(), blocks, threads};
  const auto run = [=, kernel = std::move(kernel)] {
    try {
      run_grid(blocks, threads, kernel);
    } catch (const BrokenRule& rule) {
      note_error(rule.what());
    }
  };
  put_on(stream, run, launch);
}

void fail(const char* what) { throw BrokenRule(what); }

void sync_block() { count_block(false); }

int count_block(bool value) {
  Block& block = *Block::current;
  block.self().vote = value;
  block.wait(State::at_barrier);
  return block.self().votes;
}

const uint64_t* exchange(unsigned mask, uint64_t value) {
  Block& block = *Block::current;
  Thread& self = block.self();
  const int lane = self.place % 32;
  if ((mask >> lane & 1) == 0) fail("an exchange by a lane that its mask leaves out");
  self.mask = mask;
  block.warp().given[lane] = value;
  block.wait(State::in_exchange);
  return block.warp().result;
}

}  // namespace loomix::standin
