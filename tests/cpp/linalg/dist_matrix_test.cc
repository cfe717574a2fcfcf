// SPDX-License-Identifier: Apache-2.0
#include "linalg/dist_matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <chrono>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/error.h"
#include "engine/device/device_runtime.h"
#include "linalg/product.h"
#include "linalg/remap.h"
#include "tests/cpp/linalg/random_layouts.h"
#include "tests/cpp/linalg/ranks.h"

namespace loomix::linalg {
namespace {

using testing::HasSubstr;

std::vector<double> counted(int64_t count) {
  std::vector<double> items(static_cast<size_t>(count));
  std::iota(items.begin(), items.end(), 0.0);
  return items;
}

template <class E, class Fn>
std::string error_of(Fn&& fn) {
  try {
    fn();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("another error: ") + error.what();
  }
  return "no error";
}

class DistMatrixTest : public testing::TestWithParam<int> {};

TEST_P(DistMatrixTest, RemapsInAnyOrder) {
  Ranks ranks(GetParam());
  ranks.run([&](const JobRef& job) {
    RandomLayouts random(static_cast<uint32_t>(GetParam()));
    for (int round = 0; round < 25; ++round) {
      if (round % 2 == 1)
        job->message_bytes = random.number(100, 2000);  // many messages, which share buffers
      job->in_parts = round % 4 < 2;
      const int64_t rows = random.number(0, 40), columns = random.number(0, 40);
      const int root = random.number(0, job->size() - 1);
      const auto expected = counted(rows * columns);
      NDArray whole;
      if (job->rank() == root)
        whole = array_of(job->engine(), expected, Shape{rows, columns}, DType::float32);
      DistMatrix m =
          DistMatrix::from_global(job, whole, random.next(rows, columns, job->size()), DType::float32, root);
      for (int i = 0; i < 4; ++i) m = m.remap(random.next(rows, columns, job->size()));
      ASSERT_EQ(values(m.to_global()), expected);
      const DistMatrix turned =
          m.remap(random.next(columns, rows, job->size()), {.dtype = DType::float64, .transpose = true});
      const DistMatrix back =
          turned.transposed().remap(random.next(rows, columns, job->size()), {.dtype = DType::float16});
      EXPECT_EQ(values(back.to_global()), expected) << "no number is too large for float16";
    }
  });
}

TEST_P(DistMatrixTest, RandomNumbersGoByPlace) {
  Ranks ranks(GetParam());
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16}) {
    for (const auto kind : {Distribution::Kind::uniform, Distribution::Kind::normal}) {
      std::vector<std::vector<double>> found(static_cast<size_t>(ranks.size()));
      ranks.run([&](const JobRef& job) {
        RandomLayouts random(static_cast<uint32_t>(5 + GetParam()));
        const auto m = DistMatrix::random(job, random.next(30, 17, job->size()), dtype, {kind, -1, 2}, 99);
        found[static_cast<size_t>(job->rank())] = values(m.to_global());
      });
      Ranks one(1);
      const auto single = values(
          DistMatrix::random(one[0], Layout::on_rank(30, 17, 0), dtype, {kind, -1, 2}, 99).to_global());
      for (const auto& numbers : found) EXPECT_EQ(numbers, single);
      if (kind == Distribution::Kind::uniform) {
        EXPECT_GE(*std::min_element(single.begin(), single.end()), -1);
        EXPECT_LE(*std::max_element(single.begin(), single.end()), 2);
        EXPECT_NEAR(std::accumulate(single.begin(), single.end(), 0.0) / 510, 0.5, 0.15);
      }
    }
  }
}

TEST_P(DistMatrixTest, Arithmetic) {
  Ranks ranks(GetParam());
  ranks.run([&](const JobRef& job) {
    RandomLayouts random(3);
    constexpr int64_t kRows = 9, kColumns = 7;
    const auto a = DistMatrix::random(job, random.next(kRows, kColumns, job->size()), DType::float64, {}, 1);
    const auto b = DistMatrix::random(job, random.next(kRows, kColumns, job->size()), DType::float64, {}, 2);
    const auto x = values(a.to_global()), y = values(b.to_global());
    const auto sum = values((a + b).to_global()), quotient = values((a / b).to_global());
    const auto mixed = values((a.with(Arithmetic::subtract, 1.5, true) * b - a).to_global());
    const NDArray row = array_of(job->engine(), counted(kColumns), Shape{kColumns});
    const NDArray column = array_of(job->engine(), counted(kRows), Shape{kRows, 1});
    const auto by_row = values(a.with(Arithmetic::multiply, row).to_global());
    const auto by_column = values(a.with(Arithmetic::subtract, column, true).to_global());
    const auto over_rows = values(a.sum(0)), over_columns = values(a.sum(1));
    double all = 0, squares = 0;
    for (size_t j = 0; j < kColumns; ++j) {
      double expected = 0;
      for (size_t i = 0; i < kRows; ++i) expected += x[i * kColumns + j];
      EXPECT_NEAR(over_rows[j], expected, 1e-12);
    }
    for (size_t i = 0; i < kRows; ++i) {
      double expected = 0;
      for (size_t j = 0; j < kColumns; ++j) {
        const size_t p = i * kColumns + j;
        expected += x[p];
        squares += x[p] * x[p];
        EXPECT_EQ(sum[p], x[p] + y[p]);
        EXPECT_EQ(quotient[p], x[p] / y[p]);
        EXPECT_EQ(mixed[p], (1.5 - x[p]) * y[p] - x[p]);
        EXPECT_EQ(by_row[p], x[p] * static_cast<double>(j));
        EXPECT_EQ(by_column[p], static_cast<double>(i) - x[p]);
      }
      all += expected;
      EXPECT_NEAR(over_columns[i], expected, 1e-12);
    }
    EXPECT_NEAR(values(a.sum())[0], all, 1e-10);
    EXPECT_NEAR(values(a.norm())[0], std::sqrt(squares), 1e-10);
    EXPECT_THROW(a + b.transposed(), ShapeError);
    EXPECT_THROW(a.with(Arithmetic::add, array_of(job->engine(), counted(4), Shape{4})), ShapeError);
    EXPECT_THROW(a.sum(2), ValueError);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, DistMatrixTest, testing::Values(1, 2, 3, 5, 12));

// What a remap takes beyond the matrix and its result: buffers of bounded size, and few.
TEST(DistMatrix, RemapsInBoundedMemory) {
  constexpr int kRanks = 4;
  constexpr int64_t kMessage = int64_t{64} << 10, kSize = 1024;
  Ranks ranks(kRanks);
  const int64_t share = kSize * kSize * 4 / kRanks;
  ranks.run([&](const JobRef& job) {
    job->message_bytes = kMessage;
    job->in_parts = false;
    auto& pool = job->engine().device(Device::cpu()).memory(MemoryKind::host);
    const auto m = DistMatrix::random(job, Layout::by_rows(kSize, kSize, kRanks), DType::float32, {}, 1);
    m.local()[0].wait_to_read();
    const int64_t before = pool.stats().in_use;
    const DistMatrix other = m.remap(Layout::by_columns(kSize, kSize, kRanks));
    other.local()[0].wait_to_read();
    job->engine().wait_all();
    EXPECT_LE(pool.stats().peak - before, share + share / 10 + 2 * job->buffers * kMessage);
  });
}

// In parts there are no buffers.
TEST(DistMatrix, RemapsInPartsWithoutBuffers) {
  constexpr int kRanks = 4;
  constexpr int64_t kSize = 1024;
  Ranks ranks(kRanks);
  const int64_t share = kSize * kSize * 4 / kRanks;
  ranks.run([&](const JobRef& job) {
    auto& pool = job->engine().device(Device::cpu()).memory(MemoryKind::host);
    const auto m = DistMatrix::random(job, Layout::by_rows(kSize, kSize, kRanks), DType::float32, {}, 1);
    m.local()[0].wait_to_read();
    const int64_t before = pool.stats().in_use;
    const DistMatrix other = m.remap(Layout::by_columns(kSize, kSize, kRanks));
    other.local()[0].wait_to_read();
    job->engine().wait_all();
    EXPECT_LE(pool.stats().peak - before, share + share / 10);
    EXPECT_EQ(values(other.to_global()), values(m.to_global()));
  });
}

// What a rank sends is its plan's elements, and for each message a mark, for each remap a note to each rank.
TEST(DistMatrix, BytesAreThePlans) {
  constexpr int kRanks = 5;
  constexpr uint64_t kMark = 8, kNote = 256;
  Ranks ranks(kRanks);
  ranks.run([&](const JobRef& job) {
    job->message_bytes = 500;
    RandomLayouts random(11);
    const auto sent = [&] {
      job->engine().wait_all();
      const auto traffic = job->group().traffic();
      return std::accumulate(traffic.sent.begin(), traffic.sent.end(), uint64_t{0});
    };
    for (int round = 0; round < 60; ++round) {
      const int64_t rows = random.number(1, 40), columns = random.number(1, 40);
      const Layout from = random.next(rows, columns, kRanks), to = random.next(columns, rows, kRanks);
      const auto m = DistMatrix::filled(job, from, DType::float64, 1);
      const Transfer plan(from, to, job->rank(), true);
      uint64_t expected = kNote * (kRanks - 1);
      job->in_parts = round % 2 == 0;
      for (const Route& route : plan.sends) {
        const auto messages =
            job->in_parts ? 1 : cut_into_messages(route, job->message_bytes / 4, true).size();
        expected += static_cast<uint64_t>(route.elements) * 4 + kMark * messages;
      }
      const uint64_t before = sent();
      const DistMatrix other = m.remap(to, {.dtype = DType::float32, .transpose = true});
      ASSERT_EQ(sent() - before, expected) << from.to_string() << to.to_string();
    }
  });
}

TEST(DistMatrix, WholeCopiesAreFilledAgain) {
  constexpr int kRanks = 3;
  Ranks ranks(kRanks);
  ranks.run([&](const JobRef& job) {
    const auto m = DistMatrix::filled(job, Layout::by_rows(6, 4, kRanks), DType::float32, 2);
    const NDArray first = m.replicated();
    EXPECT_EQ(m.replicated().storage_ref(), first.storage_ref()) << "the same memory";
    for (int writer = 0; writer < kRanks; ++writer) {
      if (job->rank() == writer) fill(m.local()[0], 10 + writer);
      const auto found = values(m.replicated());
      for (int64_t i = 0; i < 24; ++i)
        ASSERT_EQ(found[static_cast<size_t>(i)], i / 8 <= writer ? 10 + static_cast<double>(i / 8) : 2);
    }
    EXPECT_EQ(values(first), std::vector<double>(24, 2)) << "who has the old one reads what was";
    const NDArray last = m.replicated();
    auto& pool = job->engine().device(Device::cpu()).memory(MemoryKind::host);
    job->kept().make_room(job->engine(), pool.bound());
    EXPECT_NE(m.replicated().storage_ref(), last.storage_ref()) << "no room";
    // A copy that was filled with an error is not kept.
    if (job->rank() == 0)
      job->engine().poison(m.local()[0].var(), std::make_exception_ptr(ValueError("bad block")));
    EXPECT_THROW(m.replicated().wait_to_read(), Error);
    if (job->rank() == 0) fill(m.local()[0], 1);
    EXPECT_EQ(values(m.replicated())[0], 1);
    try {
      job->engine().wait_all();
    } catch (const Error&) {  // the one above
    }
  });
}

TEST(DistMatrix, SharesItsBlocks) {
  Ranks ranks(1);
  const NDArray block = array_of(ranks[0]->engine(), counted(6), Shape{2, 3});
  const auto m = DistMatrix::from_local(ranks[0], Layout::on_rank(2, 3, 0), DType::float64, {block});
  fill(block, 7);
  EXPECT_EQ(values(m.to_global()), std::vector<double>(6, 7));
}

TEST(DistMatrix, MistakesAreNamed) {
  Ranks ranks(2);
  const JobRef& job = ranks[0];
  const NDArray block = array_of(job->engine(), counted(6), Shape{2, 3});
  const Layout layout = Layout::by_rows(4, 3, 2);
  EXPECT_THAT(error_of<ValueError>([&] { DistMatrix::from_local(job, layout, DType::float64, {}); }),
              HasSubstr("0 blocks came at rank 0; it has 1"));
  EXPECT_THAT(error_of<TypeError>([&] { DistMatrix::from_local(job, layout, DType::float32, {block}); }),
              HasSubstr("float64"));
  EXPECT_THAT(error_of<ShapeError>(
                  [&] { DistMatrix::from_local(job, Layout::by_rows(4, 4, 2), DType::float64, {block}); }),
              HasSubstr("has shape (2, 3); expected (2, 4)"));
  EXPECT_THAT(
      error_of<ValueError>([&] { DistMatrix::filled(job, Layout::by_rows(4, 4, 3), DType::float64, 0); }),
      HasSubstr("the job has 2 ranks"));
  EXPECT_THROW(DistMatrix::filled(job, layout, DType::int32, 0), TypeError);
}

// What the ranks do differs: all of them hear of it, and of who does what.
TEST(DistMatrix, RanksThatDisagreeAreTold) {
  Ranks ranks(3);
  ranks.run([&](const JobRef& job) {
    const auto m = DistMatrix::filled(job, Layout::by_rows(8, 8, 3), DType::float32, 1);
    const DistMatrix other = m.remap(job->rank() == 1 ? Layout::by_columns(8, 8, 3)
                                                      : Layout::on_grid(8, 8, 1, 3).transposed().transposed(),
                                     {.dtype = job->rank() == 1 ? DType::float64 : DType::float32});
    const std::string error = error_of<ValueError>([&] {
      for (const NDArray& block : other.local()) block.wait_to_read();
    });
    EXPECT_THAT(
        error,
        HasSubstr("from rank 1 on remap of (8, 8) float32, rows on 3 ranks to float64 columns on 3 ranks"));
    EXPECT_THAT(error, HasSubstr("from rank 2 on"));
  });
}

TEST(DistMatrix, WhatIsWaitedForIsNamed) {
  Ranks ranks(2);
  ranks.run([&](const JobRef& job) {
    const auto m = DistMatrix::filled(job, Layout::by_rows(8, 8, 2), DType::float32, 1);
    if (job->rank() == 1) return job->group().give_up("it has had enough");
    const DistMatrix other = m.remap(Layout::by_columns(8, 8, 2));
    const std::string error = error_of<NetworkError>([&] { other.local()[0].wait_to_read(); });
    EXPECT_THAT(error, testing::AllOf(HasSubstr("in remap of (8, 8)"), HasSubstr("it has had enough")));
    try {
      job->engine().wait_all();
    } catch (const Error&) {  // the same
    }
  });
}

// Matrices that were made before: whatever is done with them fails at once, and says why.
TEST(DistMatrix, AfterItsGroupBroke) {
  Ranks ranks(3);
  std::barrier all_have_theirs(3);
  ranks.run([&](const JobRef& job) {
    const auto m = DistMatrix::filled(job, Layout::by_rows(9, 9, 3), DType::float32, 1);
    m.local()[0].wait_to_read();
    all_have_theirs.arrive_and_wait();
    if (job->rank() == 1) job->group().give_up("it has had enough");
    const std::function<void()> uses[] = {
        [&] { m.remap(Layout::by_columns(9, 9, 3)).local()[0].wait_to_read(); },
        [&] { (m + m.remap(Layout::by_columns(9, 9, 3))).local()[0].wait_to_read(); },
        [&] { m.sum().wait_to_read(); },
        [&] { m.norm().wait_to_read(); },
        [&] { m.replicated().wait_to_read(); },
        [&] { m.to_global().wait_to_read(); },
        [&] { dot(m, m, {.algorithm = Algorithm::ring}).local()[0].wait_to_read(); },
    };
    const auto begin = std::chrono::steady_clock::now();
    for (const auto& use : uses)
      EXPECT_THAT(error_of<NetworkError>(use), HasSubstr("rank 1 has given up: it has had enough"));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10)) << "before its deadline";
    EXPECT_EQ(values(m.local()[0]), std::vector<double>(27, 1)) << "the own block is there still";
    try {
      job->engine().wait_all();
    } catch (const Error&) {  // the same
    }
  });
}

TEST(DistMatrix, ErrorsTravel) {
  Ranks ranks(3);
  for (const bool in_parts : {true, false})
    ranks.run([&](const JobRef& job) {
      job->in_parts = in_parts;
      const Layout layout = Layout::by_rows(300, 300, 3);
      DistMatrix m = DistMatrix::random(job, layout, DType::float32, {}, 4);
      if (job->rank() == 1)
        job->engine().poison(m.local()[0].var(), std::make_exception_ptr(ValueError("bad block")));
      const DistMatrix whole = m.remap(Layout::replicated(300, 300, 3));
      const std::string error = error_of<Error>([&] { whole.local()[0].wait_to_read(); });
      EXPECT_THAT(
          error, HasSubstr(job->rank() == 1 ? "bad block"
                                            : "rank 1 has an error in what it sends in remap of (300, 300)"));
      // Nobody is stuck, and what is good stays good.
      EXPECT_EQ(values(DistMatrix::filled(job, layout, DType::float32, 2).sum())[0], 180000);
      try {
        job->engine().wait_all();
      } catch (const Error&) {  // the one above
      }
    });
}

}  // namespace
}  // namespace loomix::linalg
