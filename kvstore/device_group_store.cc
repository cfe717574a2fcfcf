// SPDX-License-Identifier: Apache-2.0
//
// A push is one task on each device, which puts the sum on the device's queue and returns, and one on the host when all of them
// have run: it asks the groups whether the sum can be trusted. Without it a sum that was cut off would look like any other, as
// work that waits on a device for work of a device sees no errors. The tasks of all devices read the values of all, so that a
// failed gradient stops them all and leaves none waiting for the others. So sums have memory of their own: a task that wrote where
// its value lies would have the others wait for it on the device, and it waits for them.
//
// Devices are issued to by threads of their own, and each has its calls in the order of the pushes, by its channel. So no calls need to
// be within ncclGroupStart and ncclGroupEnd.
#include "kvstore/device_group_store.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/settings.h"
#include "engine/device/device_runtime.h"
#include "kvstore/group_task.h"
#include "kvstore/local_store.h"
#include "ndarray/copy.h"

namespace loomix::kvstore {
namespace {

std::string names_of(std::span<const Device> devices) {
  std::string names;
  for (const Device device : devices) names += (names.empty() ? "" : ", ") + device.to_string();
  return names;
}

}  // namespace

class DeviceGroupStore::AllReduce final : public StoreTask {
 public:
  AllReduce(const Request& request, std::shared_ptr<const Ring> ring, size_t place, NDArray value,
            NDArray sum)
      : StoreTask(request),
        ring_(std::move(ring)),
        place_(place),
        value_(std::move(value)),
        sum_(std::move(sum)) {}
  void run(engine::RunContext& context) const override {
    // A token may be done later than its work is, when later work is, too. Other devices wait for values that were made on this queue, and
    // this call waits for theirs. So tokens of what is here now must be done before it.
    context.queue->record()->subscribe([] {});
    ring_->groups[place_]->all_reduce(data_of(value_), data_of(sum_), static_cast<size_t>(sum_.size()),
                                      sum_.dtype(), comm::Reduction::sum, context.stream);
  }

 private:
  const std::shared_ptr<const Ring> ring_;
  const size_t place_;
  const NDArray value_, sum_;
};

class DeviceGroupStore::Verification final : public StoreTask {
 public:
  Verification(const Request& request, std::shared_ptr<const Ring> ring)
      : StoreTask(request), ring_(std::move(ring)) {}
  void run(engine::RunContext&) const override {
    for (const auto& group : ring_->groups) group->verify();
  }

 private:
  const std::shared_ptr<const Ring> ring_;
};

DeviceGroupStore::DeviceGroupStore(Runtime& runtime, std::string type,
                                   std::unique_ptr<comm::ProcessGroup> hosts, Connect connect)
    : runtime_(runtime),
      type_(std::move(type)),
      hosts_(std::move(hosts)),
      connect_(std::move(connect)),
      hosts_channel_(runtime.engine().new_var()),
      order_(runtime.engine()) {}

template <class Entries>
auto& DeviceGroupStore::find(Entries& entries, const Key& key) const {
  const auto found = entries.find(key);
  LOOMIX_CHECK(found != entries.end(), KeyError,
               "[KVStore] key {} has no value at worker {}; call init first.", to_text(key), rank());
  return found->second;
}

void DeviceGroupStore::init(const Key& key, const NDArray& value) {
  Entry fresh;
  fresh.first = place_for_first(key, value, rank(), type_);
  {
    const std::lock_guard lock(mutex_);
    LOOMIX_CHECK(entries_.emplace(key, fresh).second, ValueError,
                 "[KVStore] key {} has a value already; init it once only.", to_text(key));
  }
  copy(value, fresh.first);
  broadcast_first(hosts_, hosts_channel_, fresh.first);
  fresh.first.wait_to_read();
}

std::shared_ptr<const DeviceGroupStore::Ring> DeviceGroupStore::ring(const Key& key,
                                                                     std::span<const NDArray> values) {
  std::vector<Device> devices;
  bool fits = true;
  std::string given;
  for (const NDArray& value : values) {
    const Device device = value.device();
    fits = fits && value.is_dense() && !device.is_host() &&
           std::find(devices.begin(), devices.end(), device) == devices.end();
    devices.push_back(device);
    given += fmt::format("{}{} on {}", given.empty() ? "" : ", ", name_of(value.stype()), device.to_string());
  }
  LOOMIX_CHECK(
      fits, ValueError,
      "[KVStore] key {} at worker {}: the values are {}; a store of type '{}' takes default arrays on "
      "GPUs, one on each.",
      to_text(key), rank(), given, type_);
  if (ring_) {
    LOOMIX_CHECK(
        ring_->devices == devices, ValueError,
        "[KVStore] key {} at worker {}: values are on {}; the first push to this store had them on {}, "
        "and all must.",
        to_text(key), rank(), names_of(devices), names_of(ring_->devices));
    return ring_;
  }
  const auto made = std::make_shared<Ring>();
  made->devices = devices;
  made->ready = NDArray(runtime_.engine(), Shape{1}, DType::uint8, Device::cpu());
  ArrayTags tags;
  tags.write(made->ready);
  tags.use(*hosts_channel_);
  engine::TaskInfo info = group_task([](const void*) { return "kvstore_connect"; }, 0);
  runtime_.engine().push(std::move(info), tags.tags(),
                         [made, hosts = hosts_, connect = connect_](engine::RunContext&) {
                           made->groups = connect(hosts.get(), made->devices);
                         });
  ring_ = made;
  return ring_;
}

void DeviceGroupStore::all_reduce(const Request& request, const std::shared_ptr<const Ring>& ring,
                                  std::span<const NDArray> values, std::span<const NDArray> sums) {
  runtime_.gradients_travel = true;
  ArrayTags verified;
  for (size_t i = 0; i < values.size(); ++i) {
    ArrayTags tags;
    tags.read(ring->ready);
    for (const NDArray& value : values) tags.read(value);
    tags.write(sums[i]);
    tags.use(order_.of(ring->devices[i]));
    push_task(make_ref<AllReduce>(request, ring, i, values[i], sums[i]), tags, sums[i], sums[i].bytes(), 1);
    verified.update(sums[i]);
  }
  push_task(make_ref<Verification>(request, ring), verified, ring->ready, 0, 1);
}

void DeviceGroupStore::push(const Key& key, std::span<const NDArray> values, int priority) {
  const Request request(runtime_, "kvstore_push", key, priority);
  std::shared_ptr<const Updater> update;
  NDArray sum, stored;
  {
    const std::lock_guard lock(mutex_);
    Entry& now = find(entries_, key);
    check_values(key, now.value(), values);
    const auto devices = ring(key, values);
    update = updater_;
    std::vector<NDArray>& sums = update ? now.sums : now.copies;
    for (size_t i = sums.size(); i < values.size(); ++i)
      sums.emplace_back(runtime_.engine(), values[i].shape(), values[i].dtype(), devices->devices[i]);
    all_reduce(request, devices, values, sums);
    if (update && now.copies.empty()) now.copies.push_back(copy_to(now.first, devices->devices[0]));
    if (update) now.copies.resize(1);
    now.first = {};
    sum = sums[0];
    stored = now.copies[0];
  }
  if (!update) return;
  const engine::PushPriority scope(runtime_.engine(), request.priority);
  (*update)(key, sum, stored, priority);
}

void DeviceGroupStore::pull(const Key& key, std::span<const NDArray> outs, int priority) {
  std::vector<NDArray> copies;
  NDArray stored;
  {
    const std::lock_guard lock(mutex_);
    const Entry& now = find(entries_, key);
    stored = now.value();
    copies = now.copies;
  }
  check_outs(key, stored, outs);
  const engine::PushPriority scope(runtime_.engine(), engine_priority(priority));
  for (const NDArray& out : outs) {
    const auto near = std::find_if(copies.begin(), copies.end(),
                                   [&](const NDArray& one) { return one.device() == out.device(); });
    copy(near == copies.end() ? stored : *near, out);
  }
}

void DeviceGroupStore::pushpull_all(std::span<const KeyValues> entries) {
  {
    const std::lock_guard lock(mutex_);
    for (const KeyValues& entry : entries) {
      const NDArray& now = find(entries_, entry.key).value();
      check_values(entry.key, now, entry.values);
      check_outs(entry.key, now, entry.outs);
    }
  }
  // A process with one device has others to send to.
  const size_t least_devices = hosts_ ? 1 : 2;
  for (const auto& bucket : make_buckets(entries, int64_t{settings().kv_bucket_kb} * 1024, least_devices)) {
    if (bucket.size() > 1) pushpull_bucket(bucket);
    else pushpull(bucket[0]->key, bucket[0]->values, bucket[0]->outs, kPriority);
  }
}

// As for one key. What is stored afterwards lies in memory that the keys have in common.
void DeviceGroupStore::pushpull_bucket(Bucket bucket) {
  Request request(runtime_, "kvstore_pushpull", name_of(bucket), kPriority);
  request.order = &order_;
  const engine::PushPriority scope(runtime_.engine(), request.priority);
  std::unique_lock lock(mutex_);
  const auto devices = ring(bucket[0]->key, bucket[0]->values);
  const auto update = updater_;
  Joined& memory = buckets_.of(bucket);
  join(runtime_, request, bucket, memory.sent);
  memory.sums.resize(memory.sent.size());
  for (size_t i = 0; i < memory.sums.size(); ++i) {
    const NDArray& sent = memory.sent[i];
    sized(runtime_, memory.sums[i], sent.size(), sent.dtype(), sent.device());
  }
  const NDArray& sum = memory.sums[0];
  if (update) store_in({&sized(runtime_, memory.stored, sum.size(), sum.dtype(), sum.device()), 1}, bucket);
  else store_in(memory.sums, bucket);
  all_reduce(request, devices, memory.sent, memory.sums);
  lock.unlock();
  if (update) {
    update_parts(*update, bucket, sum, memory.stored);
    return spread(runtime_, request, memory.stored, bucket, memory.landing);
  }
  for (const NDArray& one : memory.sums) part(runtime_, request, one, bucket);
}

void DeviceGroupStore::store_in(std::span<const NDArray> copies, Bucket bucket) {
  std::vector<std::vector<NDArray>> places;
  for (const NDArray& joined : copies) places.push_back(views_of(joined, bucket));
  for (size_t k = 0; k < bucket.size(); ++k) {
    Entry& now = find(entries_, bucket[k]->key);
    if (!is_at(now.value(), places[0][k])) copy(now.value(), places[0][k]);
    now.copies.clear();
    for (const auto& there : places) now.copies.push_back(there[k]);
    now.first = {};
  }
}

void DeviceGroupStore::row_sparse_pull(const Key& key, std::span<const NDArray>, std::span<const NDArray>,
                                       int) {
  detail::throw_error<NotImplementedError>(
      "[KVStore] key {}: stores of type '{}' have no row_sparse values; 'device' and those with servers do.",
      to_text(key), type_);
}

StorageType DeviceGroupStore::stype(const Key& key) const {
  const std::lock_guard lock(mutex_);
  return find(entries_, key).value().stype();
}

void DeviceGroupStore::set_updater(Updater updater) {
  auto next = updater ? std::make_shared<const Updater>(std::move(updater)) : nullptr;
  const std::lock_guard lock(mutex_);
  updater_.swap(next);
}

void DeviceGroupStore::set_compression(const CompressionParams&) {
  detail::throw_error<NotImplementedError>(
      "[KVStore] a store of type '{}' does not compress gradients; 'device' and those with servers do.",
      type_);
}

void DeviceGroupStore::barrier() {
  const NDArray mark(runtime_.engine(), Shape{1}, DType::uint8, Device::cpu());
  ArrayTags tags;
  tags.write(mark);
  tags.use(*hosts_channel_);
  {
    const std::lock_guard lock(mutex_);
    if (ring_) {
      for (const Device device : ring_->devices) tags.use(order_.of(device));
    }
  }
  push_group_call(runtime_.engine(), tags, group_task([](const void*) { return "kvstore_barrier"; }, 0),
                  {mark}, [group = hosts_](comm::ProcessGroup::Done done) {
                    group ? group->barrier(std::move(done)) : done(nullptr);
                  });
  mark.wait_to_read();
}

DeviceGroups connect_gpus(comm::ProcessGroup* hosts, std::span<const Device> devices,
                          comm::GroupDeadline deadline) {
  if (hosts == nullptr)
    return comm::make_nccl_groups(comm::make_nccl_id(), 0, static_cast<int>(devices.size()), devices,
                                  deadline);
  // How many GPUs each process has.
  const auto own = static_cast<int64_t>(devices.size());
  std::vector<int64_t> counts(static_cast<size_t>(hosts->size()));
  using Done = comm::ProcessGroup::Done;
  comm::wait_for_call(
      [&](Done done) { hosts->all_gather(&own, counts.data(), sizeof(own), std::move(done)); });
  const auto here = counts.begin() + hosts->rank();
  const auto first = static_cast<int>(std::accumulate(counts.begin(), here, int64_t{0}));
  const auto size = static_cast<int>(std::accumulate(here, counts.end(), int64_t{first}));
  std::string id = hosts->rank() == 0 ? comm::make_nccl_id() : std::string();
  int64_t bytes = static_cast<int64_t>(id.size());
  comm::wait_for_call([&](Done done) { hosts->broadcast(&bytes, sizeof(bytes), 0, std::move(done)); });
  id.resize(static_cast<size_t>(bytes));
  comm::wait_for_call([&](Done done) { hosts->broadcast(id.data(), id.size(), 0, std::move(done)); });
  return comm::make_nccl_groups(id, first, size, devices, deadline);
}

}  // namespace loomix::kvstore
