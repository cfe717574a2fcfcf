// SPDX-License-Identifier: Apache-2.0
#include "kvstore/cluster/dist_store.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "base/error.h"
#include "base/log.h"
#include "kvstore/cluster/norm_limit.h"
#include "kvstore/cluster/packing.h"
#include "kvstore/local_store.h"
#include "ndarray/copy.h"
#include "ndarray/sparse.h"

namespace loomix::kvstore {
namespace {

constexpr int kMostUrgent = 1 << 29;

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

ClusterClient::Call make_call(const ClusterClient& client, const char* name, const ShardCall& what,
                              int priority) {
  ClusterClient::Call call;
  call.group = static_cast<size_t>(what.shard.group);
  call.priority = 2 * std::clamp(priority, -kMostUrgent, kMostUrgent);
  call.what = fmt::format("{} of key {} by worker {}", name, to_text(key_of_wire(what.wire)), client.rank());
  return call;
}

messages::Like like_of(const ClusterClient& client, const NDArray& array) {
  messages::Like like;
  like.set_worker(static_cast<uint32_t>(client.rank()));
  like.set_dtype(static_cast<int32_t>(array.dtype()));
  like.set_stype(static_cast<int32_t>(array.stype()));
  for (int axis = 0; axis < array.shape().ndim(); ++axis) like.add_shape(array.shape()[axis]);
  return like;
}

// A pull's request, which is short, does not queue behind the pushes of its priority.
ClusterClient::Call make_pull(const ClusterClient& client, const ShardCall& what, int64_t number,
                              int priority, int64_t row = 0) {
  ClusterClient::Call call = make_call(client, row == 0 ? "pull" : "pull of rows", what, priority);
  ++call.priority;
  messages::Pull& pull = *call.request.mutable_pull();
  pull.set_key(what.wire);
  pull.set_part(static_cast<int64_t>(what.part));
  pull.set_number(number);
  pull.set_row(row);
  return call;
}

// The answer is `bytes` of the target.
void receive_into(ClusterClient::Call& pull, const NDArray& target, std::byte* to, size_t bytes,
                  const std::shared_ptr<Together>& together) {
  pull.into = {{to, bytes}};
  pull.done = [together, to, bytes, target, what = pull.what](comm::Message message,
                                                              std::exception_ptr error) {
    if (error) return together->fail(error);
    if (message.payload.size() != 1 || message.payload[0].size() != bytes) {
      return together->fail(std::make_exception_ptr(NetworkError(
          fmt::format("[KVStore] {}: the answer has not the {} bytes that were expected.", what, bytes))));
    }
    if (message.payload[0].data() != to) std::copy_n(message.payload[0].data(), bytes, to);
  };
}

}  // namespace

std::shared_ptr<const void> Underway::begin() {
  {
    const std::lock_guard lock(mutex_);
    ++count_;
  }
  return {this, [self = shared_from_this()](const void*) {
            const std::lock_guard lock(self->mutex_);
            if (--self->count_ == 0) self->none_.notify_all();
          }};
}

void Underway::wait_for_all() {
  std::unique_lock lock(mutex_);
  none_.wait(lock, [this] { return count_ == 0; });
}

DistStore::DistStore(Runtime& runtime, std::string type, int64_t staleness,
                     std::unique_ptr<comm::Transport> transport, const NodeOptions& options)
    : runtime_(runtime),
      type_(std::move(type)),
      mode_(mode_of(type_)),
      staleness_(staleness),
      client_(std::make_shared<ClusterClient>(std::move(transport), options)),
      merger_(runtime),
      known_(client_->known()) {}

int64_t DistStore::Entry::unit() const {
  const int64_t item = size_of(like.dtype());
  return like.is_dense() ? item : like.shape().size_between(1, like.shape().ndim()) * item;
}

const DistStore::Entry& DistStore::entry(const Key& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  LOOMIX_CHECK(found != entries_.end(), KeyError,
               "[KVStore] key {} has no value at worker {}; call init first.", to_text(key), rank());
  return found->second;
}

// Where the numbers of this worker's pushes go on: after a restart the round in which it died is repeated.
int64_t DistStore::pushes_before(const Entry& entry, const ClusterClient::KnownShards& known) {
  int64_t own = 0;
  for (size_t part = 0; part < entry.shards.size(); ++part) {
    const auto found = known.find({entry.wire, static_cast<int64_t>(part)});
    const int64_t pushed = found == known.end() ? 0 : found->second;
    own = part == 0 ? pushed : std::min(own, pushed);
  }
  int64_t least = own;
  int64_t most = 0;
  for (const auto& [shard, pushed] : known) most = std::max(most, pushed);
  if (own == 0 && most > 1) return 0;  // a key that is never pushed
  for (const auto& [shard, pushed] : known) {
    if (pushed > 0 || most <= 1) least = std::min(least, pushed);
  }
  return most - least <= 1 ? least : own;
}

// The others went on without this worker, which has joined again: its pushes to rounds that are over are left out, and it goes on
// with the round where the others are. A key that was not pushed yet in the step that it is in stays one behind the others of that
// step: if it were ahead of them from then on, this worker and another one could each wait for the other's push of another key.
// Holding the mutex.
void DistStore::catch_up() {
  std::shared_ptr<const ClusterClient::KnownShards> newest = client_->known();
  if (newest == known_) return;
  known_ = std::move(newest);
  const ClusterClient::KnownShards& known = *known_;
  int64_t most = 0;
  for (const auto& [key, entry] : entries_) most = std::max(most, entry.pushes);
  int64_t rounds = 0;
  for (auto& [key, entry] : entries_) {
    const int64_t now = pushes_before(entry, known) - (entry.pushes + 1 == most ? 1 : 0);
    rounds = std::max(rounds, now - entry.pushes);
    entry.pushes = std::max(entry.pushes, now);
  }
  log(LogLevel::warning,
      "[KVStore] worker {} was silent for too long, and the others went on without it. It has joined again; "
      "{} rounds are without "
      "its pushes.",
      rank(), rounds);
}

void DistStore::init(const Key& key, const NDArray& value) {
  LOOMIX_CHECK(
      !value.is_none() && value.stype() != StorageType::csr, TypeError,
      "[KVStore] the first value of key {} at worker {} is {}; expected a default or row_sparse array.",
      to_text(key), rank(), value.is_none() ? "empty (none)" : "a csr array");
  LOOMIX_CHECK(value.shape().size() > 0, ValueError, "[KVStore] key {} has no elements.", to_text(key));
  Entry fresh;
  const bool dense = value.is_dense();
  fresh.like =
      dense ? NDArray(value.engine(), value.shape(), value.dtype(), Device::cpu())
            : NDArray::sparse(value.engine(), value.stype(), value.shape(), value.dtype(), Device::cpu());
  fresh.wire = wire_key(key);
  const int64_t count = dense ? value.size() : value.shape()[0];
  fresh.shards = shards_of(fresh.wire, count, fresh.unit(), client_->groups());
  {
    const std::lock_guard lock(mutex_);
    if (keeps_whole_) fresh.shards = {whole_shard_of(fresh.wire, count, client_->groups())};
  }
  fresh.pushes = pushes_before(fresh, *client_->known());
  {
    const std::lock_guard lock(mutex_);
    LOOMIX_CHECK(entries_.emplace(key, fresh).second, ValueError,
                 "[KVStore] key {} has a value already; init it once only.", to_text(key));
  }
  if (rank() != 0) return;
  const NDArray host = copy_to(cast_storage(value, StorageType::dense), Device::cpu());
  host.wait_to_read();
  for (size_t part = 0; part < fresh.shards.size(); ++part) {
    ClusterClient::Call call = make_call(*client_, "init", {fresh.wire, fresh.shards[part], part}, 0);
    messages::Init& init = *call.request.mutable_init();
    init.set_key(fresh.wire);
    init.set_part(static_cast<int64_t>(part));
    init.set_dtype(static_cast<int32_t>(host.dtype()));
    init.set_mode(static_cast<uint32_t>(mode_));
    init.set_staleness(staleness_);
    init.set_workers(static_cast<uint32_t>(num_workers()));
    *init.mutable_like() = like_of(*client_, fresh.like);
    const Shard& shard = fresh.shards[part];
    const int64_t item = fresh.unit();
    call.payload.push_back(comm::Buffer::copy_of(
        {data_of(host) + shard.begin * item, static_cast<size_t>((shard.end - shard.begin) * item)}));
    client_->call_and_wait(std::move(call));
  }
}

int64_t DistStore::pushes(const Key& key) {
  entry(key);  // throws where there is none
  const std::lock_guard lock(mutex_);
  catch_up();
  return entries_.at(key).pushes;
}

// Numbers the push; only float32 is compressed.
DistStore::Entry DistStore::count_push(const Key& key, CompressionParams& compression) {
  const std::lock_guard lock(mutex_);
  catch_up();
  Entry& entry = entries_.at(key);
  ++entry.pushes;
  if (!compression_.enabled() || !entry.like.is_dense() || entry.like.dtype() != DType::float32) return entry;
  compression = compression_;
  if (entry.packed.is_none()) {
    int64_t bytes = 0;
    for (const Shard& shard : entry.shards)
      bytes += compressed_bytes(compression.code(), shard.end - shard.begin);
    engine::Engine& engine = runtime_.engine();
    entry.packed = NDArray(engine, Shape{bytes}, DType::uint8, Device::cpu());
    if (compression.has_residual())
      entry.residual = zeros(engine, entry.like.shape(), DType::float32, Device::cpu());
  }
  return entry;
}

void DistStore::push(const Key& key, std::span<const NDArray> values, int priority) {
  check_values(key, entry(key).like, values);
  CompressionParams compression;
  const Entry now = count_push(key, compression);
  const Request request(runtime_, "kvstore_push", key, priority);
  const NDArray merged = merger_.merge(request, key, values, now.like);
  const bool packs = compression.enabled();
  // Where each shard's bytes are in what is sent.
  std::vector<Stretch> stretches;
  int64_t at = 0;
  for (const Shard& shard : now.shards) {
    stretches.push_back({shard.begin, shard.end, packs ? at : shard.begin * now.unit()});
    at += compressed_bytes(compression.code(), shard.end - shard.begin);
  }
  stretches.push_back({0, 0, packs ? at : now.shards.back().end * now.unit()});
  if (packs) {
    compress_stretches(request, compression.code(), merged, now.residual,
                       {stretches.begin(), stretches.end() - 1}, now.packed);
  }
  const NDArray source = packs ? now.packed : merged;
  Packing packing = Packing::of(compression);
  if (!now.like.is_dense()) packing = {Packing::Form::rows, now.unit() / size_of(now.like.dtype())};
  ArrayTags tags;
  tags.read(source);
  runtime_.engine().push_async(
      task_info([](const void*) { return "kvstore_send"; }, priority), tags.tags(),
      [client = client_, underway = pushing_->begin(), now, source, packing, stretches = std::move(stretches),
       priority](engine::RunContext&, engine::Completion done) mutable {
        // The memory is in use until the last share of its buffers is gone, be it here or, within one process, at a server.
        const auto together = std::make_shared<Together>(std::move(done));
        const auto arriving = std::move(underway);  // until the servers have it, which is earlier
        for (size_t part = 0; part < now.shards.size(); ++part) {
          const Shard& shard = now.shards[part];
          ClusterClient::Call call = make_call(*client, "push", {now.wire, shard, part}, priority);
          messages::Push& push = *call.request.mutable_push();
          push.set_key(now.wire);
          push.set_part(static_cast<int64_t>(part));
          push.set_number(now.pushes);
          if (!*now.agreed) *push.mutable_like() = like_of(*client, now.like);
          if (packing.form != Packing::Form::plain) packing.write(*push.mutable_packing());
          if (packing.form == Packing::Form::rows) {
            call.payload.push_back(pack_rows(source, shard.begin, shard.end));
          } else {
            const int64_t begin = stretches[part].to;
            call.payload.push_back(comm::Buffer::borrow(
                {data_of(source) + begin, static_cast<size_t>(stretches[part + 1].to - begin)},
                [together, source] {}));
          }
          call.done = [together, arriving, agreed = now.agreed](comm::Message, std::exception_ptr error) {
            error ? together->fail(error) : agreed->store(true);
          };
          client->call(std::move(call));
        }
      });
}

void DistStore::pull(const Key& key, std::span<const NDArray> outs, int priority) {
  const Entry now = entry(key);
  check_outs(key, now.like, outs);
  if (outs.empty()) return;
  const bool direct = outs[0].is_dense() && outs[0].device().is_host() && outs[0].dtype() == now.like.dtype();
  const NDArray target =
      direct ? outs[0]
             : NDArray(now.like.engine(), now.like.shape(), now.like.dtype(), host_near(outs[0].device()));
  ArrayTags tags;
  tags.write(target);
  runtime_.engine().push_async(
      task_info([](const void*) { return "kvstore_receive"; }, priority), tags.tags(),
      [client = client_, now, target, priority](engine::RunContext&, engine::Completion done) {
        const auto together = std::make_shared<Together>(std::move(done));
        const int64_t item = now.unit();
        for (size_t part = 0; part < now.shards.size(); ++part) {
          const Shard& shard = now.shards[part];
          ClusterClient::Call pull = make_pull(*client, {now.wire, shard, part}, now.pushes, priority);
          if (!*now.agreed) *pull.request.mutable_pull()->mutable_like() = like_of(*client, now.like);
          std::byte* const to = data_of(target) + shard.begin * item;
          const auto bytes = static_cast<size_t>((shard.end - shard.begin) * item);
          receive_into(pull, target, to, bytes, together);
          client->call(std::move(pull));
        }
      });
  spread(Request(runtime_, "kvstore_pull", key, priority), target, direct ? outs.subspan(1) : outs);
}

namespace {

// Sorted, each once. For tasks that read the array.
std::vector<int64_t> wanted_rows(const NDArray& row_ids, int64_t rows) {
  std::vector<int64_t> wanted(static_cast<size_t>(row_ids.size()));
  convert_elements(row_ids.view().data, row_ids.dtype(), wanted.data(), DType::int64, row_ids.size());
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  LOOMIX_CHECK(wanted.empty() || (wanted.front() >= 0 && wanted.back() < rows), IndexError,
               "[KVStore] row_ids go from {} to {}; the value has rows 0 to {}.", wanted.front(),
               wanted.back(), rows - 1);
  return wanted;
}

}  // namespace

void DistStore::row_sparse_pull(const Key& key, std::span<const NDArray> outs,
                                std::span<const NDArray> row_ids, int priority) {
  const Entry now = entry(key);
  LOOMIX_CHECK(!now.like.is_dense(), TypeError, "[KVStore] key {} holds a {} value; expected row_sparse.",
               to_text(key), name_of(now.like.stype()));
  LOOMIX_CHECK(outs.size() == row_ids.size(), ValueError,
               "[KVStore] {} outputs came with {} arrays of row_ids.", outs.size(), row_ids.size());
  check_outs(key, now.like, outs);
  for (size_t i = 0; i < outs.size(); ++i) {
    LOOMIX_CHECK(row_ids[i].is_dense(), TypeError, "[KVStore] row_ids are a {} array; expected a dense one.",
                 name_of(row_ids[i].stype()));
    const bool direct = outs[i].stype() == StorageType::row_sparse && outs[i].device().is_host() &&
                        outs[i].dtype() == now.like.dtype();
    const NDArray target = direct ? outs[i]
                                  : NDArray::sparse(now.like.engine(), StorageType::row_sparse,
                                                    now.like.shape(), now.like.dtype(), Device::cpu());
    pull_rows(now, copy_to(row_ids[i], Device::cpu()), target, priority);
    if (!direct) copy(target, outs[i]);
  }
}

void DistStore::pull_rows(const Entry& now, const NDArray& row_ids, const NDArray& target, int priority) {
  ArrayTags tags;
  tags.read(row_ids);
  tags.write(target);
  runtime_.engine().push_async(
      task_info([](const void*) { return "kvstore_receive_rows"; }, priority), tags.tags(),
      [client = client_, now, row_ids, target, priority](engine::RunContext&, engine::Completion done) {
        const auto together = std::make_shared<Together>(std::move(done));
        try {
          const std::vector<int64_t> wanted = wanted_rows(row_ids, target.shape()[0]);
          const int64_t bytes = now.unit();
          target.storage().resize_sparse(static_cast<int64_t>(wanted.size()), bytes, 0);
          std::copy(wanted.begin(), wanted.end(), target.storage().indices());
          size_t next = 0;
          for (size_t part = 0; part < now.shards.size(); ++part) {
            const Shard& shard = now.shards[part];
            std::vector<int64_t> ids;
            const size_t first = next;
            for (; next < wanted.size() && wanted[next] < shard.end; ++next)
              ids.push_back(wanted[next] - shard.begin);
            if (ids.empty()) continue;
            ClusterClient::Call pull = make_pull(*client, {now.wire, shard, part}, now.pushes, priority,
                                                 bytes / size_of(target.dtype()));
            if (!*now.agreed) *pull.request.mutable_pull()->mutable_like() = like_of(*client, now.like);
            pull.payload.push_back(comm::Buffer::copy_of(std::as_bytes(std::span(ids))));
            receive_into(
                pull, target,
                static_cast<std::byte*>(target.storage().data()) + static_cast<int64_t>(first) * bytes,
                ids.size() * static_cast<size_t>(bytes), together);
            client->call(std::move(pull));
          }
        } catch (...) {
          together->fail(std::current_exception());
        }
      });
}

void DistStore::barrier() {
  pushing_->wait_for_all();
  client_->barrier();
}

void DistStore::barrier(int64_t position) {
  LOOMIX_CHECK(position >= 1, ValueError, "[KVStore] barrier: the position is {}; expected 1 or more.",
               position);
  pushing_->wait_for_all();
  client_->barrier(position);
}

void DistStore::set_updater(Updater updater) {
  LOOMIX_CHECK(!updater, NotImplementedError,
               "[KVStore] an updater of type '{}' would be code on servers; use set_optimizer.", type_);
}

void DistStore::set_compression(const CompressionParams& params) {
  const std::lock_guard lock(mutex_);
  compression_ = params;
  for (auto& [key, entry] : entries_) entry.residual = entry.packed = NDArray();
}

void DistStore::set_optimizer(const OptimizerSpec& spec) {
  if (spec.name != kCodeOptimizer) {  // servers judge code
    const bool whole = make_optimizer(runtime_, spec)->by_layer();
    const std::lock_guard lock(mutex_);
    for (const auto& [key, entry] : entries_) {
      LOOMIX_CHECK(
          !whole || entry.shards.size() == 1, ValueError,
          "[KVStore] optimizer '{}' needs the norms of whole weights, and key {} was cut over servers; "
          "call set_optimizer before init.",
          spec.name, to_text(key));
    }
    keeps_whole_ = whole;
  }
  if (rank() != 0) return;
  for (int group = 0; group < client_->groups(); ++group) {
    ClusterClient::Call call;
    call.group = static_cast<size_t>(group);
    call.request.mutable_optimizer()->set_name(spec.name);
    for (const auto& [name, value] : spec.settings) {
      auto& setting = *call.request.mutable_optimizer()->add_settings();
      setting.set_name(name);
      setting.set_value(value);
    }
    call.what = fmt::format("setting optimizer '{}'", spec.name);
    client_->call_and_wait(std::move(call));
  }
}

void DistStore::limit_norm(double most, std::span<const Key> keys) {
  LOOMIX_CHECK(
      mode_ == Mode::sync, ValueError,
      "[KVStore] the norm of gradients is that of a round, and a store of type '{}' has none; only dist_sync "
      "clips by it.",
      type_);
  LOOMIX_CHECK(std::isfinite(most) && most > 0, ValueError,
               "[KVStore] the gradients' largest norm is {}; expected a finite number above 0.", most);
  LOOMIX_CHECK(!keys.empty(), ValueError,
               "[KVStore] the gradients' norm is limited for no keys; expected one or more.");
  const auto groups = static_cast<size_t>(client_->groups());
  NormLimit limit;
  limit.most = most;
  limit.shards.resize(groups);
  std::vector<std::map<std::string, int64_t>> own(groups);  // of each group
  for (const Key& key : keys) {
    const Entry& one = entry(key);
    for (const Shard& shard : one.shards) ++own[static_cast<size_t>(shard.group)][one.wire];
  }
  for (size_t group = 0; group < groups; ++group) {
    for (const auto& [key, count] : own[group]) limit.shards[group] += count;
  }
  for (size_t group = 0; group < groups; ++group) {
    limit.keys = std::move(own[group]);
    ClusterClient::Call call;
    call.group = group;
    limit.write(*call.request.mutable_norm_limit());
    call.what = fmt::format("limiting the norm of gradients to {} by worker {}", most, rank());
    client_->call_and_wait(std::move(call));
  }
}

}  // namespace loomix::kvstore
