// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <memory>
#include <vector>

#include "linalg/dist_matrix.h"
#include "ndarray/copy.h"
#include "ops/table.h"

namespace loomix::linalg {

// Ranks as threads, with an engine each, as processes have.
class Ranks {
 public:
  explicit Ranks(int count, std::chrono::seconds deadline = std::chrono::seconds(20),
                 const ops::OpTable& table = ops::builtin_table(),
                 const comm::ArtificialLinks& between = {}) {
    for (auto& group : comm::make_inproc_groups(count, {deadline, deadline}, between)) {
      engine::EngineOptions options;
      options.workers = 1;
      engines_.push_back(engine::make_threaded_engine(options));
      runtimes_.push_back(std::make_unique<Runtime>(*engines_.back(), table));
      jobs_.push_back(std::make_shared<Job>(*runtimes_.back(), std::move(group)));
    }
  }
  int size() const { return static_cast<int>(jobs_.size()); }
  const JobRef& operator[](int rank) const { return jobs_[static_cast<size_t>(rank)]; }
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

inline std::vector<double> values(const NDArray& array) {
  const NDArray wide = array.dtype() == DType::float64 ? array : cast(array, DType::float64);
  std::vector<double> items(static_cast<size_t>(wide.size()));
  wide.copy_to_host(items.data(), wide.bytes());
  return items;
}

inline NDArray array_of(engine::Engine& engine, const std::vector<double>& items, const Shape& shape,
                        DType dtype = DType::float64) {
  NDArray result(engine, shape, DType::float64, Device::cpu());
  result.copy_from_host(items.data(), result.bytes());
  return dtype == DType::float64 ? result : cast(result, dtype);
}

}  // namespace loomix::linalg
