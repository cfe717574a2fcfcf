// SPDX-License-Identifier: Apache-2.0
#include "kvstore/group_store.h"

#include "base/error.h"
#include "engine/device/device_runtime.h"
#include "kvstore/cluster_store.h"
#include "kvstore/combine.h"
#include "kvstore/device_group_store.h"
#include "kvstore/group_task.h"
#include "kvstore/local_store.h"
#include "ndarray/copy.h"

namespace loomix::kvstore {
GroupStore::GroupStore(Runtime& runtime, std::string type, std::unique_ptr<comm::ProcessGroup> group)
    : runtime_(runtime),
      type_(std::move(type)),
      group_(std::move(group)),
      channel_(runtime.engine().new_var()),
      merger_(runtime) {}

GroupStore::Entry GroupStore::entry(const Key& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  LOOMIX_CHECK(found != entries_.end(), KeyError,
               "[KVStore] key {} has no value at worker {}; call init first.", to_text(key), rank());
  return found->second;
}

void GroupStore::init(const Key& key, const NDArray& value) {
  Entry fresh;
  fresh.stored = place_for_first(key, value, rank(), type_);
  {
    const std::lock_guard lock(mutex_);
    LOOMIX_CHECK(entries_.emplace(key, fresh).second, ValueError,
                 "[KVStore] key {} has a value already; init it once only.", to_text(key));
  }
  copy(value, fresh.stored);
  broadcast_first(group_, channel_, fresh.stored);
  fresh.stored.wait_to_read();
}

void GroupStore::all_reduce(const NDArray& from, const NDArray& to, int priority) {
  ArrayTags tags;
  tags.read(from);
  tags.write(to);
  tags.use(*channel_);
  push_group_call(
      runtime_.engine(), tags, group_task([](const void*) { return "kvstore_all_reduce"; }, priority),
      {from, to},
      [group = group_, in = data_of(from), out = data_of(to), count = static_cast<size_t>(from.size()),
       dtype = from.dtype()](comm::ProcessGroup::Done done) {
        group->all_reduce(in, out, count, dtype, comm::Reduction::sum, std::move(done));
      });
}

void GroupStore::push(const Key& key, std::span<const NDArray> values, int priority) {
  const Entry now = entry(key);
  check_values(key, now.stored, values);
  const Request request(runtime_, "kvstore_push", key, priority);
  const NDArray merged = merger_.merge(request, key, values, now.stored);
  std::shared_ptr<const Updater> update;
  NDArray sum;
  {
    const std::lock_guard lock(mutex_);
    update = updater_;
    Entry& entry = entries_.at(key);
    if (update && entry.sum.is_none())
      entry.sum = NDArray(runtime_.engine(), now.stored.shape(), now.stored.dtype(), Device::cpu());
    sum = update ? entry.sum : now.stored;
  }
  all_reduce(merged, sum, priority);
  if (!update) return;
  const engine::PushPriority scope(runtime_.engine(), request.priority);
  (*update)(key, sum, now.stored, priority);
}

void GroupStore::pull(const Key& key, std::span<const NDArray> outs, int priority) {
  const NDArray stored = entry(key).stored;
  check_outs(key, stored, outs);
  spread(Request(runtime_, "kvstore_pull", key, priority), stored, outs);
}

void GroupStore::row_sparse_pull(const Key& key, std::span<const NDArray>, std::span<const NDArray>, int) {
  detail::throw_error<NotImplementedError>(
      "[KVStore] key {}: stores of type '{}' have no row_sparse values; those with servers do.", to_text(key),
      type_);
}

StorageType GroupStore::stype(const Key& key) const { return entry(key).stored.stype(); }

void GroupStore::set_updater(Updater updater) {
  auto next = updater ? std::make_shared<const Updater>(std::move(updater)) : nullptr;
  const std::lock_guard lock(mutex_);
  updater_.swap(next);
}

void GroupStore::set_compression(const CompressionParams&) {
  detail::throw_error<NotImplementedError>(
      "[KVStore] a store of type '{}' does not compress gradients; those with servers do.", type_);
}

void GroupStore::barrier() {
  const NDArray mark(runtime_.engine(), Shape{1}, DType::uint8, Device::cpu());
  ArrayTags tags;
  tags.write(mark);
  tags.use(*channel_);
  push_group_call(runtime_.engine(), tags, group_task([](const void*) { return "kvstore_barrier"; }, 0),
                  {mark},
                  [group = group_](comm::ProcessGroup::Done done) { group->barrier(std::move(done)); });
  mark.wait_to_read();
}

comm::GroupOptions group_options(const Settings& settings, engine::Trace* trace) {
  const auto in_ms = [](double seconds) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
  };
  return {in_ms(settings.kv_deadline), in_ms(settings.kv_late_deadline), trace, settings.metrics_port,
          settings.metrics_host};
}

std::unique_ptr<KVStore> make_group_store(Runtime& runtime, const std::string& type, const Settings& settings,
                                          uintptr_t communicator) {
  const comm::GroupOptions options = group_options(settings, &runtime.engine().trace());
  if (type == "dist_network")
    return std::make_unique<GroupStore>(runtime, type, make_network_group(settings, options));
  if (type == "dist_mpi")
    return std::make_unique<GroupStore>(runtime, type, comm::make_mpi_group(options, communicator));
  LOOMIX_CHECK(type == "nccl" || type == "dist_nccl", ValueError,
               "[kvstore] unknown type '{}'; expected dist_mpi, dist_network, nccl or dist_nccl.", type);
  try {
    comm::require_nccl_module();
  } catch (const NetworkError& error) {
    detail::throw_error<NotImplementedError>("[kvstore] type '{}' is not available: {}", type, error.what());
  }
  LOOMIX_CHECK(engine::count_gpus() > 0, DeviceError,
               "[kvstore] a store of type '{}' adds up values on GPUs, and there is none; '{}' does on CPUs.",
               type, type == "nccl" ? "device" : "dist_mpi");
  return std::make_unique<DeviceGroupStore>(
      runtime, type, type == "nccl" ? nullptr : comm::make_mpi_group(options, communicator),
      [deadline = options.deadline](comm::ProcessGroup* hosts, std::span<const Device> devices) {
        return connect_gpus(hosts, devices, deadline);
      });
}

}  // namespace loomix::kvstore
