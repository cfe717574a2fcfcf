// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <array>
#include <cstring>
#include <functional>
#include <future>
#include <numeric>
#include <thread>

#include "base/error.h"
#include "comm/link_times.h"
#include "tests/cpp/comm/groups.h"

namespace loomix::comm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

void on_all(int size, const std::function<void(WaitingGroup&)>& body,
            const GroupOptions& options = {20s, 40s}, const ArtificialLinks& between = {}) {
  auto groups = make_inproc_groups(size, options, between);
  std::vector<std::thread> threads;
  for (auto& group : groups) {
    threads.emplace_back([&body, own = std::move(group)]() mutable {
      WaitingGroup waiting(*own);
      body(waiting);
      own.reset();  // the rank ends
    });
  }
  for (std::thread& thread : threads) thread.join();
}

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const NetworkError& error) {
    return error.what();
  }
  return "no error";
}

class Groups : public GroupTest {};
INSTANTIATE_TEST_SUITE_P(Links, Groups, testing::Values("inproc", "endpoint", "tcp", "tls", "shared_memory"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(Groups, Collectives) {
  for (const int size : {1, 2, 3, 5}) {
    on_all(size, check_group<WaitingGroup>);
  }
}

TEST_P(Groups, SumsAreInTheOrderOfRanks) {
  // 1e8 + 1 - 1e8 depends on the order in float32.
  const float values[] = {1e8f, 1.f, -1e8f, 3.f, 1e7f};
  on_all(4, [&](WaitingGroup& group) {
    for (const size_t count : {size_t{1}, size_t{300'007}}) {
      std::vector<float> in(count, values[group.rank()]), sum(count);
      float expected = values[0];
      for (int rank = 1; rank < group.size(); ++rank) expected += values[rank];
      group.all_reduce(in.data(), sum.data(), count, DType::float32, Reduction::sum);
      EXPECT_EQ(sum, std::vector<float>(count, expected));
      group.all_reduce(in.data(), in.data(), count, DType::float32, Reduction::sum);
      EXPECT_EQ(in, std::vector<float>(count, expected));
    }
  });
}

TEST_P(Groups, LongBroadcastsGoThroughAll) {
  on_all(4, [&](WaitingGroup& group) {
    std::vector<int> data(1'000'003, group.rank() == group.size() - 1 ? 5 : 0);
    group.broadcast(data.data(), data.size() * sizeof(int), group.size() - 1);
    EXPECT_EQ(data, std::vector<int>(1'000'003, 5));
    const uint64_t all = data.size() * sizeof(int);
    const GroupTraffic traffic = group->traffic();
    uint64_t sent = 0;
    for (const uint64_t bytes : traffic.sent) sent += bytes;
    EXPECT_LE(sent, 2 * all);
    EXPECT_EQ(traffic.calls, 1u);
  });
}

TEST_P(Groups, BytesAreThoseOfARing) {
  on_all(4, [](WaitingGroup& group) {
    constexpr size_t kCount = 400'000;
    std::vector<float> values(kCount, 1);
    group.all_reduce(values.data(), values.data(), kCount, DType::float32, Reduction::sum);
    const GroupTraffic traffic = group->traffic();
    uint64_t sent = 0, received = 0;
    for (const uint64_t bytes : traffic.sent) sent += bytes;
    for (const uint64_t bytes : traffic.received) received += bytes;
    EXPECT_EQ(sent, 2 * 3 * kCount * sizeof(float) / 4);
    EXPECT_EQ(received, sent);
    EXPECT_EQ(traffic.sent[static_cast<size_t>(group.rank())], 0u);
    EXPECT_GT(traffic.waited_s, 0);
  });
}

// Many calls of several groups at a time, which begin in other orders on each rank: nobody waits for a thread.
TEST(InprocGroup, GroupsDoNotWaitForEachOther) {
  constexpr int kRanks = 3, kGroups = 6;
  std::vector<std::vector<std::unique_ptr<ProcessGroup>>> groups(kRanks);
  for (auto& group : make_inproc_groups(kRanks, {20s, 40s})) {
    auto& own = groups[static_cast<size_t>(group->rank())];
    for (int i = 0; i < kGroups; ++i) own.push_back(group->subgroup(std::vector{0, 1, 2}));
  }
  std::atomic<int> over{0};
  std::vector<std::vector<float>> values(kRanks * kGroups, std::vector<float>(100'000, 1));
  for (int rank = 0; rank < kRanks; ++rank) {
    for (int i = 0; i < kGroups; ++i) {
      const auto g = static_cast<size_t>((i + 2 * rank) % kGroups), r = static_cast<size_t>(rank);
      float* const data = values[r * kGroups + g].data();
      groups[r][g]->all_reduce(data, data, 100'000, DType::float32, Reduction::sum,
                               [&](std::exception_ptr error) { over += error ? 100 : 1; });
    }
  }
  for (int i = 0; i < 2000 && over < kRanks * kGroups; ++i) std::this_thread::sleep_for(5ms);
  EXPECT_EQ(over, kRanks * kGroups);
  for (const auto& one : values) EXPECT_EQ(one.back(), 3);
}

TEST_P(Groups, MessagesWithTagsComeInAnyOrder) {
  on_all(2, [](WaitingGroup& group) {
    std::vector<int> large(100'000, 7);
    int small = 5, other = 6;
    const int peer = 1 - group.rank();
    if (group.rank() == 0) {
      std::promise<void> sent;
      group->send(large.data(), large.size() * sizeof(int), peer, 3,
                  [&](std::exception_ptr) { sent.set_value(); });
      group.send(&small, sizeof small, peer, 1);
      group.send(&other, sizeof other, peer, 1);
      sent.get_future().get();
    } else {
      std::vector<int> got(100'000);
      int first = 0, second = 0;
      group.receive(&first, sizeof first, peer, 1);
      group.receive(&second, sizeof second, peer, 1);
      group.receive(got.data(), got.size() * sizeof(int), peer, 3);
      EXPECT_EQ(first, 5);
      EXPECT_EQ(second, 6);
      EXPECT_EQ(got, large);
    }
  });
}

// Long ones and short ones, whoever is first.
TEST(InprocGroup, MessagesGoInParts) {
  const std::vector<size_t> sizes[] = {{100, Parts::kMostBytes, 7}, {3, 5}};
  on_all(2, [&](WaitingGroup& group) {
    EXPECT_FALSE(group->takes_parts(group.rank()));
    ASSERT_TRUE(group->takes_parts(1 - group.rank()));
    uint64_t all = 0;
    for (int tag = 0; tag < 2; ++tag) {
      std::vector<size_t> used;
      const auto parts = std::make_shared<Parts>();
      parts->sizes = sizes[tag];
      parts->fill = [&](size_t part, std::byte* to) {
        std::memset(to, static_cast<int>(part + 1), sizes[tag][part]);
      };
      parts->use = [&](size_t part, const std::byte* from) {
        used.push_back(part);
        for (size_t i = 0; i < sizes[tag][part]; ++i) ASSERT_EQ(from[i], static_cast<std::byte>(part + 1));
      };
      all += parts->bytes();
      wait_for_call([&](ProcessGroup::Done done) {
        if (group.rank() == tag) group->send_parts(parts, 1 - tag, tag, std::move(done));
        else group->receive_parts(parts, tag, tag, std::move(done));
      });
      std::vector<size_t> expected(group.rank() == tag ? 0 : parts->sizes.size());
      std::iota(expected.begin(), expected.end(), size_t{0});
      EXPECT_EQ(used, expected);
    }
    const GroupTraffic traffic = group->traffic();
    const auto other = static_cast<size_t>(1 - group.rank());
    EXPECT_EQ(traffic.sent[other] + traffic.received[other], all);
  });
}

TEST_P(Groups, EachSendsToEachWhatItLikes) {
  on_all(3, [](WaitingGroup& group) {
    const auto me = static_cast<size_t>(group.rank());
    // Rank r sends r * s + 1 numbers to s.
    std::vector<size_t> out_sizes, in_sizes;
    std::vector<int> sent;
    for (size_t r = 0; r < 3; ++r) {
      out_sizes.push_back((me * r + 1) * sizeof(int));
      in_sizes.push_back((r * me + 1) * sizeof(int));
      sent.insert(sent.end(), me * r + 1, static_cast<int>(10 * me + r));
    }
    std::vector<int> got(3 + 3 * me), expected;
    for (size_t r = 0; r < 3; ++r) expected.insert(expected.end(), r * me + 1, static_cast<int>(10 * r + me));
    wait_for_call([&](ProcessGroup::Done done) {
      group->all_to_all(sent.data(), out_sizes, got.data(), in_sizes, std::move(done));
    });
    EXPECT_EQ(got, expected);
  });
}

TEST(InprocGroup, ArtificialLinksTakeTheirTime) {
  const auto seconds = [](const std::function<void()>& body) {
    const auto begin = std::chrono::steady_clock::now();
    body();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  on_all(3, [](WaitingGroup& group) { check_group(group); }, {20s, 40s}, {1e9, 200us});
  on_all(3,
         [&](WaitingGroup& group) {
           std::vector<std::byte> data(3'000'000), all(9'000'000);
           group.barrier();
           // 6 MB come in at 100 MB/s, and as many go out meanwhile.
           const double gather = seconds([&] { group.all_gather(data.data(), all.data(), data.size()); });
           EXPECT_GE(gather, 0.060);
           EXPECT_LE(gather, 0.5);
           group.barrier();
           const double barriers = seconds([&] {
             for (int i = 0; i < 5; ++i) group.barrier();
           });
           EXPECT_GE(barriers, 0.025);
           EXPECT_LE(barriers, 0.5);
         },
         {20s, 40s}, {100e6, 5ms});
  EXPECT_THROW(make_inproc_groups(2, {}, {-1, 0us}), ValueError);
}

// Rank 0 sends to 2, then 1 does, whose message waits for the line into 2; what 1 sends to 0 afterwards waits for its own line alone.
TEST(InprocGroup, ALineThatIsBusyHoldsUpNoOther) {
  const auto work = [](WaitingGroup& group) {
    std::vector<std::byte> data(20'000'000), place(data.size());
    const auto send = [&](int to) { group.send(data.data(), data.size(), to); };
    const auto receive = [&](std::vector<std::byte>& there, int from) {
      group.receive(there.data(), there.size(), from);
    };
    group.barrier();
    const auto begin = std::chrono::steady_clock::now();
    if (group.rank() == 0) {
      const auto sending = std::async(std::launch::async, [&] { send(2); });
      receive(place, 1);
      // 1 s each: one after the other on the line out of 1, and not after all that goes into 2.
      EXPECT_LE(std::chrono::steady_clock::now() - begin, 2700ms);
    } else if (group.rank() == 1) {
      std::this_thread::sleep_for(50ms);
      const auto sending = std::async(std::launch::async, [&] { send(2); });
      std::this_thread::sleep_for(20ms);
      send(0);
    } else {
      const auto receiving = std::async(std::launch::async, [&] { receive(data, 0); });
      receive(place, 1);
    }
  };
  on_all(3, work, {20s, 40s}, {20e6, 0us});
}

TEST(InprocGroup, LinksAreMeasured) {
  on_all(3,
         [](WaitingGroup& group) {
           const std::vector<LinkTime> times =
               measure_links(*group.operator->(), std::array{size_t{8}, size_t{4} << 20});
           ASSERT_EQ(times.size(), group.rank() == 0 ? 4u : 0u);
           if (times.empty()) return;
           EXPECT_EQ(times[2].rank, 2);
           EXPECT_TRUE(times[2].same_machine);
           EXPECT_EQ(times[3].bytes, size_t{4} << 20);
           EXPECT_GE(times[2].one_way_s, 1e-3);
           EXPECT_LE(times[2].one_way_s, 1e-2);
           EXPECT_GE(times[3].one_way_s, 4e-3);
           EXPECT_LE(times[3].one_way_s, 1e-1);
           EXPECT_GE(times[3].both_ways_s, 4e-3) << "a line each way";
         },
         {20s, 40s}, {1e9, 1ms});
}

TEST(InprocGroup, TracesHaveATrackForEachRank) {
  engine::Trace trace;
  trace.start();
  GroupOptions options{20s, 40s};
  options.trace = &trace;
  on_all(
      2,
      [](WaitingGroup& group) {
        std::vector<float> values(400'000, 1);
        group.all_reduce(values.data(), values.data(), values.size(), DType::float32, Reduction::sum);
      },
      options);
  const std::string text = trace.to_json();
  EXPECT_THAT(text, AllOf(HasSubstr("rank 0 from rank 1"), HasSubstr("rank 1 to rank 0"),
                          HasSubstr("all_reduce 1: ")));
}

TEST_P(Groups, SplitsHaveTheirOwnRanks) {
  on_all(6, [](WaitingGroup& group) {
    const int me = group.rank();
    const auto row = group->split(me / 3), column = group->split(me % 3, -me);
    EXPECT_EQ(row->size(), 3);
    EXPECT_EQ(row->rank(), me % 3);
    EXPECT_EQ(column->size(), 2);
    EXPECT_EQ(column->rank(), me < 3 ? 1 : 0) << "by keys";
    int value = me, sum = 0;
    WaitingGroup(*row).all_reduce(&value, &sum, 1, DType::int32, Reduction::sum);
    EXPECT_EQ(sum, me < 3 ? 3 : 12);
    WaitingGroup(*column).all_reduce(&value, &sum, 1, DType::int32, Reduction::sum);
    EXPECT_EQ(sum, 2 * (me % 3) + 3);
    if (me < 2) {
      const auto pair = group->subgroup(std::vector{1, 0});
      EXPECT_EQ(pair->rank(), 1 - me);
      WaitingGroup(*pair).barrier();
      EXPECT_THROW(group->subgroup(std::vector{3}), ValueError);
      EXPECT_THROW(group->subgroup(std::vector{me, me}), ValueError);
    }
  });
}

TEST_P(Groups, WhoIsLateIsWaitedForAndThenNamed) {
  on_all(3,
         [](WaitingGroup& group) {
           group.barrier();
           if (group.rank() == 2) std::this_thread::sleep_for(1500ms);
           group.barrier();
           if (group.rank() == 2) std::this_thread::sleep_for(3500ms);
           const std::string error = error_of([&] { group.barrier(); });
           EXPECT_THAT(
               error,
               AllOf(HasSubstr("in barrier 3: rank 2 has not called it (it is at barrier 2, in the program)"),
                     HasSubstr("of 3 waited")));
           EXPECT_EQ(error_of([&] { group.barrier(); }), error);
           if (group.rank() != 2) std::this_thread::sleep_for(2s);
         },
         {1s, 2500ms});
}

// Rank 0 waits for 1, which waits for 2, which is in its program: the error of whoever finds it names rank 2, or says how to get there.
TEST_P(Groups, WhoIsLateSaysWhatItWaitsFor) {
  on_all(3,
         [](WaitingGroup& group) {
           group.barrier();
           int value = 0;
           std::string error;
           if (group.rank() == 2) std::this_thread::sleep_for(3s);
           if (group.rank() == 1) error = error_of([&] { group.receive(&value, sizeof value, 2, 9); });
           if (group.rank() == 0) {
             error = error_of([&] { group.receive(&value, sizeof value, 1, 7); });
             EXPECT_THAT(
                 error,
                 testing::AnyOf(HasSubstr("receive of 4 bytes from rank 1 with tag 7: rank 1 has not sent it "
                                          "(it is at barrier 1, "
                                          "waiting for rank 2 in receive of 4 bytes from rank 2 with tag 9)"),
                                HasSubstr("rank 2 has not sent it (it is at barrier 1, in the program)")));
           }
           if (group.rank() < 2) {
             EXPECT_THAT(error, HasSubstr("has not sent it"));
             std::this_thread::sleep_for(2s);
           }
         },
         {1s, 2s});
}

// The links may still have it: the callable goes when they are done with it.
TEST(InprocGroup, WhatFailedKeepsItsMemory) {
  auto groups = make_inproc_groups(2, {20s, 40s});
  auto memory = std::make_shared<std::vector<int>>(100'000, 7);
  const std::weak_ptr<std::vector<int>> seen = memory;
  std::promise<bool> failed;
  groups[0]->send(memory->data(), memory->size() * sizeof(int), 1, 3,
                  [memory, &failed](std::exception_ptr error) { failed.set_value(error != nullptr); });
  memory.reset();
  groups[1]->give_up("enough");
  EXPECT_TRUE(failed.get_future().get());
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(seen.expired());
  groups.clear();
  for (int i = 0; i < 1000 && !seen.expired(); ++i) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(seen.expired());
}

TEST_P(Groups, ARankThatEndedIsNamedAtOnce) {
  on_all(3, [](WaitingGroup& group) {
    if (group.rank() == 2) return group.barrier();
    const auto begin = std::chrono::steady_clock::now();
    const std::string error = error_of([&] {
      group.barrier();  // which another one's error may overtake
      group.barrier();
    });
    EXPECT_TRUE(error.find("rank 2 has ended; it made 1 calls") != std::string::npos) << error;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
  });
}

TEST_P(Groups, WhoGivesUpTellsAllWhy) {
  on_all(3, [](WaitingGroup& group) {
    if (group.rank() == 1) group->give_up("its program ended with ValueError: my mistake");
    const std::string error = error_of([&] { group.barrier(); });
    EXPECT_THAT(error, HasSubstr("rank 1 has given up: its program ended with ValueError: my mistake"));
    std::this_thread::sleep_for(100ms);
  });
}

TEST_P(Groups, WhoGaveUpTellsGroupsThatAreMadeLater) {
  on_all(2, [](WaitingGroup& group) {
    if (group.rank() == 1) group->give_up("its program ended with ValueError: my mistake");
    const std::string first = error_of([&] { group.barrier(); });
    const auto later = group->subgroup(std::vector{0, 1});
    WaitingGroup waiting(*later);
    EXPECT_THAT(error_of([&] { waiting.barrier(); }),
                HasSubstr("rank 1 has given up: its program ended with ValueError: my mistake"));
    std::this_thread::sleep_for(100ms);
  });
}

TEST_P(Groups, DifferentCallsAreNoticed) {
  on_all(2, [](WaitingGroup& group) {
    std::vector<float> in(400'000), out(400'000);
    const std::string error = error_of([&] {
      group.all_reduce(in.data(), out.data(), group.rank() == 0 ? 400'000 : 300'000, DType::float32,
                       Reduction::sum);
    });
    EXPECT_THAT(error, AllOf(HasSubstr("of 400000 float32"), HasSubstr("of 300000 float32"),
                             HasSubstr("rank 0"), HasSubstr("rank 1")));
  });
  on_all(2, [](WaitingGroup& group) {
    float value[4] = {};
    const std::string error = error_of([&] {
      group.rank() == 0 ? group.barrier() : group.broadcast(value, sizeof value, 1);
      group.barrier();
    });
    EXPECT_THAT(error,
                AllOf(HasSubstr("calls barrier"), HasSubstr("calls broadcast of 16 bytes from rank 1")));
  });
  EXPECT_THROW(make_inproc_groups(0), ValueError);
}

}  // namespace
}  // namespace loomix::comm
