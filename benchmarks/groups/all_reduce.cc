// SPDX-License-Identifier: Apache-2.0
// Sums of the ranks of a job, in place: one rank of all_reduce.py.
//   bench_groups mpi|network BYTES TIMES
// Rank 0 prints "seconds" and the fastest time, where a time is that of the slowest rank.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/settings.h"
#include "comm/process_group.h"
#include "kvstore/cluster_store.h"
#include "kvstore/group_store.h"

namespace loomix::comm {
namespace {

using Done = ProcessGroup::Done;

double seconds_of(ProcessGroup& group, std::vector<float>& data) {
  wait_for_call([&](Done done) { group.barrier(std::move(done)); });
  const auto begin = std::chrono::steady_clock::now();
  wait_for_call([&](Done done) {
    group.all_reduce(data.data(), data.data(), data.size(), DType::float32, Reduction::sum, std::move(done));
  });
  double taken = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  wait_for_call([&](Done done) {
    group.all_reduce(&taken, &taken, 1, DType::float64, Reduction::maximum, std::move(done));
  });
  return taken;
}

}  // namespace
}  // namespace loomix::comm

int main(int count, char** words) {
  using namespace loomix;
  if (count != 4) return fmt::print(stderr, "bench_groups mpi|network BYTES TIMES\n"), 2;
  const comm::GroupOptions options = kvstore::group_options(settings());
  const auto group = words[1] == std::string("mpi") ? comm::make_mpi_group(options)
                                                    : kvstore::make_network_group(settings(), options);
  std::vector<float> data(static_cast<size_t>(std::atoll(words[2])) / sizeof(float), 1);
  double best = std::numeric_limits<double>::infinity();
  for (int turn = 0; turn <= std::atoi(words[3]); ++turn) {
    const double taken = comm::seconds_of(*group, data);
    if (turn > 0) best = std::min(best, taken);
  }
  if (group->rank() == 0) fmt::print("seconds {}\n", best);
}
