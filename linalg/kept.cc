// SPDX-License-Identifier: Apache-2.0
#include "linalg/kept.h"

#include <algorithm>

#include "engine/device/device_runtime.h"
#include "ndarray/copy.h"

namespace loomix::linalg {
namespace {

// A task that reads an array with an error is dropped: it never runs.
class Look {
 public:
  explicit Look(std::shared_ptr<std::atomic<bool>> failed) : failed_(std::move(failed)) {}
  Look(Look&&) noexcept = default;
  Look& operator=(Look&&) = delete;
  ~Look() {
    if (failed_) *failed_ = true;
  }
  void operator()(engine::RunContext&) { failed_.reset(); }

 private:
  std::shared_ptr<std::atomic<bool>> failed_;
};

}  // namespace

KeptCopies::Writes::Writes(std::span<const NDArray> blocks) {
  for (const NDArray& block : blocks) {
    counts.emplace_back(block.storage().version(), block.storage().past_exposures());
    exposed = exposed || block.storage().is_exposed();
  }
}

void KeptCopies::set_limit(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  limit_ = bytes;
  cut_down(limit_);
}

bool KeptCopies::may_keep(int64_t bytes) const {
  const std::lock_guard lock(mutex_);
  return bytes > 0 && bytes <= limit_;
}

NDArray KeptCopies::find(const std::shared_ptr<MatrixIdentity>& matrix, const Writes& writes) {
  const std::lock_guard lock(mutex_);
  for (auto copy = copies_.begin(); copy != copies_.end(); ++copy) {
    if (copy->matrix.lock() != matrix) continue;
    if (copy->writes == writes && copy->whole_writes == Writes({&copy->whole, 1}) && !*copy->failed) {
      copies_.splice(copies_.begin(), copies_, copy);
      return copy->whole;
    }
    copies_.erase(copy);
    break;
  }
  return {};
}

void KeptCopies::put(const std::shared_ptr<MatrixIdentity>& matrix, Writes writes, const NDArray& whole) {
  auto failed = std::make_shared<std::atomic<bool>>(false);
  ArrayTags tags;
  tags.read(whole);
  engine::TaskInfo info;
  info.describe.name = [](const void*) { return "keep"; };
  whole.engine().push(std::move(info), tags.tags(), Look(failed));
  matrix->kept = true;
  const std::lock_guard lock(mutex_);
  std::erase_if(copies_, [&](const Copy& copy) {
    const auto of = copy.matrix.lock();
    return of == nullptr || of == matrix;
  });
  cut_down(limit_ - whole.bytes());
  copies_.push_front({matrix, std::move(writes), whole, Writes({&whole, 1}), std::move(failed)});
}

void KeptCopies::make_room(engine::Engine& engine, int64_t bytes) {
  const auto& pool = engine.device(Device::cpu()).memory(MemoryKind::host);
  const std::lock_guard lock(mutex_);
  if (!copies_.empty() && pool.stats().in_use + bytes > pool.bound()) copies_.clear();
}

void KeptCopies::cut_down(int64_t bytes) {
  int64_t sum = 0;
  const auto fits = [&](const Copy& copy) { return (sum += copy.whole.bytes()) <= bytes; };
  copies_.erase(std::find_if_not(copies_.begin(), copies_.end(), fits), copies_.end());
}

}  // namespace loomix::linalg
