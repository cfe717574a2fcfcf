// SPDX-License-Identifier: Apache-2.0
// Products of ranks that are threads, with links of a set bandwidth between them: whether the shorter one of computing and travelling is
// hidden by the longer one.
//   bench_linalg SIZE RANKS
// Computing is what the same product takes without limits of the links. Operands and results lie as the way has them, so nothing else
// travels. A line a way: the model's times, what it took, and how many times the longer one of computing and travelling that is. Where the
// model says that part of the shorter one cannot be hidden, the line says so.
#include <chrono>
#include <cstdlib>
#include <functional>
#include <future>
#include <limits>

#include <fmt/core.h>

#include "linalg/product.h"
#include "ndarray/copy.h"
#include "ops/table.h"

namespace loomix::linalg {
namespace {

using Clock = std::chrono::steady_clock;

// Ranks as threads, with an engine of one worker each.
class Ranks {
 public:
  Ranks(int count, const comm::ArtificialLinks& between) {
    for (auto& group : comm::make_inproc_groups(count, {}, between)) {
      engine::EngineOptions options;
      options.workers = 1;
      engines_.push_back(engine::make_threaded_engine(options));
      runtimes_.push_back(std::make_unique<Runtime>(*engines_.back(), ops::builtin_table()));
      jobs_.push_back(std::make_shared<Job>(*runtimes_.back(), std::move(group)));
    }
  }
  void run(const std::function<void(const JobRef&)>& body) {
    std::vector<std::future<void>> all;
    for (const JobRef& job : jobs_)
      all.push_back(std::async(std::launch::async, [&body, &job] { body(job); }));
    for (auto& one : all) one.get();
  }

 private:
  std::vector<std::unique_ptr<engine::Engine>> engines_;
  std::vector<std::unique_ptr<Runtime>> runtimes_;
  std::vector<JobRef> jobs_;
};

struct Found {
  ProductWay way;
  double seconds = std::numeric_limits<double>::infinity();
};

Found fastest_of_three(int64_t size, int count, const Links& links, const comm::ArtificialLinks& between,
                       Algorithm algorithm) {
  Ranks ranks(count, between);
  Found found;
  const Layout rows = Layout::by_rows(size, size, count);
  TransferCache transfers(0);
  const ProductWay way =
      ways_to_multiply({rows, rows, DType::float32, count, links}, transfers, {.algorithm = algorithm})
          .front();
  const ProductOptions options{.out_layout = way.c, .algorithm = algorithm};
  found.way = ways_to_multiply({way.a, way.b, DType::float32, count, links}, transfers, options).front();
  for (int turn = 0; turn < 3; ++turn) {
    Clock::time_point begin;
    ranks.run([&](const JobRef& job) {
      job->links = links;
      job->kept().set_limit(0);
      const auto a = DistMatrix::random(job, found.way.a, DType::float32, {}, 1);
      const auto b = DistMatrix::random(job, found.way.b, DType::float32, {}, 2);
      job->engine().wait_all();
      comm::wait_for_call([&](comm::ProcessGroup::Done done) { job->group().barrier(std::move(done)); });
      if (job->rank() == 0) begin = Clock::now();
      const DistMatrix c = dot(a, b, options);
      job->engine().wait_all();
    });
    found.seconds = std::min(found.seconds, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return found;
}

}  // namespace
}  // namespace loomix::linalg

int main(int words, char** word) {
  using namespace loomix::linalg;
  const int64_t size = words > 1 ? std::atoll(word[1]) : 2048;
  const int ranks = words > 2 ? std::atoi(word[2]) : 2;
  fmt::print("{:<46}{:>12}{:>12}{:>12}{:>12}{:>8}\n", "way", "computes ms", "sends ms", "model ms", "took ms",
             "times");
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::grid, Algorithm::reduce}) {
    const double compute_s = fastest_of_three(size, ranks, {}, {}, algorithm).seconds;
    const double work =
        2.0 * static_cast<double>(size) * static_cast<double>(size) * static_cast<double>(size);
    for (const double ratio : {0.25, 0.5, 0.75, 1.0, 2.0, 4.0}) {  // of travelling to computing, about
      const double bytes = static_cast<double>(size) * static_cast<double>(size) * 4 * (ranks - 1) / ranks;
      const Links links{bytes / (ratio * compute_s), 2e-5, work / ranks / compute_s};
      const Found found =
          fastest_of_three(size, ranks, links, {links.bytes_per_s, std::chrono::microseconds(20)}, algorithm);
      const double longer = std::max(found.way.compute_s, found.way.travel_s);
      fmt::print("{:<46}{:>12.1f}{:>12.1f}{:>12.1f}{:>12.1f}{:>8.2f}{}\n", found.way.name(),
                 found.way.compute_s * 1e3, found.way.travel_s * 1e3, found.way.seconds * 1e3,
                 found.seconds * 1e3, found.seconds / longer,
                 found.way.seconds > 1.03 * longer
                     ? fmt::format("  ({:.2f} by the model)", found.way.seconds / longer)
                     : "");
    }
  }
}
