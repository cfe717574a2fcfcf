// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <thread>

#include "base/settings.h"
#include "bindings/c/api/keys.h"
#include "bindings/c/guard.h"
#include "kvstore/cluster_store.h"
#include "kvstore/group_store.h"
#include "kvstore/local_store.h"

using namespace loomix;     // NOLINT: the functions below are outside of all namespaces
using namespace loomix::c;  // NOLINT

namespace {

constexpr auto kCloseWithin = std::chrono::seconds(5);

struct StoreObject final : Object {
  static constexpr const char* kKind = "a store";
  explicit StoreObject(std::unique_ptr<kvstore::KVStore> made) : store(std::move(made)) {}
  // Returns when others have been told goodbye.
  ~StoreObject() override {
    const auto* const dist = dynamic_cast<const kvstore::ClusterStore*>(store.get());
    const std::weak_ptr<const int> life = dist ? dist->life() : std::weak_ptr<const int>();
    store.reset();
    const auto until = std::chrono::steady_clock::now() + kCloseWithin;
    while (!life.expired() && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const char* kind() const override { return kKind; }
  kvstore::ClusterStore& dist(const char* who) const {
    auto* const dist = dynamic_cast<kvstore::ClusterStore*>(store.get());
    LOOMIX_CHECK(dist, StateError, "[{}] a store of type '{}' has no servers.", who, store->type());
    return *dist;
  }
  std::unique_ptr<kvstore::KVStore> store;
};

std::unique_ptr<kvstore::KVStore> make_store(const std::string& type) {
  const Settings& known = settings();
  if (type == "dist_mpi" || type == "dist_network" || type == "dist_nccl" || type == "nccl")
    return kvstore::make_group_store(running(), type, known);
  if (type.starts_with("dist")) return kvstore::make_dist_store(running(), type, known.kv_staleness, known);
  return kvstore::make_local_store(running(), type);
}

kvstore::Updater to_updater(LoomixUpdater updater, void* context) {
  if (!updater) return nullptr;
  return [updater, context](const kvstore::Key& key, const NDArray& sum, const NDArray& stored, int) {
    const auto* const name = std::get_if<std::string>(&key);
    const LoomixKey known{name ? name->c_str() : nullptr, name ? 0 : std::get<int64_t>(key)};
    const int code = updater(&known, add_array(sum), add_array(stored), context);
    LOOMIX_CHECK(code == 0, StateError, "[LoomixStorePush] the updater failed at key {}: {}",
                 kvstore::to_text(key), last_error());
  };
}

}  // namespace

int LoomixStoreCreate(const char* type, LoomixStore* out) {
  return guarded([&] {
    not_null(out, "LoomixStoreCreate", "out");
    auto made = std::make_shared<StoreObject>(make_store(not_null(type, "LoomixStoreCreate", "type")));
    *out = static_cast<LoomixStore>(add_object(std::move(made)));
  });
}

int LoomixStoreGetInfo(LoomixStore store, const char** type, int* rank, int* workers) {
  return guarded([&] {
    const auto object = find<StoreObject>(store);
    answer().text = object->store->type();
    if (type) *type = answer().text.c_str();
    if (rank) *rank = object->store->rank();
    if (workers) *workers = object->store->num_workers();
  });
}

int LoomixStoreInit(LoomixStore store, const LoomixKey* key, LoomixArray value) {
  return guarded([&] {
    const auto object = find<StoreObject>(store);
    object->store->init(to_key(key, "LoomixStoreInit"), find<ArrayObject>(value)->array);
  });
}

int LoomixStorePush(LoomixStore store, const LoomixKey* key, size_t count, const LoomixArray* values,
                    int priority) {
  return guarded([&] {
    constexpr const char* kWho = "LoomixStorePush";
    const auto object = find<StoreObject>(store);
    LOOMIX_CHECK(count > 0, ValueError, "[{}] got no arrays.", kWho);
    object->store->push(to_key(key, kWho), to_arrays(count, values, kWho), priority);
  });
}

int LoomixStorePull(LoomixStore store, const LoomixKey* key, size_t count, const LoomixArray* outs,
                    int priority) {
  return guarded([&] {
    constexpr const char* kWho = "LoomixStorePull";
    const auto object = find<StoreObject>(store);
    LOOMIX_CHECK(count > 0, ValueError, "[{}] got no arrays.", kWho);
    object->store->pull(to_key(key, kWho), to_arrays(count, outs, kWho), priority);
  });
}

int LoomixStoreSetUpdater(LoomixStore store, LoomixUpdater updater, void* context) {
  return guarded([&] { find<StoreObject>(store)->store->set_updater(to_updater(updater, context)); });
}

int LoomixStoreSetOptimizer(LoomixStore store, const char* name, const LoomixPairs* settings) {
  return guarded([&] {
    constexpr const char* kWho = "LoomixStoreSetOptimizer";
    const auto object = find<StoreObject>(store);
    object->dist(kWho).set_optimizer({not_null(name, kWho, "name"), to_pairs(settings, kWho)});
  });
}

int LoomixStoreSetCompression(LoomixStore store, const LoomixPairs* settings) {
  return guarded([&] {
    constexpr const char* kWho = "LoomixStoreSetCompression";
    const auto object = find<StoreObject>(store);
    const auto params = param_schema<kvstore::CompressionParams>().parse(kWho, to_pairs(settings, kWho));
    object->store->set_compression(params->as<kvstore::CompressionParams>());
  });
}

int LoomixStoreBarrier(LoomixStore store) {
  return guarded([&] { find<StoreObject>(store)->store->barrier(); });
}

int LoomixStoreServe() {
  return guarded([&] {
    const std::string& role = settings().kv_role;
    LOOMIX_CHECK(
        role == "server" || role == "scheduler", StateError,
        "[LoomixStoreServe] this process's role (LOOMIX_KV_ROLE, DMLC_ROLE) is '{}'; expected 'server' or "
        "'scheduler'.",
        role);
    kvstore::serve(running(), settings(), [] { return true; });
  });
}
