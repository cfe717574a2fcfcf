// SPDX-License-Identifier: Apache-2.0
// One node of a cluster that pushes and pulls the gradients of ResNet-50; worker.py starts them and compares.
//   bench_kvstore scheduler SERVERS WORKERS    prints its address
//   bench_kvstore server RANK ADDRESS
//   bench_kvstore worker RANK ADDRESS          answers `go COUNT` on standard input when COUNT rounds are done
// All end with their standard input.
#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "comm/network.h"
#include "kvstore/dist/dist_store.h"
#include "kvstore/dist/scheduler.h"
#include "kvstore/dist/server.h"
#include "ops/table.h"

extern "C" const loomix::comm::NetworkModule loomix_network_module;

namespace loomix::kvstore {
namespace {

// Elements of each parameter, in the order of the network.
std::vector<int64_t> resnet50_sizes() {
  std::vector<int64_t> sizes;
  const auto layer = [&](int64_t weights, int64_t width) {
    sizes.insert(sizes.end(), {weights, width, width});
  };
  layer(64 * 3 * 7 * 7, 64);
  int64_t inputs = 64;
  constexpr int64_t kStages[][2] = {{3, 64}, {4, 128}, {6, 256}, {3, 512}};
  for (const auto& [blocks, width] : kStages) {
    for (int64_t block = 0; block < blocks; ++block) {
      layer(width * inputs, width);
      layer(width * width * 9, width);
      layer(4 * width * width, 4 * width);
      if (block == 0) layer(4 * width * inputs, 4 * width);
      inputs = 4 * width;
    }
  }
  sizes.insert(sizes.end(), {2048 * 1000, 1000});
  return sizes;
}

void wait_for_the_end() {
  while (std::getchar() != EOF) {}
}

void say(const std::string& text) {
  fmt::print("{}\n", text);
  std::fflush(stdout);
}

NDArray filled(engine::Engine& engine, int64_t count, float value) {
  const std::vector<float> items(static_cast<size_t>(count), value);
  NDArray array(engine, Shape{count}, DType::float32, Device::cpu());
  array.copy_from_host(items.data(), array.bytes());
  return array;
}

void work(Runtime& runtime, const NodeOptions& options) {
  engine::Engine& engine = runtime.engine();
  DistStore store(runtime, "dist_sync", 0, loomix_network_module.open({}), options);
  std::vector<NDArray> gradients, weights;
  for (const int64_t size : resnet50_sizes()) {
    gradients.push_back(filled(engine, size, 1));
    weights.push_back(filled(engine, size, 0));
    store.init(static_cast<int64_t>(weights.size() - 1), weights.back());
  }
  const auto rounds = [&](int count) {
    for (int i = 0; i < count; ++i) {
      for (size_t at = gradients.size(); at-- > 0;) {  // as a backward pass does
        const auto key = static_cast<int64_t>(at);
        store.push(key, {&gradients[at], 1}, -static_cast<int>(at));
        store.pull(key, {&weights[at], 1}, -static_cast<int>(at));
      }
    }
    engine.wait_all();
    float first = 0;
    std::memcpy(&first, weights[0].storage().data(), sizeof(first));
    if (first != static_cast<float>(store.num_workers())) {
      fmt::print(stderr, "the sum is {}, expected {}\n", first, store.num_workers());
      std::exit(1);
    }
  };
  store.barrier();
  rounds(1);
  say("ready");
  char line[64];
  while (std::fgets(line, sizeof(line), stdin) != nullptr) {
    rounds(std::atoi(line + 3));
    say("done");
  }
  store.barrier();
}

int run(int argc, char** argv) {
  const std::string role = argc == 4 ? argv[1] : "";
  if (role == "scheduler") {
    ClusterOptions options;
    options.servers = std::atoi(argv[2]);
    options.workers = std::atoi(argv[3]);
    const Scheduler scheduler(loomix_network_module.open({}), options);
    say(scheduler.address());
    wait_for_the_end();
    return 0;
  }
  ops::OpTable table;
  ops::register_all(table);
  const std::unique_ptr<engine::Engine> engine = engine::make_threaded_engine();
  Runtime runtime(*engine, table);
  NodeOptions options;
  options.rank = argc == 4 ? std::atoi(argv[2]) : 0;
  options.scheduler = argc == 4 ? argv[3] : "";
  if (role == "server") {
    const Server server(runtime, loomix_network_module.open({}), options);
    wait_for_the_end();
    return 0;
  }
  if (role == "worker") {
    work(runtime, options);
    return 0;
  }
  fmt::print(stderr, "expected: scheduler SERVERS WORKERS, or server or worker RANK ADDRESS\n");
  return 2;
}

}  // namespace
}  // namespace loomix::kvstore

int main(int argc, char** argv) { return loomix::kvstore::run(argc, argv); }
