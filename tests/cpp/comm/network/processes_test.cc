// SPDX-License-Identifier: Apache-2.0
// Real processes: one that is killed is named in time and leaves nothing behind.
#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
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

// Of this project's files; others come and go.
std::set<std::string> names_in(const char* folder) {
  std::set<std::string> names;
  if (DIR* const open = opendir(folder)) {
    while (const dirent* const entry = readdir(open)) {
      if (std::string_view(entry->d_name).starts_with("loomix")) names.insert(entry->d_name);
    }
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
  std::mutex mutex;
  std::string lost;
  std::atomic<int> ended{0};
  const auto b = node(worker(0), options, silence);
  b->on_peer([&](const PeerEvent& event) {
    const std::lock_guard lock(mutex);
    if (event.state != PeerState::up) lost = event.reason;
  });
  b->connect(server(0), other.address);
  const Buffer large = pattern(300000, 1);
  EXPECT_EQ(b->call(server(0), 0, message_of({}, {large}), within(20s)).payload[0].text(), large.text());
  ASSERT_TRUE(
      eventually([&] { return b->peers()[0].route == (options.shared_memory ? "shared memory" : "tcp"); }));
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

// All say it while the server is busy, so that it finds goodbyes, ends of connections and of processes together.
TEST_P(Processes, GoodbyesAreHeardBeforeConnectionsBreak) {
  constexpr int kGuests = 6;
  std::mutex mutex;
  std::vector<PeerState> ends;
  std::atomic<bool> is_busy{false}, may_go_on{false};
  const auto host = node(server(0), options_);
  host->serve(0, echo);
  host->serve(1, [&](Incoming&& incoming) {
    is_busy = true;
    eventually([&] { return may_go_on.load(); });
    incoming.responder.reply({});
  });
  host->on_peer([&](const PeerEvent& event) {
    const std::lock_guard lock(mutex);
    if (event.state != PeerState::up) ends.push_back(event.state);
  });
  std::vector<std::unique_ptr<Endpoint>> guests;
  for (int i = 0; i < kGuests; ++i) {
    guests.push_back(node(worker(i), options_));
    guests.back()->connect(server(0), host->address());
    guests.back()->call(server(0), 0, message_of({}, {pattern(300000, 1)}), within(20s));
    ASSERT_TRUE(eventually([&] {
      return guests.back()->peers()[0].route == (options_.shared_memory ? "shared memory" : "tcp");
    }));
  }
  guests[0]->request(server(0), 1, {}, within(20s), [](Reply&&) {});
  ASSERT_TRUE(eventually([&] { return is_busy.load(); }));
  guests.clear();
  may_go_on = true;
  const auto all_ended = [&] {
    const std::lock_guard lock(mutex);
    return ends.size() == kGuests;
  };
  EXPECT_TRUE(eventually(all_ended));
  const std::lock_guard lock(mutex);
  EXPECT_EQ(std::ranges::count(ends, PeerState::left), kGuests);
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

}  // namespace
}  // namespace loomix::comm
