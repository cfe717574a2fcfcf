// SPDX-License-Identifier: Apache-2.0
//
// Views as they travel: whole, and as what has changed; and what the scheduler hears while nothing changes.
#include <gmock/gmock.h>

#include <random>

#include "kvstore/cluster/messages.h"
#include "tests/cpp/kvstore/cluster.h"

namespace loomix::kvstore {
namespace {

View first_view(size_t servers, size_t workers) {
  View view;
  view.number = 3 * kEpoch + 1;
  view.servers.resize(servers);
  view.workers.resize(workers);
  for (auto* members : {&view.servers, &view.workers}) {
    for (size_t rank = 0; rank < members->size(); ++rank) {
      Member& member = (*members)[rank];
      member.id = {
          {members == &view.servers ? comm::Role::server : comm::Role::worker, static_cast<int32_t>(rank)},
          rank + 1};
      member.address = "tcp://10.0.0." + std::to_string(rank);
    }
  }
  for (size_t group = 0; group < servers; ++group)
    view.chains.push_back({{static_cast<int32_t>(group), true, 1}});
  return view;
}

void change(View& view, std::mt19937_64& dice) {
  const auto one = [&](auto& list) -> auto& { return list[dice() % list.size()]; };
  Member& member = dice() % 2 == 0 ? one(view.servers) : one(view.workers);
  member.up = !member.up;
  member.since = view.number + 1;
  Chain& chain = one(view.chains);
  if (dice() % 3 == 0) {
    chain.push_back({static_cast<int32_t>(dice() % view.servers.size()), false, view.number});
    if (chain.size() > view.servers.size()) chain.erase(chain.begin());
  }
  if (dice() % 5 == 0) view.failure += "x";
  ++view.number;
}

bool same(const View& a, const View& b) {
  return ViewChanges(a).since(0).SerializeAsString() == ViewChanges(b).since(0).SerializeAsString();
}

TEST(Views, TravelAsChangesFromWhateverANodeHas) {
  std::mt19937_64 dice(5);
  View view = first_view(3, 5);
  ViewChanges changes(view);
  std::vector<View> all = {View(), view};
  for (int i = 0; i < 60; ++i) {
    change(view, dice);
    changes.note(view);
    all.push_back(view);
    for (int k = 0; k < 8; ++k) {
      const size_t base = dice() % all.size();
      const size_t has = base + dice() % (all.size() - base);
      View node = all[has];
      EXPECT_EQ(follow(node, changes.since(all[base].number)),
                node.number < view.number || has + 1 < all.size());
      EXPECT_TRUE(same(node, view));
      if (base == 0) continue;
      node = all[base - 1];  // too old for these changes
      EXPECT_FALSE(follow(node, changes.since(all[base].number)));
      EXPECT_TRUE(same(node, all[base - 1]));
    }
  }
  View large = first_view(100, 1000);
  ViewChanges of_large(large);
  large.workers[7].up = true;
  const int64_t before = large.number++;
  of_large.note(large);
  EXPECT_EQ(of_large.since(before).workers_size(), 1);
  EXPECT_LT(of_large.since(before).ByteSizeLong(), 80u);
}

TEST(Views, InventedOnesNeverCrash) {
  std::mt19937_64 dice(6);
  const View view = first_view(3, 5);
  ViewChanges changes(view);
  View later = view;
  change(later, dice);
  changes.note(later);
  for (int i = 0; i < 5000; ++i) {
    messages::View bad = changes.since(i % 2 == 0 ? 0 : view.number);
    std::string bytes = bad.SerializeAsString();
    for (int k = 0; k < 2; ++k) bytes[dice() % bytes.size()] = static_cast<char>(dice());
    if (dice() % 4 == 0) bytes.resize(dice() % bytes.size());
    if (!bad.ParseFromString(bytes)) continue;
    if (dice() % 4 == 0) bad.set_server_count(static_cast<uint32_t>(dice() % 8));
    if (dice() % 4 == 0 && bad.chains_size() > 0) bad.mutable_chains()->RemoveLast();
    View node = i % 3 == 0 ? View() : view;
    try {
      follow(node, bad);
    } catch (const NetworkError&) {
      continue;
    }
    EXPECT_EQ(node.chains.size(), node.servers.size());
  }
}

TEST(Views, WhatIsWrongIsNamed) {
  const View view = first_view(3, 5);
  const auto refusal = [&](const auto& change) {
    messages::View bad = ViewChanges(view).since(0);
    change(bad);
    View node;
    try {
      follow(node, bad);
    } catch (const NetworkError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  using testing::HasSubstr;
  EXPECT_THAT(refusal([](auto& bad) { bad.set_policy(7); }), HasSubstr("View.policy 7; expected 0 to 2"));
  EXPECT_THAT(refusal([](auto& bad) { bad.mutable_servers(1)->set_rank(3); }),
              HasSubstr("Member.rank 3; expected 0 to 2"));
  EXPECT_THAT(refusal([](auto& bad) { bad.mutable_chains(2)->clear_links(); }),
              HasSubstr("Chain.links, counted, 0; expected 1 to 3"));
  EXPECT_THAT(refusal([](auto& bad) { bad.mutable_chains(2)->mutable_links(0)->set_server(-1); }),
              HasSubstr("Link.server -1; expected 0 to 2"));
}

// They wait at servers. The scheduler hears heartbeats only: two ends of a link make at most two exchanges in their time.
TEST_F(ClusterTest, PullsThatWaitCostTheSchedulerNothing) {
  constexpr int kKeys = 300;
  Cluster cluster(runtime_, {.servers = 2, .workers = 3, .deadline = 60s, .retry_after = 2s});
  const auto packets = [&] {
    const comm::EndpointStats stats = cluster.scheduler->traffic();
    return static_cast<double>(stats.sent_packets + stats.received_packets);
  };
  for (const auto& store : cluster.workers) {
    for (int64_t key = 0; key < kKeys; ++key) store->init(key, filled(4, 0));
  }
  std::vector<NDArray> outs(2 * kKeys);
  for (size_t i = 0; i < outs.size(); ++i) {
    DistStore& store = *cluster.workers[i % 2];
    const auto key = static_cast<int64_t>(i / 2);
    outs[i] = filled(4, 0);
    store.push(key, std::vector{filled(4, 1)}, 0);
    store.pull(key, {&outs[i], 1}, 0);
  }
  const double before = packets();
  const comm::TimePoint begin = comm::Clock::now();
  std::this_thread::sleep_for(1s);
  const double seconds = std::chrono::duration<double>(comm::Clock::now() - begin).count();
  EXPECT_LT(packets() - before, 5 * 4 / 0.05 * seconds + 20);
  for (int64_t key = 0; key < kKeys; ++key) cluster.workers[2]->push(key, std::vector{filled(4, 1)}, 0);
  for (const NDArray& out : outs) EXPECT_EQ(values(out)[0], 3);
}

}  // namespace
}  // namespace loomix::kvstore
