// SPDX-License-Identifier: Apache-2.0
#include "kvstore/merger.h"

#include <algorithm>

#include "base/error.h"
#include "kvstore/buckets.h"
#include "kvstore/combine.h"
#include "ndarray/copy.h"
#include "ndarray/sparse.h"

namespace loomix::kvstore {
namespace {

using Arrays = InlineVector<NDArray, 4>;

bool same_place(const NDArray& a, const NDArray& b) {
  return a.storage_ref() == b.storage_ref() && a.offset() == b.offset();
}

// Some memory is written that is another part of what is read or written.
bool entangled(std::span<const NDArray> sources, std::span<const NDArray> destinations) {
  const auto collides = [](const NDArray& a, const NDArray& b) { return a.overlaps(b) && !same_place(a, b); };
  for (const NDArray& to : destinations) {
    for (const NDArray& from : sources) {
      if (collides(from, to)) return true;
    }
    for (const NDArray& other : destinations) {
      if (collides(other, to)) return true;
    }
  }
  return false;
}

// The values where one task can add them up: on a host, stored like `like`.
Arrays reachable(std::span<const NDArray> values, const NDArray& like) {
  Arrays arrays;
  for (const NDArray& value : values) {
    NDArray array = value.stype() == like.stype() ? value : cast_storage(value, like.stype());
    if (!array.device().is_host()) array = copy_to(array, host_near(array.device()));
    arrays.push_back(std::move(array));
  }
  return arrays;
}

}  // namespace

Device host_near(Device device) {
  return device.type == DeviceType::gpu ? Device{DeviceType::cpu_pinned, 0} : Device::cpu();
}

void spread(const Request& request, const NDArray& value, std::span<const NDArray> destinations) {
  Arrays together;
  for (const NDArray& to : destinations) {
    const bool plain = value.is_dense() && to.is_dense() && value.device().is_host() &&
                       to.device().is_host() && value.dtype() == to.dtype();
    if (!plain) copy(value, to);
    else if (!same_place(value, to)) together.push_back(to);
  }
  const std::span<const NDArray> plain{together.data(), together.size()};
  if (plain.empty()) return;
  if (!entangled({&value, 1}, plain)) return combine(request, {&value, 1}, plain);
  for (const NDArray& to : plain) copy(value, to);
}

void Merger::set_compression(const CompressionParams& params) {
  const std::lock_guard lock(mutex_);
  compression_ = params;
  for (auto& [key, memory] : memory_) memory.residuals.clear();
}

Merger::Memory& Merger::memory_of(const Key& key) {
  const std::lock_guard lock(mutex_);
  return memory_[key];
}

// From a GPU to where they are added up.
void Merger::note_travel(std::span<const NDArray> values, Device to) {
  const auto travels = [&](const NDArray& value) {
    return !value.device().is_host() && value.device() != to;
  };
  if (std::ranges::any_of(values, travels)) runtime_.gradients_travel = true;
}

bool Merger::compresses(const NDArray& like) const {
  return compression_.enabled() && like.is_dense() && like.dtype() == DType::float32;
}

void Merger::merge(const Request& request, const Key& key, std::span<const NDArray> values,
                   std::span<const NDArray> destinations) {
  const NDArray& like = destinations[0];
  note_travel(values, Device::cpu());
  const Arrays arrays = reachable(values, like);
  const std::span<const NDArray> sources{arrays.data(), arrays.size()};
  if (!like.is_dense()) {
    combine_rows(request, sources, like);
    return spread(request, like, destinations.subspan(1));
  }
  Arrays direct;
  Arrays later;
  for (const NDArray& to : destinations) {
    const bool plain = to.is_dense() && to.device().is_host() && to.dtype() == like.dtype();
    (plain ? direct : later).push_back(to);
  }
  if (entangled(sources, {direct.data(), direct.size()})) {
    later = Arrays(destinations);
    direct = {NDArray(like.engine(), like.shape(), like.dtype(), Device::cpu())};
  }
  const std::span<const NDArray> to{direct.data(), direct.size()};
  if (compresses(like)) {
    Memory& memory = memory_of(key);
    std::vector<NDArray>& residuals = memory.residuals;
    while (residuals.size() < sources.size()) {
      residuals.push_back(compression_.two_bit()
                              ? zeros(like.engine(), like.shape(), DType::float32, Device::cpu())
                              : NDArray());
    }
    combine_compressed(request, compression_.code(), sources, {residuals.data(), sources.size()}, to);
  } else {
    combine(request, sources, to);
  }
  for (const NDArray& array : later) copy(direct[0], array);
}

NDArray Merger::merge(const Request& request, const Key& key, std::span<const NDArray> values,
                      const NDArray& like) {
  note_travel(values, Device::cpu());
  if (values.size() == 1 && !compresses(like)) return reachable(values, like)[0];
  Memory& memory = memory_of(key);
  if (memory.sum.is_none() || memory.sum.device() != like.device()) {
    memory.sum = like.is_dense() ? NDArray(like.engine(), like.shape(), like.dtype(), like.device())
                                 : NDArray::sparse(like.engine(), like.stype(), like.shape(), like.dtype(),
                                                   like.device());
  }
  merge(request, key, values, {&memory.sum, 1});
  return memory.sum;
}

NDArray Merger::merge_on(const Request& request, const Key& key, std::span<const NDArray> values,
                         Device device) {
  const engine::PushPriority scope(runtime_.engine(), request.priority);
  note_travel(values, device);
  Arrays near;
  for (const NDArray& value : values)
    near.push_back(value.device() == device ? value : copy_to(value, device));
  if (near.size() == 1) return near[0];
  NDArray& sum = memory_of(key).sum;
  if (sum.is_none() || sum.device() != device)
    sum = NDArray(runtime_.engine(), values[0].shape(), values[0].dtype(), device);
  // On the stream of communication: that of computing has the rest of the backward pass before it.
  add(runtime_, request, {near.data(), near.size()}, sum);
  return sum;
}

}  // namespace loomix::kvstore
