// SPDX-License-Identifier: Apache-2.0
// Real processes: one that is killed is named in time and leaves nothing behind; whatever bytes come in, the node lives on.
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <mutex>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "tests/cpp/comm/fabric.h"

namespace loomix::comm {
namespace {

// With a long silence allowed, only a broken connection tells of an end.
EndpointOptions patient_options(Duration silence) {
  EndpointOptions options = quick_options();
  options.dead_after = silence;
  return options;
}

std::unique_ptr<Endpoint> node(NodeName name, const NetworkOptions& options = {}, Duration silence = 40s) {
  return std::make_unique<Endpoint>(loomix_network_module.open(options), NodeId{name, new_incarnation()},
                                    patient_options(silence));
}

std::set<std::string> names_in(const char* folder) {
  std::set<std::string> names;
  if (DIR* const open = opendir(folder)) {
    while (const dirent* const entry = readdir(open)) names.insert(entry->d_name);
    closedir(open);
  }
  return names;
}

// A server in a process of its own, made before this process has threads of its own.
class OtherServer {
 public:
  explicit OtherServer(const NetworkOptions& options) {
    int channel[2];
    EXPECT_EQ(pipe(channel), 0);
    child_ = fork();
    if (child_ == 0) {
      auto server = node(comm::server(0), options);
      server->serve(0, echo);
      const std::string text = server->address() + '\n';
      if (write(channel[1], text.data(), text.size()) < 0) std::_Exit(1);
      for (;;) pause();
    }
    char text[200] = {};
    const ssize_t size = read(channel[0], text, sizeof(text));
    address = std::string(text, size > 0 ? static_cast<size_t>(size) - 1 : 0);
    close(channel[0]);
    close(channel[1]);
  }
  ~OtherServer() { end(SIGKILL); }
  void end(int signal) {
    if (child_ == 0) return;
    ::kill(child_, signal);
    waitpid(child_, nullptr, 0);
    child_ = 0;
  }
  void stop() { ::kill(child_, SIGSTOP); }
  std::string address;

 private:
  pid_t child_ = 0;
};

class Processes : public testing::TestWithParam<bool> {
 protected:
  Processes() { options_.shared_memory = GetParam(); }
  NetworkOptions options_;
};
INSTANTIATE_TEST_SUITE_P(Route, Processes, testing::Bool(),
                         [](const auto& info) { return std::string(info.param ? "SharedMemory" : "Tcp"); });

void lose_in_time(OtherServer& other, const NetworkOptions& options, const std::function<void()>& hurt,
                  Duration within_time, Duration silence = 40s) {
  const auto b = node(worker(0), options, silence);
  std::mutex mutex;
  std::string lost;
  b->on_peer([&](const PeerEvent& event) {
    const std::lock_guard lock(mutex);
    if (event.state != PeerState::up) lost = event.reason;
  });
  b->connect(server(0), other.address);
  const Buffer large = pattern(300000, 1);
  EXPECT_EQ(b->call(server(0), 0, message_of({}, {large}), within(20s)).payload[0].text(), large.text());
  ASSERT_TRUE(
      eventually([&] { return b->peers()[0].route == (options.shared_memory ? "shared memory" : "tcp"); }));
  std::atomic<int> ended{0};
  hurt();
  const TimePoint since = Clock::now();
  for (int i = 0; i < 20; ++i) {  // one that is told to stop may still answer a few
    b->request(server(0), 0, message_of({}, {large}), within(60s), [&](Reply&&) { ++ended; });
  }
  const auto is_lost = [&] {
    const std::lock_guard lock(mutex);
    return ended == 20 && !lost.empty();
  };
  EXPECT_TRUE(eventually(is_lost, within_time));
  EXPECT_LT(Clock::now() - since, within_time);
  EXPECT_THROW(b->call(server(0), 0, {}, within(60s)), PeerLost);
  const std::lock_guard lock(mutex);
  EXPECT_NE(lost.find("server 0 at " + other.address + " is lost"), std::string::npos) << lost;
}

TEST_P(Processes, AKilledOneIsNamedInTime) {
  const std::set<std::string> before = names_in("/dev/shm");
  OtherServer other(options_);
  lose_in_time(
      other, options_, [&] { other.end(SIGKILL); }, 15s);
  EXPECT_EQ(names_in("/dev/shm"), before);
}

TEST_P(Processes, AStoppedOneIsNamedInTime) {
  OtherServer other(options_);
  lose_in_time(
      other, options_, [&] { other.stop(); }, 20s, 3s);
}

TEST_P(Processes, ManyMessagesAreWhole) {
  OtherServer other(options_);
  const auto b = node(worker(0), options_);
  b->connect(server(0), other.address);
  std::mt19937 dice(3);
  std::atomic<int> answered{0}, wrong{0};
  constexpr int kMessages = 300;
  for (int i = 0; i < kMessages; ++i) {
    const Buffer sent = pattern(dice() % 200000, static_cast<uint32_t>(i));
    RequestOptions options = within(50s, 20s);
    options.priority = static_cast<int>(dice() % 3);
    b->request(server(0), 0, message_of({i}, {sent}), options, [&, sent](Reply&& reply) {
      if (reply.error || reply.message.payload[0].text() != sent.text()) ++wrong;
      ++answered;
    });
  }
  EXPECT_TRUE(eventually([&] { return answered == kMessages; }, 50s));
  EXPECT_EQ(wrong, 0);
}

size_t resident_kib() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmRSS:")) return std::stoul(line.substr(6));
  }
  return 0;
}

uint16_t port_of(const std::string& address) {
  return static_cast<uint16_t>(std::stoul(address.substr(address.rfind(':') + 1)));
}

// Random bytes on the bare port, ZeroMQ frames with random content, and packets with random fields.

TEST(Fuzz, RandomBytesOnThePort) {
  const auto a = node(server(0));
  a->serve(0, echo);
  std::mt19937 dice(11);
  for (int i = 0; i < 200; ++i) {
    const int s = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port_of(a->address()));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::connect(s, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
    std::string bytes(dice() % 2000, '\0');
    for (char& byte : bytes) byte = static_cast<char>(dice());
    // Every other one starts as ZeroMQ does.
    if (i % 2 == 0) bytes.insert(0, std::string("\xff\0\0\0\0\0\0\0\x01\x7f\x03\0NULL", 16));
    [[maybe_unused]] const ssize_t sent = ::send(s, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    ::close(s);
  }
  const auto b = node(worker(0));
  b->connect(server(0), a->address());
  b->call(server(0), 0, message_of({1}, {pattern(100000, 1)}), within(20s));
}

TEST(Fuzz, RandomFrames) {
  // --gtest_repeat=10 sends a million.
  constexpr int kFrames = 100000;
  const auto a = node(server(0));
  a->serve(0, echo);
  const auto b = node(worker(0));
  b->connect(server(0), a->address());
  b->call(server(0), 0, {}, within(20s));
  std::mt19937 dice(7);
  void* const context = zmq_ctx_new();
  size_t before = 0;
  int sent = 0;
  for (int connection = 0; sent < kFrames; ++connection) {
    void* const socket = zmq_socket(context, ZMQ_DEALER);
    const int linger = 1000;
    zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof(linger));
    ASSERT_EQ(zmq_connect(socket, a->address().c_str()), 0);
    for (int i = 0; i < 1000; ++i) {
      std::string bytes(dice() % 300, '\0');
      for (char& byte : bytes) byte = static_cast<char>(dice());
      // Many are nearly right: fields of a header with values that are not.
      if (dice() % 2 == 0) {
        bytes.clear();
        for (int field = 1; field <= 14; ++field) {
          if (dice() % 2 == 0) continue;
          bytes += static_cast<char>(field << 3 | (field >= 12 ? 2 : 0));
          if (field >= 12) {
            bytes += static_cast<char>(dice() % 20);
            for (uint32_t n = dice() % 20; n > 0; --n) bytes += static_cast<char>(dice() % 128);
          } else {
            bytes += static_cast<char>(dice() % (field == 1 ? 12 : 128));
          }
        }
      }
      const bool more = i + 1 < 1000 && dice() % 3 == 0;
      zmq_send(socket, bytes.data(), bytes.size(), more ? ZMQ_SNDMORE : 0);
      ++sent;
    }
    zmq_close(socket);
    if (connection == 20) before = resident_kib();
  }
  zmq_ctx_term(context);
  b->call(server(0), 0, message_of({1}, {pattern(100000, 1)}), within(20s));
  EXPECT_LT(resident_kib(), before + 32 * 1024);
  EXPECT_EQ(b->stats().requests, 2u);
}

TEST(Fuzz, PlainAndForeignPeersAreRefusedWhereThereAreKeys) {
  NetworkOptions keys, others, plain;
  keys.keys = loomix_network_module.new_keys();
  others.keys = loomix_network_module.new_keys();
  const auto a = node(server(0), keys);
  std::atomic<int> handled{0};
  a->serve(0, [&](Incoming&& incoming) {
    ++handled;
    incoming.responder.reply({});
  });
  const std::string bare_address = a->address().substr(0, a->address().find('|'));
  const auto foreign = node(worker(1), others), naked = node(worker(2), plain),
             friendly = node(worker(0), keys);
  foreign->connect(server(0), a->address());
  naked->connect(server(0), bare_address);
  friendly->connect(server(0), a->address());
  EXPECT_THROW(foreign->call(server(0), 0, {}, within(500ms)), DeadlineError);
  EXPECT_THROW(naked->call(server(0), 0, {}, within(500ms)), DeadlineError);
  friendly->call(server(0), 0, {}, within(20s));
  EXPECT_EQ(handled, 1);
  // The address must have a key where this node has one, and beyond loopback both must.
  friendly->connect(server(5), bare_address);
  EXPECT_THROW(friendly->call(server(5), 0, {}, within(20s)), NetworkError);
  naked->connect(server(6), "tcp://192.0.2.1:4000");
  EXPECT_THROW(naked->call(server(6), 0, {}, within(20s)), NetworkError);
  plain.listen = "tcp://0.0.0.0:*";
  EXPECT_THROW(loomix_network_module.open(plain), ValueError);
}

}  // namespace
}  // namespace loomix::comm
