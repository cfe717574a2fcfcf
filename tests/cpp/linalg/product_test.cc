// SPDX-License-Identifier: Apache-2.0
#include "linalg/product.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <thread>

#include "base/error.h"
#include "tests/cpp/linalg/random_layouts.h"
#include "tests/cpp/linalg/ranks.h"

namespace loomix::linalg {
namespace {

using testing::HasSubstr;

// By three loops, in double.
std::vector<double> product_of(const std::vector<double>& a, const std::vector<double>& b, int64_t m,
                               int64_t k, int64_t n, bool transpose_a, bool transpose_b) {
  std::vector<double> c(static_cast<size_t>(m * n));
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t x = 0; x < k; ++x)
        c[static_cast<size_t>(i * n + j)] += a[static_cast<size_t>(transpose_a ? x * m + i : i * k + x)] *
                                             b[static_cast<size_t>(transpose_b ? j * k + x : x * n + j)];
    }
  }
  return c;
}

constexpr Algorithm kAlgorithms[] = {Algorithm::local, Algorithm::ring, Algorithm::grid, Algorithm::reduce};

class ProductTest : public testing::TestWithParam<int> {};

// 500 in all: fewer where there are more ranks than cores.
TEST_P(ProductTest, OfAnyLayouts) {
  const int rounds = GetParam() <= 4 ? 110 : GetParam() == 6 ? 40 : 20;
  Ranks ranks(GetParam()), one(1);
  const auto numbers = [&](int64_t rows, int64_t columns, uint64_t seed) {
    const Layout whole = Layout::on_rank(rows, columns, 0);
    return values(DistMatrix::random(one[0], whole, DType::float64, {}, seed).local()[0]);
  };
  ranks.run([&](const JobRef& job) {
    RandomLayouts random(static_cast<uint32_t>(100 + GetParam()));
    for (int round = 0; round < rounds; ++round) {
      const int64_t m = random.number(0, 30), k = random.number(0, 30), n = random.number(0, 30);
      ProductOptions options{.transpose_a = random.number(0, 1) != 0,
                             .transpose_b = random.number(0, 1) != 0};
      const int64_t a_rows = options.transpose_a ? k : m, a_columns = options.transpose_a ? m : k;
      const int64_t b_rows = options.transpose_b ? n : k, b_columns = options.transpose_b ? k : n;
      const auto a =
          DistMatrix::random(job, random.next(a_rows, a_columns, job->size()), DType::float64, {}, 1);
      const auto b =
          DistMatrix::random(job, random.next(b_rows, b_columns, job->size()), DType::float64, {}, 2);
      if (random.number(0, 1) != 0) options.out_layout = random.next(m, n, job->size());
      if (round % 5 < 4) options.algorithm = kAlgorithms[round % 5];
      const DistMatrix c = dot(a, b, options);
      if (options.out_layout) {
        ASSERT_EQ(c.layout(), *options.out_layout);
      }
      const NDArray whole = c.to_global(0);
      if (job->rank() != 0) continue;
      const auto found = values(whole);
      const auto expected = product_of(numbers(a_rows, a_columns, 1), numbers(b_rows, b_columns, 2), m, k, n,
                                       options.transpose_a, options.transpose_b);
      ASSERT_EQ(found.size(), expected.size());
      for (size_t i = 0; i < found.size(); ++i)
        ASSERT_NEAR(found[i], expected[i], 1e-12 * static_cast<double>(k + 1)) << explain_dot(a, b, options);
    }
  });
}

// Each variant on its own, with parts that are cut into several units and panels.
TEST_P(ProductTest, OfSeveralUnits) {
  Ranks ranks(GetParam());
  ranks.run([&](const JobRef& job) {
    job->kept().set_limit(0);  // by a copy that is kept, another way may be the best, which rounds otherwise
    const int64_t m = 70, k = 1100, n = 90;
    const auto a = DistMatrix::random(job, Layout::by_rows(m, k, job->size()), DType::float32, {}, 1);
    const auto b = DistMatrix::random(job, Layout::by_rows(n, k, job->size()), DType::float32, {}, 2);
    const auto expected = product_of(values(a.to_global()), values(b.to_global()), m, k, n, false, true);
    for (const Algorithm algorithm : kAlgorithms) {
      const ProductOptions options{.transpose_b = true, .algorithm = algorithm};
      const auto found = values(dot(a, b, options).to_global());
      for (size_t i = 0; i < found.size(); ++i)
        ASSERT_NEAR(found[i], expected[i], 1e-3) << name_of(algorithm);
      EXPECT_EQ(values(dot(a, b, options).to_global()), found) << "the same bits in each run";
    }
  });
}

// More buffers take more memory, as the model says, and change no bit.
TEST_P(ProductTest, ByMoreBuffers) {
  Ranks ranks(GetParam());
  ranks.run([&](const JobRef& job) {
    job->kept().set_limit(0);
    const auto a = DistMatrix::random(job, Layout::by_rows(1500, 600, job->size()), DType::float32, {}, 1);
    const auto b = DistMatrix::random(job, Layout::by_rows(600, 700, job->size()), DType::float32, {}, 2);
    for (const Algorithm algorithm : {Algorithm::ring, Algorithm::grid, Algorithm::reduce}) {
      const ProductOptions options{.algorithm = algorithm};
      job->buffers = 2;
      const auto two = values(dot(a, b, options).to_global());
      const auto memory = ways_to_multiply(a, b, options).front().memory;
      job->buffers = 5;
      EXPECT_EQ(values(dot(a, b, options).to_global()), two) << name_of(algorithm);
      if (job->size() > 1) {
        EXPECT_GT(ways_to_multiply(a, b, options).front().memory, memory);
      }
    }
  });
}

TEST_P(ProductTest, OfHalves) {
  Ranks ranks(GetParam());
  ranks.run([&](const JobRef& job) {
    for (const DType dtype : {DType::float16, DType::bfloat16}) {
      const auto a = DistMatrix::random(job, Layout::by_rows(20, 600, job->size()), dtype, {}, 1);
      const auto b = DistMatrix::random(job, Layout::by_columns(600, 30, job->size()), dtype, {}, 2);
      const auto expected =
          product_of(values(a.to_global()), values(b.to_global()), 20, 600, 30, false, false);
      for (const Algorithm algorithm : kAlgorithms) {
        const DistMatrix c = dot(a, b, {.algorithm = algorithm});
        EXPECT_EQ(c.dtype(), dtype);
        const auto found = values(c.to_global());
        const double step = dtype == DType::float16 ? 1.0 / 2048 : 1.0 / 256;  // of one rounding
        for (size_t i = 0; i < found.size(); ++i)
          ASSERT_NEAR(found[i], expected[i], expected[i] * step * 1.01) << name_of(algorithm);
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, ProductTest, testing::Values(1, 2, 3, 4, 6, 12));

TEST(Product, TakesTheCheapestWay) {
  Ranks ranks(4);
  const JobRef& job = ranks[0];
  const auto tall = DistMatrix::filled(job, Layout::by_rows(100'000, 64, 4), DType::float32, 0);
  const auto small = DistMatrix::filled(job, Layout::replicated(64, 64, 4), DType::float32, 0);
  EXPECT_EQ(ways_to_multiply(tall, small, {}).front().algorithm, Algorithm::local) << "nothing travels";
  EXPECT_EQ(ways_to_multiply(tall, tall, {.transpose_a = true}).front().algorithm, Algorithm::reduce)
      << "the contracted axis is cut, and the result is small";
  job->links = {.bytes_per_s = 1e8, .latency_s = 1e-6, .flops = 1e12};
  const auto square = DistMatrix::filled(job, Layout::on_grid(2048, 2048, 2, 2), DType::float32, 0);
  const auto ways = ways_to_multiply(square, square, {});
  EXPECT_EQ(ways.front().name(), "grid of 2 x 2");
  // Each rank sends its parts of both operands once.
  EXPECT_EQ(ways.front().bytes, 2.0 * 2048 * 2048 / 4 * sizeof(float));
  EXPECT_THAT(explain_dot(square, square), HasSubstr("by: grid of 2 x 2\n"));
  EXPECT_THAT(explain_dot(square, square), HasSubstr("ring, b moves, cut along the contracted axis"));
}

// What the model says is what travels.
TEST(Product, BytesAreTheModels) {
  constexpr int kRanks = 4;
  Ranks ranks(kRanks);
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::grid, Algorithm::reduce}) {
    std::vector<double> sent(kRanks);
    double expected = 0;
    ranks.run([&](const JobRef& job) {
      const auto a = DistMatrix::filled(job, Layout::by_rows(512, 512, kRanks), DType::float32, 1);
      const auto b = DistMatrix::filled(job, Layout::by_rows(512, 512, kRanks), DType::float32, 1);
      const auto total = [&] {
        uint64_t sum = 0;
        for (const uint64_t bytes : job->group().traffic().sent) sum += bytes;
        return static_cast<double>(sum);
      };
      const double before = total();
      const DistMatrix c = dot(a, b, {.algorithm = algorithm});
      job->engine().wait_all();
      sent[static_cast<size_t>(job->rank())] = total() - before;
      if (job->rank() == 0) expected = ways_to_multiply(a, b, {.algorithm = algorithm}).front().bytes;
    });
    double mean = 0;
    for (const double bytes : sent) mean += bytes / kRanks;
    EXPECT_NEAR(mean, expected, 8000) << name_of(algorithm) << ": but for marks, and what ranks agree on";
  }
}

// What a rank sends in `work`, but for what ranks agree on.
double sent_in(Job& job, int agreements, const std::function<void()>& work) {
  const auto total = [&] {
    double sum = 0;
    for (const uint64_t bytes : job.group().traffic().sent) sum += static_cast<double>(bytes);
    return sum;
  };
  job.engine().wait_all();  // what goes to others of earlier calls
  const double before = total();
  work();
  job.engine().wait_all();
  return total() - before - 256.0 * agreements * (job.size() - 1);
}

// dX = dY W after Y = X W^T: W came by, and is not sent again until it is written, on whatever rank.
TEST(Product, SendsNothingTwice) {
  constexpr int kRanks = 3;
  constexpr int64_t kRows = 60, kIn = 90, kOut = 30;
  Ranks ranks(kRanks);
  ranks.run([&](const JobRef& job) {
    const auto x = DistMatrix::random(job, Layout::by_rows(kRows, kIn, kRanks), DType::float32, {}, 1);
    const auto dy = DistMatrix::random(job, Layout::by_rows(kRows, kOut, kRanks), DType::float32, {}, 2);
    const auto w = DistMatrix::random(job, Layout::by_rows(kOut, kIn, kRanks), DType::float32, {}, 3);
    const auto expected = [&] {
      return product_of(values(dy.to_global()), values(w.to_global()), kRows, kOut, kIn, false, false);
    };
    const auto check = [&](const DistMatrix& dx) {
      const auto found = values(dx.to_global());
      const auto right = expected();
      for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], right[i], 1e-4);
    };
    const double ring = 1.0 * kOut * kIn * sizeof(float) * (kRanks - 1) / kRanks;
    const ProductOptions forward{.transpose_b = true, .algorithm = Algorithm::ring};
    EXPECT_GE(sent_in(*job, 1, [&] { dot(x, w, forward); }), ring);
    for (int i = 0; i < 2; ++i) {
      std::optional<DistMatrix> dx;
      EXPECT_EQ(sent_in(*job, 2, [&] { dx = dot(dy, w); }), 0);
      check(*dx);
    }
    EXPECT_THAT(explain_dot(dy, w), HasSubstr("by: local, b everywhere"));
    EXPECT_THAT(explain_dot(dy, w), HasSubstr("of which this rank keeps a copy"));
    if (job->rank() == 1) fill(w.local()[0], 5);
    std::optional<DistMatrix> dx;
    EXPECT_GT(sent_in(*job, 2, [&] { dx = dot(dy, w); }), 100);
    check(*dx);
    EXPECT_EQ(sent_in(*job, 1, [&] { w.replicated(); }), 0) << "the same copy";
    job->kept().set_limit(0);
    EXPECT_GT(sent_in(*job, 2, [&] { dx = dot(dy, w); }), 100);
    EXPECT_GT(sent_in(*job, 2, [&] { w.replicated(); }), 100);
    check(*dx);
  });
}

// Ranks whose products take a time that the sizes alone say, whatever else the machine does.
constexpr double kFlops = 5e8;
const ops::OpTable& table_of_sleepers() {
  static const ops::OpTable* const made = [] {
    auto* own = std::make_unique<ops::OpTable>().release();
    ops::register_all(*own);
    own->validate();
    const auto sleep = [](const AttrsBase&, const ops::KernelArgs& args) {
      const double work = 2.0 * static_cast<double>(args.out[0].shape.size()) *
                          std::sqrt(static_cast<double>(args.in[0].shape.size()) *
                                    static_cast<double>(args.in[1].shape.size()) /
                                    static_cast<double>(args.out[0].shape.size()));
      std::this_thread::sleep_for(std::chrono::duration<double>(work / kFlops));
    };
    ops::Kernel sleeps;
    sleeps.name = "sleep";
    sleeps.run = sleep;
    const std::pair<std::string, ops::Kernel> kernel{"dot", sleeps};
    own->add_later({&kernel, 1});
    return own;
  }();
  return *made;
}

// The time of a product over links of this speed by ranks that sleep instead of computing, the best of some rounds.
struct Timed {
  ProductWay way;
  double seconds = std::numeric_limits<double>::infinity();
};

Timed product_over_links(Algorithm algorithm, int64_t rows, int64_t inner, double bytes_per_s) {
  constexpr int kRanks = 4, kRounds = 8;
  Ranks ranks(kRanks, std::chrono::seconds(20), table_of_sleepers(),
              {bytes_per_s, std::chrono::microseconds(20)});
  Timed found;
  const auto is_good = [&] {
    return found.seconds < 1.1 * std::max(found.way.compute_s, found.way.travel_s);
  };
  for (int round = 0; round < kRounds && !is_good(); ++round) {
    std::chrono::steady_clock::time_point begin;
    ranks.run([&](const JobRef& job) {
      job->links = {bytes_per_s, 20e-6, kFlops};
      job->kept().set_limit(0);
      const ProductOptions options{.algorithm = algorithm};
      const ProductCase here{Layout::by_rows(rows, inner, kRanks), Layout::by_rows(inner, rows, kRanks),
                             DType::float32, kRanks, job->links};
      const ProductWay chosen = ways_to_multiply(here, job->transfers(), options).front();
      const auto a = DistMatrix::filled(job, chosen.a, DType::float32, 1);
      const auto b = DistMatrix::filled(job, chosen.b, DType::float32, 1);
      job->engine().wait_all();
      comm::wait_for_call([&](comm::ProcessGroup::Done done) { job->group().barrier(std::move(done)); });
      if (job->rank() == 0) {
        found.way = ways_to_multiply(a, b, options).front();
        begin = std::chrono::steady_clock::now();
      }
      const DistMatrix c = dot(a, b, options);
      job->engine().wait_all();
    });
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    found.seconds = std::min(found.seconds, time.count());
  }
  return found;
}

// What travels while something is computed takes no time, or the other way round, wherever the model says so.
TEST(Product, TheLongerOneHidesTheOther) {
  constexpr int64_t kLong = 2048, kShort = 256;  // little to copy
  constexpr double kComputes = 2.0 * kShort * kShort * kLong / 4 / kFlops,
                   kBytes = kShort * kLong * 4.0 * 3 / 4;
  constexpr double kMost =
      1.3;  // one after the other they take 1.5 times the longer one in the first of the two cases
  int hidden = 0;
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::grid, Algorithm::reduce}) {
    // Other work on the machine delays whoever sleeps.
    const Timed free = product_over_links(algorithm, kShort, kLong, 1e12);
    const double delayed = std::max(1.0, free.seconds / free.way.compute_s);
    for (const double ratio : {0.5, 5.0}) {  // of travelling to computing, about
      const auto [way, seconds] = product_over_links(algorithm, kShort, kLong, kBytes / (ratio * kComputes));
      const double longer = std::max(way.compute_s, way.travel_s);
      if (way.seconds > 1.03 * longer) continue;
      ++hidden;
      EXPECT_LE(seconds, kMost * delayed * longer)
          << way.name() << ": computes " << way.compute_s << " s, sends " << way.travel_s
          << " s, by the model " << way.seconds << " s; over free links " << free.seconds << " s";
    }
  }
  EXPECT_GE(hidden, 3) << "of six cases";
}

TEST(Product, SizesMustFit) {
  Ranks ranks(2);
  const auto a = DistMatrix::filled(ranks[0], Layout::by_rows(4, 5, 2), DType::float32, 0);
  try {
    dot(a, a);
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_THAT(error.what(), HasSubstr("(4, 5), rows on 2 ranks and (4, 5), rows on 2 ranks "
                                        "do not fit: 5 columns meet 4 rows"));
  }
  EXPECT_THROW(dot(a, a, {.transpose_b = true, .out_layout = Layout::by_rows(4, 5, 2)}), ShapeError);
  EXPECT_THROW(parse_algorithm("cannon"), ValueError);
}

TEST(Product, ErrorsTravel) {
  Ranks ranks(3);
  for (const Algorithm algorithm : kAlgorithms) {
    ranks.run([&](const JobRef& job) {
      const auto a = DistMatrix::random(job, Layout::by_rows(90, 90, 3), DType::float32, {}, 4);
      if (job->rank() == 1)
        job->engine().poison(a.local()[0].var(), std::make_exception_ptr(ValueError("bad block")));
      const DistMatrix c = dot(a, a, {.out_layout = Layout::replicated(90, 90, 3), .algorithm = algorithm});
      EXPECT_THROW(c.local()[0].wait_to_read(), Error) << name_of(algorithm);
      try {
        job->engine().wait_all();
      } catch (const Error&) {  // the one above
      }
    });
  }
}

}  // namespace
}  // namespace loomix::linalg
