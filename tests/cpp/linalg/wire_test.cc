// SPDX-License-Identifier: Apache-2.0
// Remaps whose messages are coded, and those that may choose ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "linalg/relabel.h"
#include "tests/cpp/linalg/random_layouts.h"
#include "tests/cpp/linalg/ranks.h"

namespace loomix::linalg {
namespace {

using testing::HasSubstr;

constexpr int kRanks = 4;
constexpr int64_t kSize = 64;

ops::Code code_of(const std::string& text) { return ops::Code::parse(text, "test"); }

uint64_t sent_by(const JobRef& job) {
  const auto traffic = job->group().traffic();
  return std::accumulate(traffic.sent.begin(), traffic.sent.end(), uint64_t{0});
}

// Of rows to columns, where three quarters of a rank's part travel.
uint64_t bytes_of_a_remap(const JobRef& job, const DistMatrix& m, const RemapOptions& options) {
  job->engine().wait_all();
  const uint64_t before = sent_by(job);
  const DistMatrix other = m.remap(Layout::by_columns(kSize, kSize, kRanks), options);
  other.local()[0].wait_to_read();
  job->engine().wait_all();
  return sent_by(job) - before;
}

TEST(Wire, SendsAsManyBytesAsItSays) {
  Ranks ranks(kRanks);
  ranks.run([&](const JobRef& job) {
    const auto m = DistMatrix::random(job, Layout::by_rows(kSize, kSize, kRanks), DType::float32, {}, 1);
    const auto wide = m.astype(DType::float64);
    constexpr uint64_t kRoute = kSize / kRanks * kSize / kRanks, kOthers = kRanks - 1;
    const uint64_t overhead = bytes_of_a_remap(job, m, {}) - kOthers * kRoute * 4;  // notes and marks
    const auto elements = [&](const DistMatrix& of, const char* wire) {
      return (bytes_of_a_remap(job, of, {.wire = code_of(wire)}) - overhead) / kOthers;
    };
    EXPECT_EQ(elements(m, "float16"), kRoute * 2);
    EXPECT_EQ(elements(m, "bfloat16"), kRoute * 2);
    EXPECT_EQ(elements(wide, "float16"), kRoute * 2);
    EXPECT_EQ(elements(m, "2bit"), kRoute / 4);
    EXPECT_EQ(elements(m, "topk:0.125"), kRoute);
  });
}

TEST(Wire, CodesWhatTravelsAlone) {
  Ranks ranks(kRanks);
  ranks.run([&](const JobRef& job) {
    const auto m = DistMatrix::random(job, Layout::by_rows(kSize, kSize, kRanks), DType::float32,
                                      {Distribution::Kind::normal, 0, 1}, 1);
    const auto exact = values(m.to_global());
    const std::pair<const char*, double> most[] = {{"float16", 1e-3}, {"bfloat16", 8e-3}};
    for (const auto& [wire, error] : most) {
      for (const bool transpose : {false, true}) {
        const auto there = m.remap(
            transpose ? Layout::by_rows(kSize, kSize, kRanks) : Layout::by_columns(kSize, kSize, kRanks),
            {.transpose = transpose, .wire = code_of(wire)});
        const Block block = there.layout().block(job->rank());
        const auto found = values(there.local()[0]);
        bool differs = false;
        for (int64_t i = 0; i < block.rows; ++i) {
          for (int64_t j = 0; j < block.columns; ++j) {
            const int64_t row = block.top + i, column = block.left + j;
            const double was =
                exact[static_cast<size_t>(transpose ? column * kSize + row : row * kSize + column)];
            const double is = found[static_cast<size_t>(i * block.columns + j)];
            const bool stayed = (transpose ? column : row) / (kSize / kRanks) == job->rank();
            ASSERT_NEAR(is, was, stayed ? 0 : error * std::abs(was)) << wire;
            differs = differs || is != was;
          }
        }
        EXPECT_TRUE(differs);
      }
    }
  });
}

// What has arrived so far is what was sent but for the last residual, whatever the messages.
TEST(Wire, WhatIsLeftOutComesLater) {
  Ranks ranks(3);
  for (const char* wire : {"2bit:0.3", "topk:0.2"}) {
    ranks.run([&](const JobRef& job) {
      job->message_bytes = 400;
      const Layout rows = Layout::by_rows(30, 20, 3), columns = Layout::by_columns(30, 20, 3);
      const auto m =
          DistMatrix::random(job, rows, DType::float32, {Distribution::Kind::uniform, -0.25, 0.25}, 5);
      const auto exact = values(m.remap(columns).local()[0]);
      std::vector<double> sum(exact.size());
      constexpr int kRounds = 60;
      for (int round = 0; round < kRounds; ++round) {
        const auto arrived = values(m.remap(columns, {.wire = code_of(wire)}).local()[0]);
        for (size_t i = 0; i < sum.size(); ++i) sum[i] += arrived[i];
      }
      for (size_t i = 0; i < sum.size(); ++i) ASSERT_NEAR(sum[i] / kRounds, exact[i], 0.05) << wire;
      // Another place has a residual of its own.
      const auto first = values(m.remap(Layout::replicated(30, 20, 3), {.wire = code_of("2bit")}).local()[0]);
      for (int64_t i = 0; i < 600; ++i) {
        if (i / 200 == job->rank()) continue;
        ASSERT_EQ(first[static_cast<size_t>(i)], 0) << "none reaches 0.5";
      }
    });
  }
}

// A block with an error is an error of what is sent, and not of what is sent when it has been written again.
TEST(Wire, ResidualsHaveNoErrors) {
  Ranks ranks(2);
  ranks.run([&](const JobRef& job) {
    const auto m = DistMatrix::filled(job, Layout::by_rows(8, 8, 2), DType::float32, 1);
    const Layout columns = Layout::by_columns(8, 8, 2);
    if (job->rank() == 0)
      job->engine().poison(m.local()[0].var(), std::make_exception_ptr(ValueError("bad block")));
    EXPECT_THROW(m.remap(columns, {.wire = code_of("2bit")}).local()[0].wait_to_read(), Error);
    if (job->rank() == 0) fill(m.local()[0], 1);
    EXPECT_NO_THROW(m.remap(columns, {.wire = code_of("2bit")}).local()[0].wait_to_read());
    try {
      job->engine().wait_all();
    } catch (const Error&) {  // the one above
    }
  });
}

TEST(Wire, UnknownTypesAreRefused) {
  Ranks ranks(2);
  ranks.run([&](const JobRef& job) {
    const Layout rows = Layout::by_rows(8, 8, 2), columns = Layout::by_columns(8, 8, 2);
    const auto of = [&](DType dtype, const char* wire, std::optional<DType> to = {}) {
      std::string message;
      try {
        DistMatrix::filled(job, rows, dtype, 1).remap(columns, {.dtype = to, .wire = code_of(wire)});
      } catch (const TypeError& error) {
        message = error.what();
      }
      return message;
    };
    EXPECT_THAT(of(DType::float64, "2bit"), HasSubstr("wire '2bit:0.5' for a matrix of float64"));
    EXPECT_THAT(of(DType::float64, "topk:0.1"), HasSubstr("expected float32"));
    EXPECT_THAT(of(DType::float16, "bfloat16"), HasSubstr("expected float32 or float64"));
    EXPECT_THAT(of(DType::float32, "float16", DType::float16), HasSubstr("of which float16 travels"));
    EXPECT_EQ(of(DType::float64, "2bit", DType::float32), "");
    EXPECT_EQ(of(DType::float64, "bfloat16"), "");
    job->engine().wait_all();
  });
}

TEST(Relabel, FindsTheBestAssignment) {
  RandomLayouts random(3);
  for (int round = 0; round < 200; ++round) {
    const int n = random.number(1, 6);
    std::vector<int64_t> worth(static_cast<size_t>(n * n));
    for (auto& one : worth) one = random.number(0, 9);
    const auto sum_of = [&](const std::vector<int>& taken) {
      int64_t sum = 0;
      for (int i = 0; i < n; ++i) sum += worth[static_cast<size_t>(i * n + taken[static_cast<size_t>(i)])];
      return sum;
    };
    std::vector<int> order(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    int64_t best = 0;
    do best = std::max(best, sum_of(order));
    while (std::next_permutation(order.begin(), order.end()));
    std::vector<int> taken = best_assignment(worth, n);
    EXPECT_EQ(sum_of(taken), best);
    std::sort(taken.begin(), taken.end());
    EXPECT_EQ(taken, order);
  }
}

TEST(Relabel, SparesWhatItSays) {
  for (const int count : {2, 3, 6}) {
    Ranks ranks(count);
    RandomLayouts random(static_cast<uint32_t>(count));
    for (int round = 0; round < 20; ++round) {
      const int64_t rows = random.number(1, 40), columns = random.number(1, 40);
      const bool transpose = round % 3 == 0;
      const Layout from = random.next(rows, columns, count);
      const Layout to = transpose ? random.next(columns, rows, count) : random.next(rows, columns, count);
      const Relabelling best = relabel(from, to, count, transpose);
      EXPECT_EQ(elements_moved(from, to, transpose) - elements_moved(from, best.layout, transpose),
                best.elements_spared);
      EXPECT_GE(best.elements_spared, 0);
      ranks.run([&](const JobRef& job) {
        const auto m = DistMatrix::random(job, from, DType::float32, {}, 3);
        const RemapOptions plain{.transpose = transpose}, free{.transpose = transpose, .relabel = true};
        const DistMatrix there = m.remap(to, free);
        EXPECT_EQ(there.bytes_spared(), 4 * best.elements_spared);
        EXPECT_EQ(values(there.to_global()), values(m.remap(to, plain).to_global()));
      });
    }
  }
}

// COSTA's example: the same blocks on other ranks need not move at all.
TEST(Relabel, NothingTravelsWhereOnlyNamesDiffer) {
  const Layout from = Layout::by_rows(12, 5, 3);
  const Layout turned = Layout::of_blocks({0, 4, 8, 12}, {0, 5}, {1, 2, 0});
  const Relabelling best = relabel(from, turned, 3, false);
  EXPECT_EQ(best.elements_spared, 60);
  EXPECT_TRUE(best.layout == from);
}

}  // namespace
}  // namespace loomix::linalg
