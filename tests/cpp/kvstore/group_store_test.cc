// SPDX-License-Identifier: Apache-2.0
#include "kvstore/group_store.h"

#include <gtest/gtest.h>

#include <future>

#include "base/error.h"
#include "tests/cpp/kvstore/store_fixture.h"

namespace loomix::kvstore {
namespace {

using Arrays = std::vector<NDArray>;
using Floats = std::vector<float>;

// Ranks with an engine each, as processes have.
class GroupStoreTest : public StoreTest {
 protected:
  GroupStoreTest() {
    auto groups = comm::make_inproc_groups(3, {std::chrono::seconds(20), std::chrono::seconds(20)});
    for (auto& group : groups) {
      engines_.push_back(engine::make_threaded_engine({}));
      runtimes_.push_back(std::make_unique<Runtime>(*engines_.back(), ops::builtin_table()));
      stores_.push_back(std::make_unique<GroupStore>(*runtimes_.back(), "dist_mpi", std::move(group)));
    }
  }
  NDArray filled_at(size_t rank, int64_t count, float value) {
    NDArray result(*engines_[rank], Shape{count}, DType::float32, Device::cpu());
    const Floats items(static_cast<size_t>(count), value);
    result.copy_from_host(items.data(), result.bytes());
    return result;
  }
  template <class Body>
  void on_ranks(Body body) {
    std::vector<std::future<void>> ranks;
    for (size_t rank = 0; rank < stores_.size(); ++rank)
      ranks.push_back(std::async(std::launch::async, [&body, rank] { body(rank); }));
    for (auto& one : ranks) one.get();
  }

  std::vector<std::unique_ptr<engine::Engine>> engines_;
  std::vector<std::unique_ptr<Runtime>> runtimes_;
  std::vector<std::unique_ptr<GroupStore>> stores_;
};

TEST_F(GroupStoreTest, AddsUpWhatAllRanksPushed) {
  constexpr int64_t kLarge = 200'001;  // of several blocks
  const float terms[] = {1e8F, 1.0F, -1e8F};
  on_ranks([&](size_t rank) {
    GroupStore& store = *stores_[rank];
    EXPECT_EQ(store.rank(), static_cast<int>(rank));
    EXPECT_EQ(store.num_workers(), 3);
    const auto own = static_cast<float>(rank + 1);
    store.init("a", filled_at(rank, 5, own));
    store.init(7, filled_at(rank, kLarge, own));
    const Arrays small = {filled_at(rank, 5, 0), filled_at(rank, 5, 0)};
    store.pull("a", small, 0);
    EXPECT_EQ(values(small[1]), Floats(5, 1)) << "the first value of rank 0 counts";
    const Arrays large = {filled_at(rank, kLarge, 0)};
    for (int round = 1; round <= 3; ++round) {
      const auto times = static_cast<float>(round);
      store.push(7, Arrays{filled_at(rank, kLarge, own * times)}, 1);
      store.push("a", Arrays{filled_at(rank, 5, own), filled_at(rank, 5, times)}, 0);
      store.pull("a", small, 0);
      store.pull(7, large, 0);
      EXPECT_EQ(values(small[0]), Floats(5, 6 + 3 * times));
      EXPECT_EQ(values(large[0]), Floats(static_cast<size_t>(kLarge), 6 * times));
    }
    store.barrier();
    store.push("a", Arrays{filled_at(rank, 5, terms[rank])}, 0);
    store.pull("a", small, 0);
    EXPECT_EQ(values(small[0]), Floats(5, (1e8F + 1.0F) - 1e8F)) << "in the order of ranks";
  });
}

TEST_F(GroupStoreTest, EachRankUpdatesItsCopy) {
  on_ranks([&](size_t rank) {
    GroupStore& store = *stores_[rank];
    store.init("w", filled_at(rank, 4, 10));
    store.set_updater([&](const Key&, const NDArray& merged, const NDArray& stored, int priority) {
      EXPECT_EQ(priority, -3);
      copy(merged, stored);
    });
    const Arrays out = {filled_at(rank, 4, 0)};
    store.push("w", Arrays{filled_at(rank, 4, static_cast<float>(rank))}, -3);
    store.pull("w", out, 0);
    EXPECT_EQ(values(out[0]), Floats(4, 3));
  });
}

TEST_F(GroupStoreTest, MistakesAreNamed) {
  GroupStore& store = *stores_[1];
  EXPECT_THROW(store.push("v", Arrays{filled_at(1, 4, 0)}, 0), KeyError);
  EXPECT_THROW(store.set_compression({}), NotImplementedError);
  EXPECT_THROW(make_group_store(runtime_, "dist_magic", {}), ValueError);
}

}  // namespace
}  // namespace loomix::kvstore
