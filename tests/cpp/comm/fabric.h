// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "comm/endpoint.h"
#include "comm/inproc.h"
#include "comm/network.h"

// Linked into the tests where it is built.
extern "C" [[gnu::weak]] const loomix::comm::NetworkModule loomix_network_module;

namespace loomix::comm {

using namespace std::chrono_literals;

inline constexpr NodeName kScheduler{Role::scheduler, 0};
inline NodeName server(int rank) { return {Role::server, rank}; }
inline NodeName worker(int rank) { return {Role::worker, rank}; }

// Short times, so that tests of losses are quick.
#ifdef __SANITIZE_THREAD__
inline constexpr auto kSilence = 8s;
#else
inline constexpr auto kSilence = 2s;
#endif

inline EndpointOptions quick_options() {
  EndpointOptions options;
  options.heartbeat_every = 50ms;
  options.dead_after = kSilence;
  options.reconnect_within = 150ms;
  options.hello_every = 5ms;
  options.piece_bytes = 16 << 10;
  options.window_bytes = 64 << 10;
  return options;
}

inline RequestOptions within(Duration deadline, Duration retry = 40ms) {
  RequestOptions options;
  options.deadline = deadline;
  options.retry_after = retry;
  return options;
}

// Time in which this process does not run does not count.
inline bool eventually(const std::function<bool()>& condition, Duration deadline = 10s) {
  Duration waited{};
  for (TimePoint last = Clock::now(); !condition();) {
    if (waited > deadline) return false;
    std::this_thread::sleep_for(1ms);
    const TimePoint now = Clock::now();
    waited += std::min<Duration>(now - last, 50ms);
    last = now;
  }
  return true;
}

// Bytes that a wrong offset or a lost piece changes.
inline Buffer pattern(size_t size, uint32_t seed) {
  Buffer buffer = Buffer::allocate(size);
  uint32_t x = seed * 2654435761u + 1;
  for (size_t i = 0; i < size; ++i) {
    x = x * 1664525u + 1013904223u;
    buffer.writable()[i] = static_cast<std::byte>(x >> 24);
  }
  return buffer;
}

// Numbers as a head.
inline Message message_of(const std::vector<int64_t>& numbers, std::vector<Buffer> payload = {}) {
  Message message;
  message.head.assign(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(int64_t));
  message.payload = std::move(payload);
  return message;
}
inline std::vector<int64_t> numbers_of(const Message& message) {
  std::vector<int64_t> numbers(message.head.size() / sizeof(int64_t));
  if (!numbers.empty()) std::memcpy(numbers.data(), message.head.data(), message.head.size());
  return numbers;
}

// Answers with what came.
inline void echo(Incoming&& incoming) { incoming.responder.reply(std::move(incoming.message)); }

// Makes transports of one kind that reach each other.
class Fabric {
 public:
  virtual ~Fabric() = default;
  virtual std::unique_ptr<Transport> attach(const std::string& name) = 0;
};

class InprocFabric final : public Fabric {
 public:
  explicit InprocFabric(uint64_t seed = 0, Faults faults = {}) : network(seed, faults) {}
  std::unique_ptr<Transport> attach(const std::string& name) override {
    return network.attach("inproc://" + name);
  }
  InprocNetwork network;
};

inline bool has_network() { return &loomix_network_module != nullptr; }

// New ones each time; who has them may be any node.
inline Keys keys_of_all_roles() {
  const NewKeys made = loomix_network_module.new_keys({{Role::scheduler, Role::server, Role::worker}});
  return {made.authority, made.own[0]};
}

class NetworkFabric final : public Fabric {
 public:
  explicit NetworkFabric(bool shared_memory, bool keys = false) {
    options.shared_memory = shared_memory;
    if (keys) options.keys = keys_of_all_roles();
  }
  std::unique_ptr<Transport> attach(const std::string&) override {
    return loomix_network_module.open(options);
  }
  NetworkOptions options;
};

}  // namespace loomix::comm
