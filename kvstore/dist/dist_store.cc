// SPDX-License-Identifier: Apache-2.0
#include "kvstore/dist/dist_store.h"

#include <algorithm>
#include <atomic>

#include "base/error.h"
#include "kvstore/local_store.h"
#include "ndarray/copy.h"

namespace loomix::kvstore {
namespace {

Mode mode_of(const std::string& type) {
  if (type == "dist" || type == "dist_sync" || type == "dist_device_sync") return Mode::sync;
  if (type == "dist_async" || type == "dist_device_async") return Mode::async;
  if (type == "dist_ssp") return Mode::ssp;
  detail::throw_error<ValueError>(
      "[kvstore] unknown type '{}'; expected dist_sync, dist_device_sync, dist_async or dist_ssp.", type);
}

// An engine task that ends when several requests have: with the first error, or well. Whoever holds a share keeps it open.
class Together {
 public:
  explicit Together(engine::Completion done) : done_(std::move(done)) {}
  ~Together() { error_ ? done_.fail(error_) : done_.done(); }
  void fail(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
  }

 private:
  engine::Completion done_;
  std::mutex mutex_;
  std::exception_ptr error_;
};

engine::TaskInfo task_info(const char* (*name)(const void*), int priority) {
  engine::TaskInfo info;
  info.lane = engine::Lane::communicate;
  info.priority = engine_priority(priority);
  info.describe.name = name;
  return info;
}

std::byte* data_of(const NDArray& array) {
  return static_cast<std::byte*>(array.storage().data()) + array.offset();
}

// What a call says of one shard of a key.
struct ShardCall {
  const std::string& wire;
  const Shard& shard;
  size_t part;
};

ClusterClient::Call make_call(const ClusterClient& client, Command command, const ShardCall& what,
                              int64_t number, int priority) {
  static constexpr std::string_view kNames[] = {"init", "push", "pull"};
  ClusterClient::Call call;
  call.group = static_cast<size_t>(what.shard.group);
  call.message.command = command;
  call.message.fields = {
      0,     0, client.rank(), static_cast<int64_t>(client.incarnation()), static_cast<int64_t>(what.part),
      number};
  call.message.texts = {what.wire};
  call.priority = priority;
  call.what = fmt::format("{} of key {} by worker {}", kNames[command - kInit],
                          to_text(key_of_wire(what.wire)), client.rank());
  return call;
}

}  // namespace

DistStore::DistStore(Runtime& runtime, std::string type, int64_t staleness,
                     std::unique_ptr<comm::Transport> transport, const NodeOptions& options)
    : runtime_(runtime),
      type_(std::move(type)),
      mode_(mode_of(type_)),
      staleness_(staleness),
      client_(std::make_shared<ClusterClient>(std::move(transport), options)),
      merger_(runtime) {}

const DistStore::Entry& DistStore::entry(const Key& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  LOOMIX_CHECK(found != entries_.end(), KeyError,
               "[KVStore] key {} has no value at worker {}; call init first.", to_text(key), rank());
  return found->second;
}

// Where the numbers of this worker's pushes go on: after a restart the round in which it died is repeated.
int64_t DistStore::pushes_before(const Entry& entry) const {
  const auto& known = client_->known();
  int64_t own = 0;
  for (size_t part = 0; part < entry.shards.size(); ++part) {
    const auto found = known.find({entry.wire, static_cast<int64_t>(part)});
    const int64_t pushed = found == known.end() ? 0 : found->second.pushed;
    own = part == 0 ? pushed : std::min(own, pushed);
  }
  int64_t least = own;
  int64_t most = 0;
  for (const auto& [shard, what] : known) most = std::max(most, what.pushed);
  if (own == 0 && most > 1) return 0;  // a key that is never pushed
  for (const auto& [shard, what] : known) {
    if (what.pushed > 0 || most <= 1) least = std::min(least, what.pushed);
  }
  return most - least <= 1 ? least : own;
}

void DistStore::init(const Key& key, const NDArray& value) {
  LOOMIX_CHECK(value.is_dense(), NotImplementedError,
               "[KVStore] key {}: stores of several machines hold dense values.", to_text(key));
  LOOMIX_CHECK(value.size() > 0, ValueError, "[KVStore] key {} has no elements.", to_text(key));
  Entry fresh;
  fresh.like = NDArray(value.engine(), value.shape(), value.dtype(), Device::cpu());
  fresh.wire = wire_key(key);
  fresh.shards = shards_of(fresh.wire, value.size(), size_of(value.dtype()), client_->groups());
  fresh.pushes = pushes_before(fresh);
  {
    const std::lock_guard lock(mutex_);
    LOOMIX_CHECK(entries_.emplace(key, fresh).second, ValueError,
                 "[KVStore] key {} has a value already; init it once only.", to_text(key));
  }
  if (rank() != 0) return;
  const NDArray host = copy_to(value, Device::cpu());
  host.wait_to_read();
  for (size_t part = 0; part < fresh.shards.size(); ++part) {
    ClusterClient::Call init = make_call(*client_, kInit, {fresh.wire, fresh.shards[part], part},
                                         static_cast<int64_t>(host.dtype()), 0);
    init.message.fields.insert(init.message.fields.end(),
                               {static_cast<int64_t>(mode_), staleness_, num_workers()});
    const Shard& shard = fresh.shards[part];
    const int64_t item = size_of(host.dtype());
    init.message.payload.push_back(comm::Buffer::copy_of(
        {data_of(host) + shard.begin * item, static_cast<size_t>((shard.end - shard.begin) * item)}));
    client_->call_and_wait(std::move(init));
  }
}

void DistStore::push(const Key& key, std::span<const NDArray> values, int priority) {
  Entry now = entry(key);
  check_values(key, now.like, values);
  {
    const std::lock_guard lock(mutex_);
    now.pushes = ++entries_.at(key).pushes;
  }
  const NDArray merged =
      merger_.merge(Request(runtime_, "kvstore_push", key, priority), key, values, now.like);
  ArrayTags tags;
  tags.read(merged);
  runtime_.engine().push_async(
      task_info([](const void*) { return "kvstore_send"; }, priority), tags.tags(),
      [client = client_, now, merged, priority](engine::RunContext&, engine::Completion done) {
        // The memory is in use until the last share of its buffers is gone, be it here or, within one process, at a server.
        const auto together = std::make_shared<Together>(std::move(done));
        const int64_t item = size_of(merged.dtype());
        for (size_t part = 0; part < now.shards.size(); ++part) {
          const Shard& shard = now.shards[part];
          ClusterClient::Call push = make_call(*client, kPush, {now.wire, shard, part}, now.pushes, priority);
          push.message.payload.push_back(comm::Buffer::borrow(
              {data_of(merged) + shard.begin * item, static_cast<size_t>((shard.end - shard.begin) * item)},
              [together, merged] {}));
          push.done = [together](comm::Message, std::exception_ptr error) {
            if (error) together->fail(error);
          };
          client->call(std::move(push));
        }
      });
}

void DistStore::pull(const Key& key, std::span<const NDArray> outs, int priority) {
  const Entry now = entry(key);
  check_outs(key, now.like, outs);
  if (outs.empty()) return;
  const bool direct = outs[0].is_dense() && outs[0].device().is_host() && outs[0].dtype() == now.like.dtype();
  const NDArray target =
      direct ? outs[0] : NDArray(now.like.engine(), now.like.shape(), now.like.dtype(), Device::cpu());
  ArrayTags tags;
  tags.write(target);
  runtime_.engine().push_async(
      task_info([](const void*) { return "kvstore_receive"; }, priority), tags.tags(),
      [client = client_, now, target, priority](engine::RunContext&, engine::Completion done) {
        const auto together = std::make_shared<Together>(std::move(done));
        const int64_t item = size_of(target.dtype());
        for (size_t part = 0; part < now.shards.size(); ++part) {
          const Shard& shard = now.shards[part];
          ClusterClient::Call pull = make_call(*client, kPull, {now.wire, shard, part}, now.pushes, priority);
          std::byte* const to = data_of(target) + shard.begin * item;
          const auto bytes = static_cast<size_t>((shard.end - shard.begin) * item);
          pull.into = {{to, bytes}};
          pull.done = [together, to, bytes, target, what = pull.what](comm::Message message,
                                                                      std::exception_ptr error) {
            if (error) return together->fail(error);
            if (message.payload.size() != 1 || message.payload[0].size() != bytes) {
              return together->fail(std::make_exception_ptr(NetworkError(fmt::format(
                  "[KVStore] {}: the answer has not the {} bytes that were expected.", what, bytes))));
            }
            if (message.payload[0].data() != to) std::copy_n(message.payload[0].data(), bytes, to);
          };
          client->call(std::move(pull));
        }
      });
  spread(Request(runtime_, "kvstore_pull", key, priority), target, direct ? outs.subspan(1) : outs);
}

void DistStore::row_sparse_pull(const Key& key, std::span<const NDArray>, std::span<const NDArray>, int) {
  detail::throw_error<NotImplementedError>("[KVStore] key {}: stores of several machines hold dense values.",
                                           to_text(key));
}

void DistStore::set_updater(Updater updater) {
  LOOMIX_CHECK(!updater, NotImplementedError,
               "[KVStore] an updater of type '{}' would be code on servers; use set_optimizer.", type_);
}

void DistStore::set_compression(const CompressionParams& params) {
  LOOMIX_CHECK(!params.enabled(), NotImplementedError, "[KVStore] compression for '{}' is not there yet.",
               type_);
}

void DistStore::set_optimizer(const OptimizerSpec& spec) {
  make_optimizer(runtime_, spec);
  if (rank() != 0) return;
  for (int group = 0; group < client_->groups(); ++group) {
    ClusterClient::Call call;
    call.group = static_cast<size_t>(group);
    call.message.command = kSetOptimizer;
    call.message.fields = {0, 0, rank(), static_cast<int64_t>(client_->incarnation())};
    call.message.texts = {spec.name};
    for (const auto& [name, value] : spec.settings)
      call.message.texts.insert(call.message.texts.end(), {name, value});
    call.what = fmt::format("setting optimizer '{}'", spec.name);
    client_->call_and_wait(std::move(call));
  }
}

}  // namespace loomix::kvstore
