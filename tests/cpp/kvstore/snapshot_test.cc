// SPDX-License-Identifier: Apache-2.0
#include "kvstore/cluster/snapshot.h"

#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "tests/cpp/kvstore/cluster.h"
#include "tests/cpp/kvstore/requests.h"

namespace loomix::kvstore {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr SnapshotName kName = {.groups = 3, .workers = 2, .group = 1, .epoch = 5, .round = 40};

class SnapshotTest : public StoreTest {
 protected:
  void SetUp() override {
    folder_ = (fs::path(::testing::TempDir()) /
               (std::string("snapshots-") + ::testing::UnitTest::GetInstance()->current_test_info()->name() +
                "-" + std::to_string(::getpid())))
                  .string();
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  static Sender sender(int64_t worker) { return {worker, 7 + worker}; }
  // A group of two workers with the keys a, b and "still", which is never pushed.
  void begin(ShardGroup& group, Mode mode = Mode::sync) {
    join(group);
    group.apply(optimizer_of(sender(0), {"sgd", {{"learning_rate", "0.5"}, {"momentum", "0.9"}}}), {});
    for (const std::string key : {"sa", "sb", "still"}) {
      const comm::Buffer first = floats({1, 2, 3});
      group.apply(init_of(sender(0), key, DType::float32, mode, 2), {&first, 1});
    }
  }
  static void join(ShardGroup& group) {
    for (const int64_t worker : {0, 1}) group.apply(join_of(sender(worker)), {});
  }
  static void push(ShardGroup& group, int64_t worker, const std::string& key, int64_t number) {
    const auto value = static_cast<float>(number * 10 + worker);
    apply_push(group, push_of(sender(worker), key, number), floats({value, value / 3, 1}));
  }
  void push_all(ShardGroup& group, int64_t number) {
    for (const std::string key : {"sa", "sb"}) {
      for (const int64_t worker : {0, 1}) push(group, worker, key, number);
    }
  }
  std::vector<float> value_of(const ShardGroup& group, const std::string& key, int64_t number) {
    return values(found(group, pull_of(sender(0), key, number)));
  }
  // What comes back from a file.
  GroupCopy through_file(const ShardGroup::Picture& picture) {
    for (const NDArray& array : picture.arrays) array.wait_to_read();
    fs::remove(path());
    EXPECT_TRUE(write_snapshot(folder_, kName, picture));
    return read_snapshot(folder_, kName);
  }
  static void load(ShardGroup& group, const GroupCopy& copy) { group.load(copy.state, copy.arrays); }
  std::string path() const { return snapshot_path(folder_, kName); }
  std::string content() const {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void expect_refused(const std::string& content, const std::string& what) {
    std::ofstream(path(), std::ios::binary) << content;
    try {
      read_snapshot(folder_, kName);
      ADD_FAILURE() << "accepted: " << what;
    } catch (const FileError& error) {
      EXPECT_THAT(error.what(), HasSubstr(path())) << what;
    }
  }

  std::string folder_;
};

TEST_F(SnapshotTest, ACutIsWhatEveryShardWasAfterItsRound) {
  ShardGroup group(runtime_);
  begin(group);
  group.take_cuts(2);
  push_all(group, 1);
  EXPECT_FALSE(group.take_cut());
  for (const int64_t number : {2, 3}) {  // this key is ahead
    for (const int64_t worker : {0, 1}) push(group, worker, "sa", number);
  }
  push(group, 1, "sa", 4);
  EXPECT_FALSE(group.take_cut());
  const std::vector<float> after = value_of(group, "sa", 2);
  for (const int64_t worker : {0, 1}) push(group, worker, "sb", 2);
  const std::optional<ShardGroup::Cut> cut = group.take_cut();
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->round, 2);

  ShardGroup again(runtime_);
  load(again, through_file(cut->picture));
  join(again);
  EXPECT_EQ(value_of(again, "sa", 2), after);
  EXPECT_EQ(value_of(again, "still", 0), (std::vector<float>{1, 2, 3}));
  // Both go on alike, so momentum and counts are there, too.
  for (const int64_t worker : {0, 1}) push(again, worker, "sa", 3);
  EXPECT_EQ(value_of(again, "sa", 3), value_of(group, "sa", 3));
}

// Rows that nobody pushed keep their momentum; a round that is not complete is in a copy, too.
TEST_F(SnapshotTest, RowsGoOnAlike) {
  const auto push_row = [&](ShardGroup& group, int64_t worker, int64_t row, int64_t number) {
    comm::Buffer bytes = comm::Buffer::allocate(sizeof(int64_t) + sizeof(float));
    const float value = static_cast<float>(number) / 4;
    std::memcpy(bytes.writable(), &row, sizeof row);
    std::memcpy(bytes.writable() + sizeof row, &value, sizeof value);
    apply_push(group, push_of(sender(worker), "sa", number, {Packing::Form::rows, 1}), bytes);
  };
  const auto copied = [&](const ShardGroup::Picture& picture) {
    auto again = std::make_unique<ShardGroup>(runtime_);
    load(*again, through_file(picture));
    return again;
  };
  ShardGroup group(runtime_);
  begin(group);
  group.take_cuts(2);
  for (const int64_t number : {1, 2}) {
    for (const int64_t worker : {0, 1}) push_row(group, worker, worker, number);
    for (const int64_t worker : {0, 1}) push(group, worker, "sb", number);
  }
  const auto restored = copied(group.take_cut().value().picture);
  join(*restored);
  for (ShardGroup* one : {&group, restored.get()}) push_row(*one, 0, 1, 3);
  const auto replica = copied(group.picture());
  for (ShardGroup* one : {&group, restored.get(), replica.get()}) push_row(*one, 1, 1, 3);
  const std::vector<float> expected = {1 - 0.125F - 0.3625F, 2 - 0.125F - 0.3625F - 1.07625F, 3};
  for (ShardGroup* one : {&group, restored.get(), replica.get()}) {
    const std::vector<float> got = value_of(*one, "sa", 3);
    for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(got[i], expected[i], 1e-6) << i;
  }
}

TEST_F(SnapshotTest, KeysThatArePushedMoreSeldomHaveNoCommonCut) {
  ShardGroup group(runtime_);
  begin(group);
  group.take_cuts(2);
  push_all(group, 1);
  for (int64_t number = 2; number <= 9; ++number) {
    for (const int64_t worker : {0, 1}) push(group, worker, "sa", number);
    EXPECT_FALSE(group.take_cut());
  }
}

TEST_F(SnapshotTest, AnAsynchronousCutKnowsWhoPushedHowOften) {
  ShardGroup group(runtime_);
  begin(group, Mode::async);
  group.take_cuts(2);
  for (const std::string key : {"sa", "sb"}) {
    for (const int64_t number : {1, 2, 3}) push(group, 0, key, number);
  }
  for (const std::string key : {"sa", "sb"}) {
    for (const int64_t number : {1, 2}) push(group, 1, key, number);
  }
  const std::optional<ShardGroup::Cut> cut = group.take_cut();
  ASSERT_TRUE(cut);
  ShardGroup again(runtime_);
  load(again, through_file(cut->picture));
  join(again);
  push(again, 0, "sa", 4);
  push(again, 1, "sa", 3);
}

TEST_F(SnapshotTest, AGroupWithoutPushesIsPicturedAsItIs) {
  ShardGroup group(runtime_);
  begin(group);
  group.take_cuts(2);
  ASSERT_TRUE(group.picture_if_never_pushed());
  ShardGroup again(runtime_);
  load(again, through_file(*group.picture_if_never_pushed()));
  join(again);
  EXPECT_EQ(value_of(again, "sa", 0), (std::vector<float>{1, 2, 3}));
  push(group, 0, "sa", 1);
  EXPECT_FALSE(group.picture_if_never_pushed());
}

TEST_F(SnapshotTest, DamagedFilesAreRefusedAndNamed) {
  ShardGroup group(runtime_);
  begin(group);
  group.take_cuts(2);
  push_all(group, 1);
  push_all(group, 2);
  through_file(group.take_cut()->picture);
  const std::string good = content();
  for (size_t size = 0; size < good.size(); ++size) expect_refused(good.substr(0, size), "truncated");
  for (size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ (1 << (at % 8)));
    expect_refused(bad, "byte " + std::to_string(at));
  }
  expect_refused(good + "more", "longer");
  std::ofstream(path(), std::ios::binary) << good;
  EXPECT_NO_THROW(read_snapshot(folder_, kName));
  for (const SnapshotName& other : {SnapshotName{3, 2, 2, 5, 40}, SnapshotName{3, 2, 1, 6, 40}}) {
    fs::copy_file(path(), snapshot_path(folder_, other));
    EXPECT_THROW(read_snapshot(folder_, other), FileError);
  }
  EXPECT_THROW(read_snapshot(folder_, {4, 2, 1, 5, 40}), FileError);
}

// A head that was replaced, or one of a cluster that another one goes on from, may still be writing.
TEST_F(SnapshotTest, NobodyWritesOverAnothersFile) {
  constexpr SnapshotName kOne = {.groups = 1, .workers = 2, .group = 0, .epoch = 3, .round = 10};
  const SnapshotOptions options{.folder = folder_, .every = 2, .restore = true};
  const auto state_at = [&](int64_t pushes) {
    ShardGroup group(runtime_);
    begin(group);
    for (int64_t number = 1; number <= pushes; ++number) push_all(group, number);
    return group.picture();
  };
  const auto is_of = [&](const std::optional<GroupCopy>& copy, int64_t pushes) {
    ShardGroup group(runtime_);
    load(group, copy.value());
    return group.known_of(0).shards(0).pushes() == pushes;
  };
  const auto written = [&](const ShardGroup::Picture& picture) {
    for (const NDArray& array : picture.arrays) array.wait_to_read();
    return write_snapshot(folder_, kOne, picture);
  };
  EXPECT_TRUE(written(state_at(10)));
  EXPECT_FALSE(written(state_at(11)));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
  EXPECT_TRUE(is_of(read_snapshot(folder_, kOne), 10));

  Snapshots before(runtime_, options, 1, 2), after(runtime_, options, 1, 2);
  EXPECT_EQ(epoch_after_snapshots(folder_), 4);
  EXPECT_TRUE(is_of(after.first_state(0), 10));
  after.write(0, 4, 12, state_at(12));
  engine_->wait_all();
  for (const int64_t round : {12, 14}) {
    before.write(0, 3, round, state_at(round + 1));
    engine_->wait_all();
  }
  EXPECT_TRUE(is_of(Snapshots(runtime_, options, 1, 2).first_state(0), 12));
}

// What a checksum does not find: numbers that somebody made up.
TEST_F(SnapshotTest, InventedStatesNeverCrash) {
  ShardGroup group(runtime_);
  begin(group);
  group.take_cuts(2);
  push_all(group, 1);
  push_all(group, 2);
  const GroupCopy good = through_file(group.take_cut()->picture);
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    GroupCopy bad = good;
    if (random() % 4 == 0) bad.arrays.pop_back();
    std::string bytes = bad.state.SerializeAsString();
    for (int change = 0; change < 2; ++change) bytes[random() % bytes.size()] = static_cast<char>(random());
    ShardGroup again(runtime_);
    try {
      decode(bytes, bad.state);
      load(again, bad);
    } catch (const Error&) {
      continue;
    }
  }
  for (const auto change : {+[](messages::ShardState& shard) { shard.set_newest(5); },
                            +[](messages::ShardState& shard) { shard.set_values(0); },
                            +[](messages::ShardState& shard) { shard.clear_pushed(); },
                            +[](messages::ShardState& shard) { shard.set_dtype(77); },
                            +[](messages::ShardState& shard) { shard.add_rounds(); }}) {
    GroupCopy bad = good;
    change(*bad.state.mutable_shards(0));
    ShardGroup again(runtime_);
    EXPECT_THROW(load(again, bad), NetworkError);
  }
}

// Formats of other releases are told from what is no snapshot at all.
TEST_F(SnapshotTest, AnOlderFormatIsNamed) {
  const auto refusal = [&](const std::string& begin) {
    std::ofstream(path(), std::ios::binary) << begin << std::string(100, '\0');
    try {
      read_snapshot(folder_, kName);
    } catch (const FileError& error) {
      return std::string(error.what());
    }
    return std::string("it was read");
  };
  EXPECT_THAT(refusal("LXSNAP02"), HasSubstr("written by another release: its format is LXSNAP02"));
  EXPECT_THAT(refusal("PK\3\4abcd"), HasSubstr("is no snapshot"));
}

}  // namespace
}  // namespace loomix::kvstore
