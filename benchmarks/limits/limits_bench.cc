// SPDX-License-Identifier: Apache-2.0
// From how much work on another core pays: the same work on one core and on all, in turns, around the limits that
// ops/limits.h has for this level of instructions (WorkLimits). A limit is right where the ratio of the two falls below 1.
//   LOOMIX_MAX_CPU_ISA=avx2 bench_limits [CORES] [ROUNDS]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "engine/engine.h"
#include "engine/omp_threads.h"
#include "engine/parallel_for.h"
#include "ops/elemwise/binary.h"
#include "ops/limits.h"
#include "ops/linalg/blas.h"
#include "ops/linear/gemm_blocks.h"

namespace {

using namespace loomix;
using namespace loomix::ops;
using engine::RunContext;
using Clock = std::chrono::steady_clock;

constexpr double kFactors[] = {0.125, 0.25, 0.5, 1, 2, 4, 8};  // of the limit

struct Setup {
  RunContext& context;
  int rounds;
};

double nanoseconds(int runs, auto&& run) {
  const auto begin = Clock::now();
  for (int i = 0; i < runs; ++i) run();
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / runs;
}

double median(std::vector<double> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

// Prints what `run(on all cores?)` takes, and returns the second time as a multiple of the first.
double compare(const Setup& setup, double work, auto&& run) {
  constexpr double kTurn = 500'000;
  const int runs = static_cast<int>(std::clamp(kTurn / nanoseconds(3, [&] { run(false); }), 1.0, 10'000.0));
  std::vector<double> alone, together;
  for (int round = 0; round < setup.rounds; ++round) {
    alone.push_back(nanoseconds(runs, [&] { run(false); }));
    together.push_back(nanoseconds(runs, [&] { run(true); }));
  }
  const double ratio = median(together) / median(alone);
  fmt::print("{:>14.0f} {:>12.1f} {:>12.1f} {:>8.2f}\n", work, median(alone) / 1e3, median(together) / 1e3,
             ratio);
  return ratio;
}

// Cases around the limit; `time(work)` is compare's ratio for one.
void derive(const char* name, double limit, auto&& time) {
  fmt::print("\n{} = {:.0f}\n{:>14} {:>12} {:>12} {:>8}\n", name, limit, "work", "one core us", "all us",
             "ratio");
  double pays = std::numeric_limits<double>::infinity();
  for (const double factor : kFactors) {
    if (time(limit * factor) >= 1) pays = std::numeric_limits<double>::infinity();
    else pays = std::min(pays, limit * factor);
  }
  fmt::print("pays from {:.0f} on\n", pays);
}

// Square products, cut into blocks as the kernels cut them, or not at all.
void products(const Setup& setup) {
  const auto gemm = [](const MatMul& s, const Leading& ld, const float* a, const float* b, float* c) {
    Blas<float>::gemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, blas_size(s.m), blas_size(s.n),
                      blas_size(s.k), 1, a, blas_size(ld.a), b, blas_size(ld.b), 0, c, blas_size(ld.c));
  };
  derive("team_flops", work_limits().team_flops, [&](double flops) {
    const auto side = static_cast<int64_t>(std::cbrt(flops / 2));
    const auto size = static_cast<size_t>(side * side);
    const std::vector<float> a(size, 1), b(size, 1);
    std::vector<float> c(size);
    const MatMul shape{side, side, side};
    return compare(setup, flops, [&](bool team) {
      WorkLimits limits = work_limits();
      limits.team_flops = team ? 0 : std::numeric_limits<double>::infinity();
      gemm_by_blocks(shape, a.data(), b.data(), c.data(), setup.context, CutBy::shape, gemm, limits);
    });
  });
}

// `work` for each of the cores, of items that take `each`.
double shared(const Setup& setup, double work, double each, auto&& items) {
  const auto grain = std::max<int64_t>(1, static_cast<int64_t>(work / each));
  const int64_t count = grain * setup.context.cores;
  return compare(setup, static_cast<double>(grain) * each, [&](bool team) {
    if (team) engine::parallel_for(setup.context, count, grain, items);
    else items(int64_t{0}, count);
  });
}

// A loop of sums.
void loops(const Setup& setup) {
  constexpr int64_t kRows = 64;
  derive("loop_steps", static_cast<double>(work_limits().loop_steps), [&](double work) {
    const auto columns = static_cast<size_t>(work / kRows + 1) * static_cast<size_t>(setup.context.cores);
    const std::vector<float> in(columns * kRows, 1);
    std::vector<float> out(columns);
    return shared(setup, work, kRows, [&](int64_t begin, int64_t end) {
      std::fill(out.data() + begin, out.data() + end, 0.0f);
      for (size_t row = 0; row < kRows; ++row) {
        const float* const from = in.data() + row * columns;
        for (int64_t i = begin; i < end; ++i) out[static_cast<size_t>(i)] += from[i];
      }
    });
  });
}

// An operator on elements, which does one thing with each.
void elements(const Setup& setup) {
  derive("loop_elements", static_cast<double>(work_limits().loop_elements), [&](double work) {
    const auto size = static_cast<size_t>(work) * static_cast<size_t>(setup.context.cores) + kLoopBlock;
    const std::vector<float> a(size, 1), b(size, 2);
    std::vector<float> c(size);
    return shared(setup, work, kLoopBlock, [&](int64_t begin, int64_t end) {
      const auto first = static_cast<size_t>(begin * kLoopBlock);
      binary_row(binary_code<fn::Add>, DType::float32, Spread::none, &a[first], &b[first], &c[first],
                 (end - begin) * kLoopBlock);
    });
  });
}

// Batches of small products.
void matrices(const Setup& setup) {
  constexpr int64_t kSide = 8;
  constexpr size_t kSize = kSide * kSide;
  derive("matrix_flops", work_limits().matrix_flops, [&](double work) {
    const double flops = 2.0 * kSize * kSide;
    const auto count = static_cast<size_t>(work / flops + 1) * static_cast<size_t>(setup.context.cores);
    const std::vector<float> a(count * kSize, 1), b(count * kSize, 1);
    std::vector<float> c(count * kSize);
    return shared(setup, work, flops, [&](int64_t begin, int64_t end) {
      engine::set_omp_threads(1);
      for (size_t i = static_cast<size_t>(begin) * kSize; i < static_cast<size_t>(end) * kSize; i += kSize)
        Blas<float>::gemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, kSide, kSide, kSide, 1, &a[i], kSide,
                          &b[i], kSide, 0, &c[i], kSide);
    });
  });
}

}  // namespace

int main(int argc, char** argv) {
  const int cores = argc > 1 ? std::atoi(argv[1]) : 2;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 21;
  if (cores < 2 || rounds < 1) {
    fmt::print(stderr, "usage: bench_limits [CORES, at least 2] [ROUNDS]\n");
    return 2;
  }
  engine::EngineOptions options;
  options.workers = cores;
  const auto engine = engine::make_threaded_engine(options);
  engine::TaskInfo info;
  info.may_inline = false;
  info.max_cores = static_cast<uint8_t>(cores);
  engine->push(info, {}, [&](RunContext& context) {
    const Setup setup{context, rounds};
    fmt::print("{} of {} cores\n", context.cores, cores);
    products(setup);
    loops(setup);
    elements(setup);
    matrices(setup);
  });
  engine->wait_all();
}
