// SPDX-License-Identifier: Apache-2.0
#include "io/iter/batch_pipeline.h"

#include <gmock/gmock.h>

#include <cstring>

#include "base/error.h"
#include "io/record/image_record.h"

namespace loomix::io {
namespace {

using ::testing::HasSubstr;

// `count` records; record i has the id i.
class Numbers final : public RecordStream {
 public:
  explicit Numbers(uint64_t count) : count_(count) {}
  std::optional<Record> next() override {
    if (at_ == count_) return std::nullopt;
    record_.assign(kImageHeaderBytes, 0);
    std::memcpy(record_.data() + 8, &at_, sizeof at_);
    return Record{record_, &name_, at_++};
  }
  void begin(uint64_t) override { at_ = 0; }
  uint64_t damage_count() const override { return 0; }

 private:
  const uint64_t count_;
  uint64_t at_ = 0;
  std::vector<uint8_t> record_;
  const std::string name_ = "numbers.rec";
};

// The sample is {id, a random number}, the label the id.
class Pairs final : public SampleMaker {
 public:
  explicit Pairs(uint64_t bad) : bad_(bad) {}
  void make(Bytes record, SampleRandom& random, std::byte* data, float* label) override {
    uint64_t id = 0;
    std::memcpy(&id, record.data() + 8, sizeof id);
    LOOMIX_CHECK(id != bad_, FileError, "[test] sample {} is bad.", id);
    const float pair[] = {static_cast<float>(id), static_cast<float>(random.uniform(0, 1))};
    std::memcpy(data, pair, sizeof pair);
    *label = pair[0];
  }

 private:
  const uint64_t bad_;
};

constexpr uint64_t kNoneBad = UINT64_MAX;

class Pipelines : public ::testing::Test {
 protected:
  BatchPipeline make(uint64_t records, PipelineOptions options, uint64_t bad = kNoneBad) {
    options.who = "test";
    options.data_shape = Shape{2};
    return {*engine_, options, std::make_unique<Numbers>(records),
            [bad] { return std::make_unique<Pairs>(bad); }};
  }
  static std::vector<float> floats(const NDArray& array) {
    array.wait_to_read();
    std::vector<float> items(static_cast<size_t>(array.size()));
    array.copy_to_host(items.data(), array.bytes());
    return items;
  }
  // Labels and data of `passes` passes.
  static std::vector<float> all(BatchPipeline& pipeline, int passes) {
    std::vector<float> items;
    for (int pass = 0; pass < passes; ++pass, pipeline.reset()) {
      while (pipeline.next()) {
        for (const NDArray* array : {&pipeline.label(), &pipeline.data()}) {
          const std::vector<float> part = floats(*array);
          items.insert(items.end(), part.begin(), part.end());
        }
      }
    }
    return items;
  }

  const std::unique_ptr<engine::Engine> engine_ = engine::make_threaded_engine({.workers = 4});
};

TEST_F(Pipelines, ThreadsAndReadAheadChangeNothing) {
  for (const bool round : {true, false}) {
    auto one = make(103, {.batch_size = 10, .round_batch = round, .prefetch = 1, .seed = 7});
    const std::vector<float> expected = all(one, 3);
    for (const int threads : {2, 4, 9}) {
      auto many =
          make(103, {.batch_size = 10, .round_batch = round, .prefetch = 6, .threads = threads, .seed = 7});
      EXPECT_EQ(all(many, 3), expected) << threads;
    }
  }
}

TEST_F(Pipelines, TheLastBatchIsFilled) {
  auto rounded = make(5, {.batch_size = 3, .threads = 2});
  ASSERT_TRUE(rounded.next() && rounded.next());
  EXPECT_EQ(rounded.pad(), 1);
  EXPECT_EQ(floats(rounded.label()), (std::vector<float>{3, 4, 0}));
  EXPECT_FALSE(rounded.next());
  EXPECT_FALSE(rounded.next());
  rounded.reset();
  ASSERT_TRUE(rounded.next());
  EXPECT_EQ(rounded.index(), (std::vector<uint64_t>{1, 2, 3}));  // 0 was in the pass before

  auto zeros = make(5, {.batch_size = 3, .round_batch = false, .threads = 2});
  ASSERT_TRUE(zeros.next() && zeros.next());
  EXPECT_EQ(zeros.pad(), 1);
  EXPECT_EQ(floats(zeros.label()), (std::vector<float>{3, 4, 0}));
  EXPECT_EQ(floats(zeros.data())[5], 0);
}

TEST_F(Pipelines, AResetInTheMiddleBeginsTheNextPass) {
  auto whole = make(40, {.batch_size = 4, .threads = 3, .seed = 1});
  auto cut = make(40, {.batch_size = 4, .threads = 3, .seed = 1});
  ASSERT_TRUE(cut.next());
  cut.reset();
  all(whole, 1);
  EXPECT_EQ(all(cut, 1), all(whole, 1));
}

TEST_F(Pipelines, MayEndAtAnyTime) {
  for (int taken = 0; taken < 12; ++taken) {
    auto pipeline = make(400, {.batch_size = 8, .prefetch = 5, .threads = 4});
    for (int i = 0; i < taken; ++i) ASSERT_TRUE(pipeline.next());
    if (taken % 3 == 0) pipeline.reset();
  }
  engine_->wait_all();
}

TEST_F(Pipelines, ABadSampleIsNamedWhereItsBatchIsRead) {
  auto pipeline = make(12, {.batch_size = 4, .threads = 2}, 6);
  ASSERT_TRUE(pipeline.next());
  EXPECT_EQ(floats(pipeline.label()), (std::vector<float>{0, 1, 2, 3}));
  ASSERT_TRUE(pipeline.next());
  try {
    floats(pipeline.data());
    FAIL();
  } catch (const FileError& error) {
    EXPECT_THAT(error.what(), HasSubstr("sample 6 is bad"));
    EXPECT_THAT(error.what(), HasSubstr("numbers.rec, record at offset 6 (id 6)"));
  }
  ASSERT_TRUE(pipeline.next());
  EXPECT_EQ(floats(pipeline.label()), (std::vector<float>{8, 9, 10, 11}));
}

TEST_F(Pipelines, ABadSampleMayBeLeftOut) {
  auto pipeline = make(12, {.batch_size = 4, .threads = 2, .skip_damaged = true}, 6);
  ASSERT_TRUE(pipeline.next() && pipeline.next());
  EXPECT_EQ(floats(pipeline.label()), (std::vector<float>{4, 5, 7, 4}));
  EXPECT_EQ(pipeline.index(), (std::vector<uint64_t>{4, 5, 7, 4}));
  EXPECT_EQ(pipeline.pad(), 1);
  EXPECT_EQ(pipeline.skipped(), 1u);
  ASSERT_EQ(pipeline.skipped_reasons().size(), 1u);
  EXPECT_THAT(pipeline.skipped_reasons()[0], HasSubstr("sample 6 is bad"));
}

TEST_F(Pipelines, NothingToReadIsAnError) {
  auto pipeline = make(0, {.batch_size = 4});
  EXPECT_THROW(pipeline.next(), FileError);
  EXPECT_THROW(pipeline.data(), StateError);
  EXPECT_THROW(make(3, {.batch_size = 0}), ValueError);
  EXPECT_THROW(make(3, {.threads = 0}), ValueError);
}

}  // namespace
}  // namespace loomix::io
