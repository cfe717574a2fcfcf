// SPDX-License-Identifier: Apache-2.0
// Memory of devices that goes from array to array while work is pending on several queues; on the null device, whose
// queues run late and out of step.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "ndarray/copy.h"
#include "tests/cpp/ndarray/late_device.h"

namespace loomix {
namespace {

using namespace std::chrono_literals;
using testing_arrays::push_late;

constexpr int64_t kCount = 64 * 1024;
constexpr int64_t kBytes = kCount * 4;

NDArray host_array(engine::Engine& engine, int32_t value, int64_t count = kCount) {
  NDArray array(engine, Shape{count}, DType::int32, Device::cpu());
  fill(array, value);
  return array;
}

int32_t* data_of(const NDArray& array) { return static_cast<int32_t*>(array.view().data); }

class DeviceMemory : public testing::TestWithParam<int64_t> {};
// Plenty of memory, and hardly more than the arrays that live together.
INSTANTIATE_TEST_SUITE_P(Bounds, DeviceMemory, testing::Values(0, 2 * kBytes));

TEST_P(DeviceMemory, ACopyInWaitsForTheKernelThatStillReadsTheMemory) {
  std::vector<int32_t> seen(kCount);
  const auto engine = engine::make_threaded_engine({.workers = 1, .pool_bytes = GetParam()});
  const NDArray ones = host_array(*engine, 1);
  const NDArray twos = host_array(*engine, 2);
  const NDArray result(*engine, Shape{kCount}, DType::int32, Device::null());
  NDArray read = copy_to(ones, Device::null());
  const engine::TokenRef gate = testing_arrays::make_gate(*engine);
  push_late(read, result, engine::Lane::compute, gate,
            [from = data_of(read), &seen] { std::memcpy(seen.data(), from, kBytes); });
  read = NDArray();
  const engine::MemoryPool& pool = engine->device(Device::null()).memory(MemoryKind::device);
  while (pool.stats().in_use > kBytes) std::this_thread::yield();  // until the work is issued
  const NDArray next = copy_to(twos, Device::null());
  EXPECT_LE(pool.stats().reserved, 3 * kBytes);
  std::this_thread::sleep_for(20ms);  // for a copy that does not wait
  gate->complete(nullptr);
  engine->wait_all();
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), kCount);
}

// Arrays are made, copied between devices, computed with on any lane, partly overwritten and dropped, in random order;
// returns all that was copied to the host.
std::vector<std::vector<int32_t>> run_random(engine::Engine& engine, uint32_t seed) {
  std::mt19937 random(seed);
  const auto pick = [&](size_t below) { return random() % below; };
  const int64_t counts[] = {10, 12'000, 12'000, kCount};
  const Device places[] = {Device::cpu(), Device::null(0), Device::null(1)};
  const engine::Lane lanes[] = {engine::Lane::compute, engine::Lane::compute, engine::Lane::copy_in,
                                engine::Lane::communicate};
  testing_arrays::GateKeeper gates(engine);
  std::vector<NDArray> arrays;
  std::vector<NDArray> results;
  for (int step = 0; step < 300; ++step) {
    if (arrays.size() > 12) arrays.erase(arrays.begin() + static_cast<std::ptrdiff_t>(pick(arrays.size())));
    if (arrays.size() < 2) {
      arrays.push_back(host_array(engine, static_cast<int32_t>(random()), counts[pick(4)]));
      continue;
    }
    const size_t chosen = pick(arrays.size());
    const NDArray source = arrays[chosen];
    const size_t kind = pick(8);
    if (kind < 3 || source.device().is_host()) {
      arrays.push_back(copy_to(source, places[pick(3)]));
    } else if (kind < 6) {
      // Into a new array, or into one that exists; all of it, or a part, with which the rest stays.
      NDArray target(engine, source.shape(), DType::int32, source.device());
      bool whole = true;
      for (const NDArray& other : arrays) {
        if (kind > 3 || other.device() != source.device() || other.size() < source.size()) continue;
        if (other.storage_ref() == source.storage_ref()) continue;
        target = other.slice(0, source.size());
        whole = other.size() == source.size();
      }
      push_late(source, target, lanes[pick(4)], gates.next(),
                [from = data_of(source), to = data_of(target), count = source.size(),
                 salt = static_cast<int32_t>(random() % 1000)] {
                  for (int64_t i = 0; i < count; ++i) to[i] = (from[i] % 100'000) * 31 + salt;
                });
      if (pick(2) == 0) arrays.erase(arrays.begin() + static_cast<std::ptrdiff_t>(chosen));
      if (whole) arrays.push_back(target);
    } else if (kind == 6) {
      results.push_back(copy_to(source, Device::cpu()));
    } else {
      arrays.erase(arrays.begin() + static_cast<std::ptrdiff_t>(pick(arrays.size())));
    }
  }
  for (const NDArray& array : arrays) results.push_back(copy_to(array, Device::cpu()));
  arrays.clear();
  std::vector<std::vector<int32_t>> values;
  for (const NDArray& result : results) {
    values.emplace_back(static_cast<size_t>(result.size()));
    result.copy_to_host(values.back().data(), result.bytes());
  }
  return values;
}

TEST(DeviceMemoryRandom, ProgramsWithFreesEqualTheNaiveEngine) {
  for (const int workers : {1, 4}) {
    for (const int64_t bound : {int64_t{0}, 64 * kBytes}) {
      for (uint32_t seed = 0; seed < 5; ++seed) {
        SCOPED_TRACE(testing::Message() << workers << " workers, bound " << bound << ", seed " << seed);
        const auto naive = engine::make_naive_engine();
        // Few tasks ahead, so that memory is freed, and taken again, while its last user still works on the device.
        const auto engine =
            engine::make_threaded_engine({.workers = workers, .max_tasks = 4, .pool_bytes = bound});
        EXPECT_TRUE(run_random(*engine, seed) == run_random(*naive, seed));
        engine->wait_all();
        for (const Device device : {Device::null(0), Device::null(1)}) {
          EXPECT_EQ(engine->device(device).memory(MemoryKind::device).stats().in_use, 0);
        }
      }
    }
  }
}

TEST(DeviceMemoryEnd, AnEngineEndsWhileItsDevicesWaitForEachOther) {
  engine::TokenRef gate;
  std::thread opener;
  {
    const auto engine = engine::make_threaded_engine({.workers = 1});
    gate = testing_arrays::make_gate(*engine);
    const auto make = [&](int device) {
      return NDArray(*engine, Shape{kCount}, DType::int32, Device::null(device));
    };
    const NDArray first = make(1);
    const NDArray second = make(1);
    push_late(first, second, engine::Lane::compute, gate, [] {});
    push_late(copy_to(second, Device::null(0)), make(0), engine::Lane::compute, gate, [] {});
    opener = std::thread([gate] {
      std::this_thread::sleep_for(200ms);
      gate->complete(nullptr);
    });
  }
  EXPECT_TRUE(gate->done());
  opener.join();
}

}  // namespace
}  // namespace loomix
