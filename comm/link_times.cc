// SPDX-License-Identifier: Apache-2.0
#include "comm/link_times.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <future>
#include <memory>

namespace loomix::comm {
namespace {

constexpr int kRounds = 3;
constexpr double kRoundSeconds = 0.02;
constexpr double kMostTurns = 200;

// One call under way.
class Call {
 public:
  template <class Start>
  explicit Call(Start start) : over_(std::make_shared<std::promise<void>>()), future_(over_->get_future()) {
    start(
        [over = over_](std::exception_ptr error) { error ? over->set_exception(error) : over->set_value(); });
  }
  void wait() { future_.get(); }

 private:
  const std::shared_ptr<std::promise<void>> over_;
  std::future<void> future_;
};

// The memory is kept by the calls, which a broken group lets go of late.
using Memory = std::shared_ptr<std::vector<std::byte>>;

class Pair {
 public:
  Pair(ProcessGroup& group, int other, size_t bytes)
      : group_(group),
        other_(other),
        out_(std::make_shared<std::vector<std::byte>>(bytes)),
        in_(std::make_shared<std::vector<std::byte>>(bytes)) {}
  Call send() {
    return Call([&](auto over) {
      group_.send(out_->data(), out_->size(), other_, 0,
                  [over, kept = out_](std::exception_ptr e) { over(e); });
    });
  }
  Call receive() {
    return Call([&](auto over) {
      group_.receive(in_->data(), in_->size(), other_, 0,
                     [over, kept = in_](std::exception_ptr e) { over(e); });
    });
  }
  void there_and_back() {
    if (group_.rank() == 0) send().wait();
    receive().wait();
    if (group_.rank() != 0) send().wait();
  }
  void both() {
    Call in = receive(), out = send();
    out.wait();
    in.wait();
  }

 private:
  ProcessGroup& group_;
  const int other_;
  const Memory out_, in_;
};

// Of a turn, by rounds of so many turns as both ranks agree on.
template <class Turn>
double fastest(ProcessGroup& group, int other, Turn turn) {
  const auto seconds_of = [&](int turns) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < turns; ++i) turn();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / turns;
  };
  turn();
  double best = seconds_of(1);
  const auto turns =
      std::make_shared<int>(static_cast<int>(std::clamp(kRoundSeconds / best, 1.0, kMostTurns)));
  Call([&](auto over) {
    const auto done = [over, turns](std::exception_ptr error) { over(error); };
    if (group.rank() == 0) group.send(turns.get(), sizeof(int), other, 0, done);
    else group.receive(turns.get(), sizeof(int), other, 0, done);
  }).wait();
  for (int round = 0; round < kRounds; ++round) best = std::min(best, seconds_of(*turns));
  return best;
}

}  // namespace

std::vector<LinkTime> measure_links(ProcessGroup& group, std::span<const size_t> sizes) {
  using Host = std::array<char, 256>;
  const auto own = std::make_shared<Host>();
  const auto hosts = std::make_shared<std::vector<Host>>(static_cast<size_t>(group.size()));
  gethostname(own->data(), own->size() - 1);
  Call([&](auto over) {
    group.all_gather(own->data(), hosts->data(), sizeof(Host),
                     [over, own, hosts](std::exception_ptr e) { over(e); });
  }).wait();
  std::vector<LinkTime> times;
  for (int other = 1; other < group.size(); ++other) {
    if (group.rank() == 0 || group.rank() == other) {
      for (const size_t bytes : sizes) {
        const int peer = group.rank() == 0 ? other : 0;
        Pair pair(group, peer, bytes);
        const double there_and_back = fastest(group, peer, [&] { pair.there_and_back(); });
        const double both = fastest(group, peer, [&] { pair.both(); });
        if (group.rank() != 0) continue;
        times.push_back(
            {other, (*hosts)[0] == (*hosts)[static_cast<size_t>(other)], bytes, there_and_back / 2, both});
      }
    }
    Call([&](auto over) { group.barrier([over](std::exception_ptr e) { over(e); }); }).wait();
  }
  return times;
}

}  // namespace loomix::comm
