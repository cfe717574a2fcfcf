// SPDX-License-Identifier: Apache-2.0
#include "kvstore/local_store.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/settings.h"
#include "kvstore/combine.h"
#include "ndarray/copy.h"
#include "ndarray/sparse.h"

namespace loomix::kvstore {
namespace {

constexpr std::array<std::string_view, 5> kTypes = {"local", "local_allreduce_cpu", "local_update_cpu",
                                                    "device", "local_allreduce_device"};

}  // namespace

void check_values(const Key& key, const NDArray& stored, std::span<const NDArray> values) {
  LOOMIX_CHECK(!values.empty(), ValueError, "[KVStore] no value was pushed for key {}.", to_text(key));
  for (const NDArray& value : values) {
    LOOMIX_CHECK(!value.is_none(), TypeError, "[KVStore] an empty array (none) was pushed for key {}.",
                 to_text(key));
    LOOMIX_CHECK(value.shape() == stored.shape(), ShapeError,
                 "[KVStore] key {} has shape {}, but {} was pushed.", to_text(key),
                 stored.shape().to_string(), value.shape().to_string());
    LOOMIX_CHECK(value.dtype() == stored.dtype(), TypeError,
                 "[KVStore] key {} has dtype {}, but {} was pushed.", to_text(key), name_of(stored.dtype()),
                 name_of(value.dtype()));
  }
}

void check_outs(const Key& key, const NDArray& stored, std::span<const NDArray> outs) {
  for (const NDArray& out : outs) {
    LOOMIX_CHECK(!out.is_none(), TypeError, "[KVStore] an output for key {} is empty (none).", to_text(key));
    LOOMIX_CHECK(out.shape() == stored.shape(), ShapeError, "[KVStore] key {} has shape {}, but out has {}.",
                 to_text(key), stored.shape().to_string(), out.shape().to_string());
  }
}

NDArray LocalStore::stored(const Key& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = values_.find(key);
  LOOMIX_CHECK(found != values_.end(), KeyError, "[KVStore] key {} has no value; call init first.",
               to_text(key));
  return found->second;
}

bool LocalStore::is_on_gpus(const NDArray& stored, std::span<const NDArray> values) const {
  const auto fits = [](const NDArray& value) {
    return value.is_dense() && value.device().type == DeviceType::gpu;
  };
  return type_.find("device") != std::string::npos && stored.is_dense() && !merger_.compresses(stored) &&
         std::all_of(values.begin(), values.end(), fits);
}

NDArray LocalStore::stored_near(const Key& key, std::span<const NDArray> values) {
  const NDArray now = stored(key);
  const Device device = now.device();
  if (!is_on_gpus(now, values)) return device.is_host() ? now : moved(key, now, Device::cpu());
  const auto is_there = [&](const NDArray& value) { return value.device() == device; };
  if (std::any_of(values.begin(), values.end(), is_there)) return now;
  return moved(key, now, values[placed_++ % values.size()].device());
}

NDArray LocalStore::moved(const Key& key, const NDArray& from, Device device) {
  const NDArray to = copy_to(from, device);
  const std::lock_guard lock(mutex_);
  return values_.at(key) = to;
}

std::shared_ptr<const Updater> LocalStore::updater() const {
  const std::lock_guard lock(mutex_);
  return updater_;
}

void LocalStore::init(const Key& key, const NDArray& value) {
  LOOMIX_CHECK(!value.is_none(), TypeError, "[KVStore] the first value of key {} is empty (none).",
               to_text(key));
  LOOMIX_CHECK(value.stype() != StorageType::csr, TypeError,
               "[KVStore] the first value of key {} is a csr array; expected default or row_sparse.",
               to_text(key));
  // They are kept on a host until values come from GPUs.
  const Device device = value.device().is_host() ? value.device() : Device::cpu();
  const NDArray stored =
      value.is_dense() ? NDArray(value.engine(), value.shape(), value.dtype(), device)
                       : NDArray::sparse(value.engine(), value.stype(), value.shape(), value.dtype(), device);
  {
    const std::lock_guard lock(mutex_);
    LOOMIX_CHECK(values_.emplace(key, stored).second, ValueError,
                 "[KVStore] key {} has a value already; init it once only.", to_text(key));
  }
  copy(value, stored);
}

void LocalStore::push(const Key& key, std::span<const NDArray> values, int priority) {
  check_values(key, stored(key), values);
  const NDArray target = stored_near(key, values);
  const Request call = request("kvstore_push", key, priority);
  const auto update = updater();
  if (is_on_gpus(target, values)) {
    const NDArray merged = merger_.merge_on(call, key, values, target.device());
    const engine::PushPriority scope(target.engine(), call.priority);
    if (update) (*update)(key, merged, target, priority);
    else copy(merged, target);
  } else if (update) {
    const NDArray merged = merger_.merge(call, key, values, target);
    const engine::PushPriority scope(target.engine(), call.priority);
    (*update)(key, merged, target, priority);
  } else {
    merger_.merge(call, key, values, {&target, 1});
  }
}

void LocalStore::pull(const Key& key, std::span<const NDArray> outs, int priority) {
  const NDArray source = stored(key);
  check_outs(key, source, outs);
  spread(request("kvstore_pull", key, priority), source, outs);
}

void LocalStore::pushpull(const Key& key, std::span<const NDArray> values, std::span<const NDArray> outs,
                          int priority) {
  if (updater()) return KVStore::pushpull(key, values, outs, priority);
  check_values(key, stored(key), values);
  check_outs(key, stored(key), outs);
  const NDArray target = stored_near(key, values);
  const Request call = request("kvstore_pushpull", key, priority);
  if (is_on_gpus(target, values)) {
    const NDArray merged = merger_.merge_on(call, key, values, target.device());
    const engine::PushPriority scope(target.engine(), call.priority);
    copy(merged, target);
    for (const NDArray& out : outs) copy(merged, out);
    return;
  }
  InlineVector<NDArray, 4> destinations{target};
  destinations.append(outs.begin(), outs.end());
  merger_.merge(call, key, values, {destinations.data(), destinations.size()});
}

void LocalStore::pushpull_all(std::span<const KeyValues> entries) {
  for (const KeyValues& entry : entries) {
    check_values(entry.key, stored(entry.key), entry.values);
    check_outs(entry.key, stored(entry.key), entry.outs);
  }
  for (const auto& bucket : make_buckets(entries, int64_t{settings().kv_bucket_kb} * 1024, 2)) {
    const bool on_gpus = std::ranges::all_of(
        bucket, [this](const KeyValues* entry) { return is_on_gpus(stored(entry->key), entry->values); });
    if (on_gpus && bucket.size() > 1) {
      pushpull_bucket(bucket);
      continue;
    }
    for (const KeyValues* const entry : bucket)
      pushpull(entry->key, entry->values, entry->outs, on_gpus ? kPriority : entry->priority);
  }
}

// As for one key, on the GPU where the first one is. What is stored afterwards lies in memory that the keys have in common.
void LocalStore::pushpull_bucket(Bucket bucket) {
  const KeyValues& first = *bucket[0];
  const Device device = stored_near(first.key, first.values).device();
  const Request call = request("kvstore_pushpull", name_of(bucket), kPriority);
  const engine::PushPriority scope(runtime_.engine(), call.priority);
  Joined& memory = buckets_.of(bucket);
  runtime_.gradients_travel = true;
  join(runtime_, call, bucket, memory.sent);
  memory.near.resize(memory.sent.size());
  std::vector<NDArray> near = memory.sent;
  for (size_t i = 0; i < near.size(); ++i) {
    if (near[i].device() == device) continue;
    near[i] = sized(runtime_, memory.near[i], near[i].size(), near[i].dtype(), device);
    copy(memory.sent[i], near[i]);
  }
  memory.sums.resize(1);
  const NDArray& sum = sized(runtime_, memory.sums[0], near[0].size(), near[0].dtype(), device);
  const auto update = updater();
  const NDArray& joined = update ? sized(runtime_, memory.stored, sum.size(), sum.dtype(), device) : sum;
  store_in(joined, bucket);  // before there are sums where something was stored
  add(runtime_, call, near, sum);
  if (update) update_parts(*update, bucket, sum, joined);
  spread(runtime_, call, joined, bucket, memory.landing);
}

void LocalStore::store_in(const NDArray& joined, Bucket bucket) {
  const std::vector<NDArray> places = views_of(joined, bucket);
  for (size_t k = 0; k < bucket.size(); ++k) {
    const NDArray now = stored(bucket[k]->key);
    if (is_at(now, places[k])) continue;
    copy(now, places[k]);
    const std::lock_guard lock(mutex_);
    values_.at(bucket[k]->key) = places[k];
  }
}

void LocalStore::row_sparse_pull(const Key& key, std::span<const NDArray> outs,
                                 std::span<const NDArray> row_ids, int priority) {
  const NDArray source = stored(key);
  LOOMIX_CHECK(source.stype() == StorageType::row_sparse, TypeError,
               "[KVStore] key {} holds a {} value; expected row_sparse.", to_text(key),
               name_of(source.stype()));
  LOOMIX_CHECK(outs.size() == row_ids.size(), ValueError,
               "[KVStore] {} outputs came with {} arrays of row_ids.", outs.size(), row_ids.size());
  check_outs(key, source, outs);
  const Request call = request("kvstore_row_sparse_pull", key, priority);
  for (size_t i = 0; i < outs.size(); ++i) {
    LOOMIX_CHECK(row_ids[i].is_dense(), TypeError, "[KVStore] row_ids are a {} array; expected a dense one.",
                 name_of(row_ids[i].stype()));
    const NDArray ids = row_ids[i].device().is_host() ? row_ids[i] : copy_to(row_ids[i], Device::cpu());
    const bool fits = outs[i].stype() == StorageType::row_sparse && outs[i].dtype() == source.dtype() &&
                      outs[i].device().is_host();
    const NDArray rows = fits ? outs[i]
                              : NDArray::sparse(source.engine(), StorageType::row_sparse, source.shape(),
                                                source.dtype(), Device::cpu());
    pull_rows(call, source, ids, rows);
    if (!fits) copy(rows, outs[i]);
  }
}

void LocalStore::set_updater(Updater updater) {
  auto next = updater ? std::make_shared<const Updater>(std::move(updater)) : nullptr;
  {
    const std::lock_guard lock(mutex_);
    updater_.swap(next);
  }
}

void LocalStore::set_compression(const CompressionParams& params) {
  LOOMIX_CHECK(
      type_.find("device") != std::string::npos, NotImplementedError,
      "[KVStore] gradient compression is for types whose values travel; this one is '{}', expected 'device' "
      "or a store of several machines.",
      type_);
  LOOMIX_CHECK(!params.top_k(), NotImplementedError,
               "[KVStore] compression 'topk' is for stores of several machines; this one is '{}'.", type_);
  merger_.set_compression(params);
}

std::unique_ptr<KVStore> make_local_store(Runtime& runtime, const std::string& type) {
  LOOMIX_CHECK(std::find(kTypes.begin(), kTypes.end(), type) != kTypes.end(), ValueError,
               "[kvstore] unknown type '{}'; expected 'local', 'device', or an older name of theirs.", type);
  return std::make_unique<LocalStore>(runtime, type);
}

}  // namespace loomix::kvstore
