// SPDX-License-Identifier: Apache-2.0
// Push and pull of one value between two processes, over shared memory and tcp, beside a bare ZeroMQ ping-pong.
//   bench_comm [seconds per case [bare, shared, tcp, keys, plain or inproc, a few with commas [bytes]]]
// One line a case: what, bytes, messages in flight, microseconds a message, messages a second, Gbit/s, and the time over that of
// the bare ping-pong, if that ran before.
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "comm/endpoint.h"
#include "comm/inproc.h"
#include "comm/network.h"

extern "C" const loomix::comm::NetworkModule loomix_network_module;

namespace loomix::comm {
namespace {

constexpr NodeName kServer{Role::server, 0}, kWorker{Role::worker, 0};
std::vector<size_t> sizes = {1 << 10, 64 << 10, 1 << 20, 16 << 20};
double seconds_a_case = 0.5;
std::map<std::pair<size_t, int>, double> bare_seconds;  // by bytes and messages in flight

double now() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

void print(const char* what, size_t bytes, int flight, double seconds, int64_t messages) {
  const double each = seconds / static_cast<double>(messages);
  fmt::print("{:<18} {:>9} {:>3} {:>10.1f} us {:>10.0f} /s {:>8.2f} Gbit/s", what, bytes, flight, each * 1e6,
             1 / each, static_cast<double>(bytes) * 8e-9 / each);
  if (const auto bare = bare_seconds.find({bytes, flight}); bare != bare_seconds.end())
    fmt::print(" {:>6.2f} x bare", each / bare->second);
  fmt::print("\n");
  std::fflush(stdout);
}

// A store of values: command 0 pushes into it, 1 pulls.
class Store {
 public:
  void serve(Endpoint& endpoint) {
    ChannelOptions options;
    options.place = [this](const NodeId&, const Message&, size_t, size_t bytes) { return value(bytes); };
    endpoint.serve(
        0,
        [this](Incoming&& incoming) {
          if (incoming.message.command == 1) {
            Message reply;
            reply.payload.push_back(value(static_cast<size_t>(incoming.message.fields[0])));
            return incoming.responder.reply(std::move(reply));
          }
          const Buffer& came = incoming.message.payload[0];
          Buffer mine = value(came.size());
          if (came.data() != mine.data()) std::memcpy(mine.writable(), came.data(), came.size());
          incoming.responder.reply({});
        },
        options);
  }

 private:
  Buffer value(size_t bytes) {
    Buffer& mine = values_[bytes];
    if (mine.empty()) {
      mine = Buffer::allocate(bytes);
      std::memset(mine.writable(), 1, bytes);
    }
    return mine;
  }
  std::map<size_t, Buffer> values_;
};

void run(const std::string& what, Endpoint& worker, bool pull, size_t bytes, int flight) {
  std::vector<std::byte> memory(bytes);
  std::memset(memory.data(), 1, bytes);
  std::mutex mutex;
  std::condition_variable changed;
  int in_flight = 0;
  const auto start = [&] {
    Message message;
    RequestOptions options;
    if (pull) {
      message.command = 1;
      message.fields.push_back(static_cast<int64_t>(bytes));
      options.into = {memory};
    } else {
      message.payload.push_back(Buffer::borrow(memory));
    }
    worker.request(kServer, 0, std::move(message), std::move(options), [&](Reply&& reply) {
      if (reply.error) std::abort();
      const std::lock_guard lock(mutex);
      --in_flight;
      changed.notify_one();
    });
  };
  const auto rounds = [&](double seconds) {
    int64_t messages = 0;
    const double until = now() + seconds;
    std::unique_lock lock(mutex);
    while (now() < until || in_flight > 0) {
      while (in_flight < flight && now() < until) {
        ++in_flight;
        ++messages;
        lock.unlock();
        start();
        lock.lock();
      }
      if (in_flight == 0) continue;
      const int before = in_flight;
      changed.wait(lock, [&] { return in_flight < before; });
    }
    return messages;
  };
  rounds(seconds_a_case / 4);
  const double begin = now();
  const int64_t messages = rounds(seconds_a_case);
  print((what + (pull ? " pull" : " push")).c_str(), bytes, flight, now() - begin, messages);
}

void cases(const std::string& what, Endpoint& worker) {
  worker.call(kServer, 0, [] {
    Message m;
    m.command = 1;
    m.fields = {8};
    return m;
  }());
  for (const size_t bytes : sizes) {
    for (const int flight : {1, 16}) {
      run(what, worker, false, bytes, flight);
      run(what, worker, true, bytes, flight);
    }
  }
}

// The server is a process of its own and ends when its pipe closes.
void network(const std::string& what, const NetworkOptions& options) {
  int address[2], life[2];
  if (pipe(address) != 0 || pipe(life) != 0) std::abort();
  const pid_t child = fork();
  if (child == 0) {
    close(life[1]);
    Store store;
    Endpoint server(loomix_network_module.open(options), {kServer, new_incarnation()});
    store.serve(server);
    const std::string text = server.address() + '\n';
    if (write(address[1], text.data(), text.size()) < 0) std::abort();
    char byte;
    [[maybe_unused]] const ssize_t ended = read(life[0], &byte, 1);
    std::_Exit(0);
  }
  char text[128] = {};
  const ssize_t size = read(address[0], text, sizeof(text) - 1);
  Endpoint worker(loomix_network_module.open(options), {kWorker, new_incarnation()});
  worker.connect(kServer, std::string(text, static_cast<size_t>(size) - 1));
  cases(what, worker);
  close(life[1]);
  waitpid(child, nullptr, 0);
}

void inproc() {
  InprocNetwork net;
  Store store;
  Endpoint server(net.attach("inproc://server"), {kServer, new_incarnation()});
  Endpoint worker(net.attach("inproc://worker"), {kWorker, new_incarnation()});
  store.serve(server);
  worker.connect(kServer, server.address());
  cases("inproc", worker);
}

// DEALER to ROUTER, zero-copy sends; the answer is one byte.
void bare() {
  int port[2];
  if (pipe(port) != 0) std::abort();
  const pid_t child = fork();
  if (child == 0) {
    void* const context = zmq_ctx_new();
    void* const socket = zmq_socket(context, ZMQ_ROUTER);
    zmq_bind(socket, "tcp://127.0.0.1:*");
    char endpoint[128] = {};
    size_t size = sizeof(endpoint);
    zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, endpoint, &size);
    if (write(port[1], endpoint, sizeof(endpoint)) < 0) std::abort();
    for (;;) {
      zmq_msg_t id, message;
      zmq_msg_init(&id);
      zmq_msg_init(&message);
      zmq_msg_recv(&id, socket, 0);
      zmq_msg_recv(&message, socket, 0);
      zmq_msg_send(&id, socket, ZMQ_SNDMORE);
      const bool last = zmq_msg_size(&message) == 0;
      zmq_send(socket, "x", 1, 0);
      zmq_msg_close(&message);
      if (last) break;
    }
    zmq_close(socket);
    zmq_ctx_term(context);
    std::_Exit(0);
  }
  char endpoint[128];
  if (read(port[0], endpoint, sizeof(endpoint)) < 0) std::abort();
  void* const context = zmq_ctx_new();
  void* const socket = zmq_socket(context, ZMQ_DEALER);
  zmq_connect(socket, endpoint);
  for (const size_t bytes : sizes) {
    std::vector<char> memory(bytes, 1);
    for (const int flight : {1, 16}) {
      const auto rounds = [&](double seconds) {
        int64_t messages = 0;
        int in_flight = 0;
        const double until = now() + seconds;
        while (now() < until || in_flight > 0) {
          while (in_flight < flight && now() < until) {
            zmq_msg_t message;
            zmq_msg_init_data(
                &message, memory.data(), bytes, [](void*, void*) {}, nullptr);
            zmq_msg_send(&message, socket, 0);
            ++in_flight;
            ++messages;
          }
          char byte;
          zmq_recv(socket, &byte, 1, 0);
          --in_flight;
        }
        return messages;
      };
      rounds(seconds_a_case / 4);
      const double begin = now();
      const int64_t messages = rounds(seconds_a_case);
      const double seconds = now() - begin;
      print("bare ZeroMQ", bytes, flight, seconds, messages);
      bare_seconds[{bytes, flight}] = seconds / static_cast<double>(messages);
    }
  }
  zmq_send(socket, "", 0, 0);
  char byte;
  zmq_recv(socket, &byte, 1, 0);
  zmq_close(socket);
  zmq_ctx_term(context);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace loomix::comm

int main(int argc, char** argv) {
  using namespace loomix::comm;
  if (argc > 1) seconds_a_case = std::atof(argv[1]);
  const std::string wanted = argc > 2 ? argv[2] : "bare,shared,tcp,keys,plain,inproc";
  if (argc > 3) sizes = {static_cast<size_t>(std::atoll(argv[3]))};
  const auto is_wanted = [&](const char* what) { return wanted.find(what) != std::string::npos; };
  if (is_wanted("bare")) bare();
  NetworkOptions options;
  if (is_wanted("shared")) network("shared memory", options);
  options.shared_memory = false;
  if (is_wanted("tcp")) network("tcp", options);
  options.keys = loomix_network_module.new_keys();
  if (is_wanted("keys")) network("tcp, keys", options);
  options.trusted_network = options.plain_payloads = true;
  if (is_wanted("plain")) network("tcp, plain payload", options);
  if (is_wanted("inproc")) inproc();
}
