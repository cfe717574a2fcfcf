// SPDX-License-Identifier: Apache-2.0
//
// Work that a queue records, and memory that comes and goes meanwhile.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <vector>

#include "base/error.h"
#include "engine/device/device_runtime.h"
#include "engine/device/scratch_block.h"

namespace loomix::engine {
namespace {

constexpr size_t kBytes = 5000;
using Bytes = std::vector<unsigned char>;

class RecordedWorkTest : public testing::Test {
 protected:
  void SetUp() override {
    if (count_gpus() == 0) GTEST_SKIP() << "no GPU, nor a stand-in for one";
    engine_ = make_threaded_engine({.workers = 1});
    device_ = &engine_->device(Device::gpu(0));
    queue_ = device_->queue(Lane::compute);
    memory_ = &device_->memory(MemoryKind::device);
    queue_->enter_thread();
    for (void*& block : blocks_) {
      block = memory_->allocate(kBytes);
      queue_->fill(block, 0, kBytes);
    }
  }
  void TearDown() override {
    if (!engine_) return;
    device_->synchronize();
    for (void* const block : blocks_) memory_->free(block, kBytes);
  }
  // Each of these is a part.
  using Parts = std::vector<std::function<void()>>;
  static IssueParts issue(const Parts& all) {
    return [&all](WorkParts& parts) {
      for (const auto& part : all) {
        parts.begin();
        part();
        parts.end();
      }
    };
  }
  std::function<void()> fill(int to, unsigned char byte) {
    return [this, to, byte] { queue_->fill(blocks_[to], byte, kBytes); };
  }
  std::function<void()> copy(int from, int to) {
    return [this, from, to] { queue_->copy(blocks_[to], blocks_[from], kBytes); };
  }
  Bytes bytes_of(const void* memory) {
    Bytes bytes(kBytes);
    queue_->copy(bytes.data(), memory, kBytes);
    queue_->record()->wait();
    return bytes;
  }
  static Bytes all(unsigned char byte) { return Bytes(kBytes, byte); }

  std::unique_ptr<Engine> engine_;
  DeviceRuntime* device_ = nullptr;
  DeviceQueue* queue_ = nullptr;
  MemoryPool* memory_ = nullptr;
  void* blocks_[6] = {};
};

TEST_F(RecordedWorkTest, PartsGetOtherMemory) {
  const Parts parts = {fill(0, 1), copy(0, 1), [&] {
                         fill(2, 7)();
                         copy(1, 3)();
                       }};
  const Ref<RecordedWork> work = queue_->record_work(issue(parts));
  ASSERT_TRUE(work);
  EXPECT_EQ(bytes_of(blocks_[3]), all(0)) << "it was not done, but recorded";
  work->launch();
  EXPECT_EQ(bytes_of(blocks_[3]), all(1));
  EXPECT_EQ(bytes_of(blocks_[2]), all(7));

  fill(4, 5)();
  const std::vector<size_t> second = {1};
  ASSERT_TRUE(work->renew_parts(second, issue({copy(4, 1)})));
  EXPECT_EQ(bytes_of(blocks_[1]), all(1)) << "it was not done, but recorded";
  work->launch();
  EXPECT_EQ(bytes_of(blocks_[3]), all(5));

  const std::vector<size_t> others = {0, 2};
  ASSERT_TRUE(work->renew_parts(others, issue({fill(4, 9), [&] {
                                                 fill(2, 8)();
                                                 copy(1, 5)();
                                               }})));
  work->launch();
  EXPECT_EQ(bytes_of(blocks_[5]), all(9));
  EXPECT_EQ(bytes_of(blocks_[2]), all(8));
  EXPECT_EQ(bytes_of(blocks_[3]), all(5)) << "no longer written";
}

TEST_F(RecordedWorkTest, LaunchesKeepTheMemoryThatTheyHad) {
  const Ref<RecordedWork> work = queue_->record_work(issue({copy(0, 1), copy(1, 2), fill(0, 3)}));
  fill(0, 1)();
  work->launch();
  const std::vector<size_t> second = {1};
  for (const int to : {3, 4, 5}) {
    ASSERT_TRUE(work->renew_parts(second, issue({copy(1, to)})));
    work->launch();
  }
  EXPECT_EQ(bytes_of(blocks_[2]), all(1));
  for (const int to : {3, 4, 5}) EXPECT_EQ(bytes_of(blocks_[to]), all(3));
}

TEST_F(RecordedWorkTest, PartsThatAreOtherWorkAreRecordedAnew) {
  const Parts before = {fill(0, 1), copy(0, 1), copy(1, 2)};
  const Ref<RecordedWork> work = queue_->record_work(issue(before));
  const std::vector<size_t> second = {1};
  EXPECT_FALSE(work->renew_parts(second, issue({fill(1, 4)}))) << "another kind";
  EXPECT_FALSE(work->renew_parts(second, issue({[&] {
                                   fill(1, 4)();
                                   fill(1, 4)();
                                 }})));
  EXPECT_FALSE(work->renew_parts(second, issue({[] {}})));
  EXPECT_FALSE(work->renew_parts(second, issue({[] { throw ValueError("[test] it cannot be issued."); }})));

  const Parts after = {fill(0, 1), fill(1, 4), copy(1, 2), copy(2, 3)};
  ASSERT_TRUE(work->renew(issue(after)));
  work->launch();
  EXPECT_EQ(bytes_of(blocks_[3]), all(4));
  ASSERT_TRUE(work->renew_parts(second, issue({fill(1, 6)}))) << "of the new graph's nodes";
  work->launch();
  EXPECT_EQ(bytes_of(blocks_[3]), all(6));
}

TEST_F(RecordedWorkTest, PartsAfterAnUpdateOfAll) {
  const Ref<RecordedWork> work = queue_->record_work(issue({fill(0, 1), copy(0, 1), copy(1, 2)}));
  ASSERT_TRUE(work->renew(issue({fill(3, 2), copy(3, 1), copy(1, 4)})));
  const std::vector<size_t> first = {0};
  ASSERT_TRUE(work->renew_parts(first, issue({fill(3, 8)})));
  work->launch();
  EXPECT_EQ(bytes_of(blocks_[4]), all(8));
  EXPECT_EQ(bytes_of(blocks_[2]), all(0));
}

TEST_F(RecordedWorkTest, PartsOfBranches) {
  const auto on = [&](bool all_of_them, int from, int to) {
    return [=, this](WorkParts& parts) {
      const auto part = [&](const std::function<void()>& body) {
        parts.begin();
        body();
        parts.end();
      };
      const auto branches = queue_->branches(2);
      branches->enter(0);
      if (all_of_them) part(fill(0, 1));
      const size_t filled = all_of_them ? branches->mark() : 0;
      branches->enter(1);
      if (all_of_them) branches->follow(filled);
      part(copy(from, to));
      branches->enter(0);
      if (all_of_them) part(copy(0, 2));
      branches->join();
    };
  };
  const Ref<RecordedWork> work = queue_->record_work(on(true, 0, 1));
  ASSERT_TRUE(work);
  work->launch();
  EXPECT_EQ(bytes_of(blocks_[1]), all(1));
  const std::vector<size_t> second = {1};
  ASSERT_TRUE(work->renew_parts(second, on(false, 0, 3)));
  fill(1, 0)();
  work->launch();
  EXPECT_EQ(bytes_of(blocks_[3]), all(1));
  EXPECT_EQ(bytes_of(blocks_[2]), all(1));
  EXPECT_EQ(bytes_of(blocks_[1]), all(0));
}

// ---- memory ----

TEST_F(RecordedWorkTest, NoMemoryOfTheQueueIsForWorkThatIsRecorded) {
  ScratchBlock(*memory_, kBytes, queue_);  // one that is free for the queue, and whose last work is pending
  device_->synchronize();
  const int64_t before = memory_->stats().in_use;
  const Ref<RecordedWork> work = queue_->record_work(issue({[&] {
    fill(0, 1)();
    const ScratchBlock block(*memory_, kBytes, queue_);
    queue_->fill(block.bytes().data(), 1, kBytes);
  }}));
  EXPECT_FALSE(work) << "launches would write to what others have got";
  device_->synchronize();
  EXPECT_EQ(memory_->stats().in_use, before);
  EXPECT_EQ(bytes_of(blocks_[0]), all(0)) << "nothing was done";
  const Ref<RecordedWork> next = queue_->record_work(issue({fill(0, 2)}));
  ASSERT_TRUE(next);
  next->launch();
  EXPECT_EQ(bytes_of(blocks_[0]), all(2));
}

// CUDA refuses cudaMalloc to a thread that captures, and the capture is void.
TEST_F(RecordedWorkTest, FreshMemoryEndsARecording) {
  constexpr size_t kFresh = (size_t{3} << 20) + 12345;  // the pool has none of that size
  memory_->release_cached();
  const Ref<RecordedWork> work = queue_->record_work(issue({[&] {
    fill(0, 1)();
    void* const fresh = memory_->allocate(kFresh);
    memory_->free(fresh, kFresh);
  }}));
  EXPECT_FALSE(work);
  void* const fresh = memory_->allocate(kFresh);
  memory_->free(fresh, kFresh);
  EXPECT_EQ(bytes_of(blocks_[0]), all(0));
}

// Captures are of a thread: others may do to the device what they like. What they free behind the queue's work waits for the end.
TEST_F(RecordedWorkTest, OtherThreadsTakeAndFreeMemoryDuringARecording) {
  constexpr size_t kFresh = (size_t{5} << 20) + 54321;
  memory_->release_cached();
  std::future<void> freed;
  std::optional<ScratchBlock> block(std::in_place, *memory_, kFresh, queue_);
  void* const address = block->bytes().data();
  const Ref<RecordedWork> work = queue_->record_work(issue({[&] {
    fill(0, 1)();
    std::async(std::launch::async, [&] {
      device_->queue(Lane::communicate)->enter_thread();
      void* const fresh = memory_->allocate(kFresh);
      EXPECT_NE(fresh, address) << "it is in use";
      memory_->free(fresh, kFresh);
    }).get();
    freed = std::async(std::launch::async, [&] { block.reset(); });
    EXPECT_EQ(freed.wait_for(std::chrono::milliseconds(30)), std::future_status::timeout)
        << "its token would be part of what is recorded";
    copy(0, 1)();
  }}));
  ASSERT_TRUE(work) << "nothing of that is the recording's";
  freed.get();
  work->launch();
  EXPECT_EQ(bytes_of(blocks_[1]), all(1));
  // Both blocks are there again, the freed one behind the queue's work.
  std::vector<TokenRef> pending;
  std::vector<void*> again;
  for (int i = 0; i < 2; ++i) again.push_back(memory_->allocate(kFresh, queue_, pending));
  EXPECT_NE(std::ranges::find(again, address), again.end());
  for (const TokenRef& token : pending) queue_->wait_for(*token);
  device_->synchronize();
  for (void* const one : again) memory_->free(one, kFresh);
}

}  // namespace
}  // namespace loomix::engine
