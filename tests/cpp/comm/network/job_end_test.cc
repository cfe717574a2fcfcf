// SPDX-License-Identifier: Apache-2.0
// How a job of several processes ends.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <functional>

#include "tests/cpp/comm/groups.h"

namespace loomix::comm {
namespace {

// One whose thread gets the processor rarely, once it is `late`.
class LateTransport final : public Transport {
 public:
  LateTransport(std::unique_ptr<Transport> inner, const std::atomic<bool>& late)
      : inner_(std::move(inner)), late_(late) {}
  std::string address() const override { return inner_->address(); }
  LinkId connect(const std::string& address) override { return inner_->connect(address); }
  void close(LinkId link) override { inner_->close(link); }
  bool send(LinkId link, const Packet& packet) override { return inner_->send(link, packet); }
  void poll(TimePoint until, TransportEvents& events) override {
    inner_->poll(until, events);
    if (late_) std::this_thread::sleep_for(200ms);
  }
  void wake() noexcept override { inner_->wake(); }
  std::string offer(LinkId link) override { return inner_->offer(link); }
  std::string answer(LinkId link, std::string_view offer) override { return inner_->answer(link, offer); }
  void settle(LinkId link, std::string_view answer) override { inner_->settle(link, answer); }
  std::string objection(LinkId link, Role role) override { return inner_->objection(link, role); }
  std::string describe(LinkId link) const override { return inner_->describe(link); }

 private:
  const std::unique_ptr<Transport> inner_;
  const std::atomic<bool>& late_;
};

// A process that does what `body` does, and ends as programs do.
pid_t start_process(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child != 0) return child;
  alarm(60);
  body();
  std::exit(0);
}

std::string report_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) return "exit code " + std::to_string(WEXITSTATUS(status));
  return "signal " + std::to_string(WTERMSIG(status));
}

// The last rank hears at once that all others have ended. Its own word must have left before its process does, although its program
// still has the group.
TEST(JobEnd, TheLastRanksWordIsHeard) {
  if (!has_network()) GTEST_SKIP() << "built without the network";
  std::array<int, 2> where{};
  ASSERT_EQ(pipe(where.data()), 0);
  const auto rank = [](int number, std::unique_ptr<Transport> transport, std::string first, bool is_last) {
    static std::atomic<bool> late{false};
    static ProcessGroup* group = nullptr;
    group = make_network_group(
                [&] {
                  return NetworkRank{std::make_unique<LateTransport>(std::move(transport), late),
                                     {number, 2, first},
                                     quick_options()};
                },
                {20s, 40s})
                .release();
    WaitingGroup(*group).barrier();
    if (!is_last) return;
    std::this_thread::sleep_for(500ms);
    late = true;
  };
  const pid_t first = start_process([&] {
    auto transport = loomix_network_module.open({});
    const std::string address = transport->address() + '\n';
    if (write(where[1], address.data(), address.size()) < 0) std::_Exit(2);
    rank(0, std::move(transport), address.substr(0, address.size() - 1), false);
  });
  char text[200] = {};
  const ssize_t size = read(where[0], text, sizeof text);
  ASSERT_GT(size, 0);
  const std::string address(text, static_cast<size_t>(size) - 1);
  const pid_t second = start_process([&] { rank(1, loomix_network_module.open({}), address, true); });
  EXPECT_EQ(report_of(second), "exit code 0");
  EXPECT_EQ(report_of(first), "exit code 0");
  close(where[0]);
  close(where[1]);
}

}  // namespace
}  // namespace loomix::comm
