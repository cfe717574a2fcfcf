// SPDX-License-Identifier: Apache-2.0
// Nanoseconds to take a block from the host's memory pool and give it back, for sizes up to 64 MiB: alone, and on two
// threads at once. Blocks above 16 MiB go through the pool's mutex.  bench_memory [rounds]
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "engine/device/scratch_block.h"
#include "engine/engine.h"

namespace {

using namespace loomix;
using namespace loomix::engine;
using Clock = std::chrono::steady_clock;

double take_and_give(MemoryPool& pool, size_t bytes, int rounds) {
  const auto begin = Clock::now();
  for (int i = 0; i < rounds; ++i) {
    const ScratchBlock block(pool, bytes, nullptr);
    if (block.bytes().data() == nullptr) std::abort();
  }
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / rounds;
}

double on_two_threads(MemoryPool& pool, size_t bytes, int rounds) {
  double results[2] = {};
  std::thread other([&] { results[1] = take_and_give(pool, bytes, rounds); });
  results[0] = take_and_give(pool, bytes, rounds);
  other.join();
  return std::max(results[0], results[1]);
}

double best(auto&& measure) {
  double least = 1e9;
  for (int i = 0; i < 5; ++i) least = std::min(least, measure());
  return least;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 200'000;
  const auto engine = make_threaded_engine({});
  MemoryPool& pool = ScratchBlock::pool_of(*engine, Device::cpu());
  fmt::print("{:>12} {:>12} {:>12}\n", "bytes", "alone ns", "two ns");
  for (size_t bytes = 1024; bytes <= size_t{64} << 20; bytes *= 4) {
    fmt::print("{:>12} {:>12.1f} {:>12.1f}\n", bytes,
               best([&] { return take_and_give(pool, bytes, rounds); }),
               best([&] { return on_two_threads(pool, bytes, rounds); }));
  }
}
