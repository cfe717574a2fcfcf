// SPDX-License-Identifier: Apache-2.0
// One node of a cluster that pushes and pulls the gradients of ResNet-50; worker.py starts them and compares.
//   bench_kvstore scheduler SERVERS WORKERS    prints its address
//   bench_kvstore server RANK ADDRESS
//   bench_kvstore worker RANK ADDRESS          answers `go COUNT` on standard input when COUNT rounds are done
//   bench_kvstore small RANK ADDRESS           likewise with 1,000 keys of 256 floats, or as many as a fourth argument says
//   bench_kvstore overlap RANK ADDRESS         likewise for steps of a net like VGG-16; `go COUNT plain`: without overlap
// All end with their standard input. A fourth argument of the others is the host at which a node can be reached.
#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "comm/network.h"
#include "kvstore/cluster/dist_store.h"
#include "kvstore/cluster/scheduler.h"
#include "kvstore/cluster/server.h"
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

// VGG-16's layers: parameters in bytes / 8 (so that a step takes about a second at 1 Gbit/s), and the part of the time to compute.
struct Layer {
  int64_t elements;
  double milliseconds;  // forward; backward takes twice as long
};
std::vector<Layer> vgg16() {
  constexpr struct {
    double thousands, gigaflops;
  } kLayers[] = {{2, 0.09},    {37, 1.85},    {74, 0.93},    {148, 1.85},  {295, 0.93},  {590, 1.85},
                 {590, 1.85},  {1180, 0.93},  {2360, 1.85},  {2360, 1.85}, {2360, 0.46}, {2360, 0.46},
                 {2360, 0.46}, {102764, 0.1}, {16781, 0.02}, {4097, 0.004}};
  constexpr double kStep = 1000;  // milliseconds
  double all = 0;
  for (const auto& one : kLayers) all += one.gigaflops;
  std::vector<Layer> layers;
  for (const auto& one : kLayers)
    layers.push_back({static_cast<int64_t>(one.thousands * 1000 / 8), kStep / 3 * one.gigaflops / all});
  return layers;
}

NDArray filled(engine::Engine& engine, int64_t count, float value) {
  const std::vector<float> items(static_cast<size_t>(count), value);
  NDArray array(engine, Shape{count}, DType::float32, Device::cpu());
  array.copy_from_host(items.data(), array.bytes());
  return array;
}

void work(Runtime& runtime, const NodeOptions& options, const std::vector<int64_t>& sizes) {
  engine::Engine& engine = runtime.engine();
  DistStore store(runtime, "dist_sync", 0, loomix_network_module.open({}), options);
  std::vector<NDArray> gradients, weights;
  for (const int64_t size : sizes) {
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

// The computation is a pause, so that only communication needs the processor.
void compute(engine::Engine& engine, std::initializer_list<const NDArray*> reads, const NDArray& writes,
             double milliseconds) {
  ArrayTags tags;
  for (const NDArray* const array : reads) tags.read(*array);
  tags.write(writes);
  engine.push({}, tags.tags(), [milliseconds](engine::RunContext&) {
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(milliseconds));
  });
}

// With overlap a layer's gradient leaves while the layers before it are computed, the first layers' go first, and the next
// step's forward pass waits for each weight alone.
void train(Runtime& runtime, const NodeOptions& options, const comm::NetworkOptions& network) {
  engine::Engine& engine = runtime.engine();
  DistStore store(runtime, "dist_sync", 0, loomix_network_module.open(network), options);
  const std::vector<Layer> layers = vgg16();
  std::vector<NDArray> gradients, weights;
  for (const Layer& layer : layers) {
    gradients.push_back(filled(engine, layer.elements, 1));
    weights.push_back(filled(engine, layer.elements, 0));
    store.init(static_cast<int64_t>(weights.size() - 1), weights.back());
  }
  const NDArray state = filled(engine, 1, 0);
  const auto exchange = [&](size_t layer, int priority) {
    const auto key = static_cast<int64_t>(layer);
    store.push(key, {&gradients[layer], 1}, priority);
    store.pull(key, {&weights[layer], 1}, priority);
  };
  const auto step = [&](bool overlap) {
    for (size_t i = 0; i < layers.size(); ++i) compute(engine, {&weights[i]}, state, layers[i].milliseconds);
    for (size_t i = layers.size(); i-- > 0;) {
      compute(engine, {&weights[i]}, state, layers[i].milliseconds);
      compute(engine, {&state}, gradients[i], layers[i].milliseconds);
      if (overlap) exchange(i, -static_cast<int>(i));
    }
    if (overlap) return;
    engine.wait_all();
    for (size_t i = 0; i < layers.size(); ++i) exchange(i, 0);
    engine.wait_all();
  };
  store.barrier();
  say("ready");
  char line[64];
  while (std::fgets(line, sizeof(line), stdin) != nullptr) {
    const int count = std::atoi(line + 3);
    const bool overlap = std::strstr(line, "plain") == nullptr;
    for (int i = 0; i < count; ++i) step(overlap);
    engine.wait_all();
    say("done");
  }
  store.barrier();
}

int run(int argc, char** argv) {
  const std::string role = argc >= 4 ? argv[1] : "";
  comm::NetworkOptions network;
  if (argc == 5 && role != "small") {
    network.listen = fmt::format("tcp://{}:*", argv[4]);
    network.trusted_network = true;
  }
  if (role == "scheduler") {
    ClusterOptions options;
    options.servers = std::atoi(argv[2]);
    options.workers = std::atoi(argv[3]);
    const Scheduler scheduler(loomix_network_module.open(network), options);
    say(scheduler.address());
    wait_for_the_end();
    return 0;
  }
  const std::unique_ptr<engine::Engine> engine = engine::make_threaded_engine();
  Runtime runtime(*engine, ops::builtin_table());
  NodeOptions options;
  options.rank = argc >= 4 ? std::atoi(argv[2]) : 0;
  options.scheduler = argc >= 4 ? argv[3] : "";
  if (role == "server") {
    const Server server(runtime, loomix_network_module.open(network), options);
    wait_for_the_end();
    return 0;
  }
  if (role == "overlap") {
    train(runtime, options, network);
    return 0;
  }
  if (role == "worker" || role == "small") {
    work(runtime, options,
         role == "small"
             ? std::vector<int64_t>(argc == 5 ? static_cast<size_t>(std::atoi(argv[4])) : 1000, 256)
             : resnet50_sizes());
    return 0;
  }
  fmt::print(stderr,
             "expected: scheduler SERVERS WORKERS, or server, worker, small or overlap RANK ADDRESS\n");
  return 2;
}

}  // namespace
}  // namespace loomix::kvstore

int main(int argc, char** argv) { return loomix::kvstore::run(argc, argv); }
