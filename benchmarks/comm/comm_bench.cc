// SPDX-License-Identifier: Apache-2.0
// Push and pull of one value between two processes, over shared memory, tcp and TLS, beside a bare ping-pong over tcp.
//   bench_comm [seconds per case [bare, shared, tcp, tls or inproc, a few with commas [bytes]]]
// One line a case: what, bytes, messages in flight, microseconds a message, messages a second, Gbit/s, microseconds of processor
// time a message in this process and in the other, and the time over that of the bare ping-pong, if that ran before.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

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

pid_t other_process = 0;
double processor_seconds(pid_t process) {
  clockid_t clock;
  timespec time{};
  if (process < 0 || clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// From its making on.
struct Spent {
  double begin = now(), own = processor_seconds(0), other = processor_seconds(other_process);
};

void print(const char* what, size_t bytes, int flight, const Spent& since, int64_t messages) {
  const double seconds = now() - since.begin;
  const double a_message = 1e6 / static_cast<double>(messages);
  const double each = seconds / static_cast<double>(messages);
  fmt::print("{:<18} {:>9} {:>3} {:>10.1f} us {:>10.0f} /s {:>8.2f} Gbit/s {:>7.1f} + {:>7.1f} us", what,
             bytes, flight, each * 1e6, 1 / each, static_cast<double>(bytes) * 8e-9 / each,
             (processor_seconds(0) - since.own) * a_message,
             (processor_seconds(other_process) - since.other) * a_message);
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
            reply.payload.push_back(value(std::stoul(incoming.message.head)));
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
      message.head = std::to_string(bytes);
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
  const Spent since;
  const int64_t messages = rounds(seconds_a_case);
  print((what + (pull ? " pull" : " push")).c_str(), bytes, flight, since, messages);
}

void cases(const std::string& what, Endpoint& worker) {
  worker.call(kServer, 0, [] {
    Message m;
    m.command = 1;
    m.head = "8";
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
  const pid_t child = other_process = fork();
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
  other_process = -1;
  InprocNetwork net;
  Store store;
  Endpoint server(net.attach("inproc://server"), {kServer, new_incarnation()});
  Endpoint worker(net.attach("inproc://worker"), {kWorker, new_incarnation()});
  store.serve(server);
  worker.connect(kServer, server.address());
  cases("inproc", worker);
}

// Values written with one call each by a program that does nothing else; the answer is one byte.
void bare() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(at);
  const int one = 1;
  if (bind(listener, reinterpret_cast<sockaddr*>(&at), size) != 0 || listen(listener, 1) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size) != 0)
    std::abort();
  const pid_t child = other_process = fork();
  if (child == 0) {
    const int peer = accept(listener, nullptr, nullptr);
    setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    std::vector<char> memory(*std::ranges::max_element(sizes));
    for (uint64_t bytes = 0; recv(peer, &bytes, sizeof(bytes), MSG_WAITALL) == sizeof(bytes);) {
      if (recv(peer, memory.data(), bytes, MSG_WAITALL) != static_cast<ssize_t>(bytes)) break;
      if (::send(peer, "x", 1, MSG_NOSIGNAL) != 1) break;
    }
    std::_Exit(0);
  }
  const int peer = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(peer, reinterpret_cast<sockaddr*>(&at), sizeof(at)) != 0) std::abort();
  setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  for (const size_t bytes : sizes) {
    std::vector<char> memory(sizeof(uint64_t) + bytes, 1);
    const uint64_t announced = bytes;
    std::memcpy(memory.data(), &announced, sizeof(announced));
    for (const int flight : {1, 16}) {
      const auto rounds = [&](double seconds) {
        int64_t messages = 0;
        int in_flight = 0;
        const double until = now() + seconds;
        while (now() < until || in_flight > 0) {
          while (in_flight < flight && now() < until) {
            for (size_t sent = 0; sent < memory.size();) {
              const ssize_t some = ::send(peer, memory.data() + sent, memory.size() - sent, MSG_NOSIGNAL);
              if (some <= 0) std::abort();
              sent += static_cast<size_t>(some);
            }
            ++in_flight;
            ++messages;
          }
          char byte;
          if (recv(peer, &byte, 1, 0) != 1) std::abort();
          --in_flight;
        }
        return messages;
      };
      rounds(seconds_a_case / 4);
      const Spent since;
      const int64_t messages = rounds(seconds_a_case);
      print("bare tcp", bytes, flight, since, messages);
      bare_seconds[{bytes, flight}] = (now() - since.begin) / static_cast<double>(messages);
    }
  }
  close(peer);
  close(listener);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace loomix::comm

int main(int argc, char** argv) {
  using namespace loomix::comm;
  if (argc > 1) seconds_a_case = std::atof(argv[1]);
  const std::string wanted = argc > 2 ? argv[2] : "bare,shared,tcp,tls,inproc";
  if (argc > 3) sizes = {static_cast<size_t>(std::atoll(argv[3]))};
  const auto is_wanted = [&](const char* what) { return wanted.find(what) != std::string::npos; };
  if (is_wanted("bare")) bare();
  NetworkOptions options;
  if (is_wanted("shared")) network("shared memory", options);
  options.shared_memory = false;
  if (is_wanted("tcp")) network("tcp", options);
  const NewKeys made = loomix_network_module.new_keys({{Role::server, Role::worker}});
  options.keys = {made.authority, made.own[0]};
  if (is_wanted("tls")) network("tls", options);
  if (is_wanted("inproc")) inproc();
}
