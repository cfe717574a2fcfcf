// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>

#include "loomix/cpp/optimizer.h"

namespace loomix::cpp {

// A store of parameters that devices, or the machines of a cluster, share.
class Store {
 public:
  explicit Store(const std::string& type = "local") {
    LoomixStore made = nullptr;
    detail::check(LoomixStoreCreate(type.c_str(), &made));
    handle_ = detail::Handle<LoomixStore>(made);
  }
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // A number or a text; 3 and "3" are different.
  class Key {
   public:
    Key(int number) : number_(number) {}                 // NOLINT: meant to convert
    Key(std::string name) : name_(std::move(name)) {}    // NOLINT
    Key(const char* name) : name_(std::string(name)) {}  // NOLINT
    LoomixKey c() const { return {name_ ? name_->c_str() : nullptr, number_}; }

   private:
    std::optional<std::string> name_;
    int64_t number_ = 0;
  };

  void Init(const Key& key, const NDArray& value) {
    const LoomixKey known = key.c();
    detail::check(LoomixStoreInit(handle_.get(), &known, value.GetHandle()));
  }
  // The sum of the values changes what is stored.
  void Push(const Key& key, const std::vector<NDArray>& values, int priority = 0) {
    const LoomixKey known = key.c();
    const auto list = NDArray::handles(values);
    const int code = LoomixStorePush(handle_.get(), &known, list.size(), list.data(), priority);
    if (updater_ && updater_->failure) std::rethrow_exception(std::exchange(updater_->failure, nullptr));
    detail::check(code);
  }
  void Pull(const Key& key, const std::vector<NDArray>& outs, int priority = 0) {
    const LoomixKey known = key.c();
    const auto list = NDArray::handles(outs);
    detail::check(LoomixStorePull(handle_.get(), &known, list.size(), list.data(), priority));
  }
  // What is pushed changes the values by it: on the servers of a cluster, or, with `local`, on this machine.
  void SetOptimizer(std::unique_ptr<Optimizer> optimizer, bool local = false) {
    if (!local && GetType().compare(0, 4, "dist") == 0) {
      detail::Pairs settings = optimizer->params();
      const auto rename = [&settings](const char* from, const char* to) {
        auto node = settings.extract(from);
        if (node.empty()) return;
        node.key() = to;
        settings.insert(std::move(node));
      };
      rename("lr", "learning_rate");
      rename("eps", "epsilon");
      const detail::CPairs pairs(settings);
      detail::check(LoomixStoreSetOptimizer(handle_.get(), optimizer->GetType().c_str(), pairs.get()));
      return;
    }
    updater_ = std::make_unique<Updater>();
    updater_->optimizer = std::move(optimizer);
    detail::check(LoomixStoreSetUpdater(handle_.get(), &Updater::run, updater_.get()));
  }
  void SetGradientCompression(const std::map<std::string, std::string>& settings) {
    const detail::CPairs pairs(settings);
    detail::check(LoomixStoreSetCompression(handle_.get(), pairs.get()));
  }
  std::string GetType() const {
    const char* type = nullptr;
    detail::check(LoomixStoreGetInfo(handle_.get(), &type, nullptr, nullptr));
    return type;
  }
  int GetRank() const {
    int rank = 0;
    detail::check(LoomixStoreGetInfo(handle_.get(), nullptr, &rank, nullptr));
    return rank;
  }
  int GetNumWorkers() const {
    int workers = 0;
    detail::check(LoomixStoreGetInfo(handle_.get(), nullptr, nullptr, &workers));
    return workers;
  }
  void Barrier() { detail::check(LoomixStoreBarrier(handle_.get())); }

 private:
  struct Updater {
    std::unique_ptr<Optimizer> optimizer;
    std::map<std::string, int> numbers;  // of keys
    std::exception_ptr failure;
    static int run(const LoomixKey* key, LoomixArray sum, LoomixArray stored, void* context) {
      auto* const self = static_cast<Updater*>(context);
      try {
        const NDArray grad(sum), weight(stored);
        const std::string name = key->name ? std::string("'") + key->name : std::to_string(key->number);
        const int number = self->numbers.emplace(name, static_cast<int>(self->numbers.size())).first->second;
        self->optimizer->Update(number, weight, grad);
        return 0;
      } catch (...) {
        self->failure = std::current_exception();
        return -1;
      }
    }
  };

  std::unique_ptr<Updater> updater_;  // outlives the store
  detail::Handle<LoomixStore> handle_;
};

inline namespace names {

// The process's store, as MXNet's cpp-package has it. It is made by the first call, of the type set before.
class KVStore {
 public:
  static void SetType(const std::string& type) {
    if (made()) throw Error("[KVStore] the store exists already; SetType comes first.");
    wanted_type() = type;
  }
  static void RunServer() { detail::check(LoomixStoreServe()); }
  static void Init(int key, const NDArray& val) { store().Init(key, val); }
  static void Init(const std::string& key, const NDArray& val) { store().Init(key, val); }
  static void Init(const std::vector<int>& keys, const std::vector<NDArray>& vals) { init_all(keys, vals); }
  static void Init(const std::vector<std::string>& keys, const std::vector<NDArray>& vals) {
    init_all(keys, vals);
  }
  static void Push(int key, const NDArray& val, int priority = 0) { store().Push(key, {val}, priority); }
  static void Push(const std::string& key, const NDArray& val, int priority = 0) {
    store().Push(key, {val}, priority);
  }
  // Values of one key are added up.
  static void Push(const std::vector<int>& keys, const std::vector<NDArray>& vals, int priority = 0) {
    push_all(keys, vals, priority);
  }
  static void Push(const std::vector<std::string>& keys, const std::vector<NDArray>& vals, int priority = 0) {
    push_all(keys, vals, priority);
  }
  static void Pull(int key, NDArray* out, int priority = 0) { store().Pull(key, {*out}, priority); }
  static void Pull(const std::string& key, NDArray* out, int priority = 0) {
    store().Pull(key, {*out}, priority);
  }
  static void Pull(const std::vector<int>& keys, std::vector<NDArray>* outs, int priority = 0) {
    pull_all(keys, *outs, priority);
  }
  static void Pull(const std::vector<std::string>& keys, std::vector<NDArray>* outs, int priority = 0) {
    pull_all(keys, *outs, priority);
  }
  static void SetOptimizer(std::unique_ptr<Optimizer> optimizer, bool local = false) {
    store().SetOptimizer(std::move(optimizer), local);
  }
  static std::string GetType() { return store().GetType(); }
  static int GetRank() { return store().GetRank(); }
  static int GetNumWorkers() { return store().GetNumWorkers(); }
  static void Barrier() { store().Barrier(); }
  // Ends the store; the next call makes another.
  static void Close() { made().reset(); }

 private:
  static std::unique_ptr<Store>& made() {
    static std::unique_ptr<Store> one;
    return one;
  }
  static std::string& wanted_type() {
    static std::string type = "local";
    return type;
  }
  static Store& store() {
    if (!made()) made() = std::make_unique<Store>(wanted_type());
    return *made();
  }
  template <class K>
  static void check_sizes(const std::vector<K>& keys, const std::vector<NDArray>& arrays) {
    if (keys.size() != arrays.size())
      throw Error("[KVStore] there are " + std::to_string(keys.size()) + " keys and " +
                  std::to_string(arrays.size()) + " arrays.");
  }
  template <class K>
  static std::vector<std::pair<K, std::vector<NDArray>>> grouped(const std::vector<K>& keys,
                                                                 const std::vector<NDArray>& arrays) {
    check_sizes(keys, arrays);
    std::vector<std::pair<K, std::vector<NDArray>>> groups;
    std::map<K, size_t> places;
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto [place, is_new] = places.emplace(keys[i], groups.size());
      if (is_new) groups.emplace_back(keys[i], std::vector<NDArray>());
      groups[place->second].second.push_back(arrays[i]);
    }
    return groups;
  }
  template <class K>
  static void init_all(const std::vector<K>& keys, const std::vector<NDArray>& vals) {
    check_sizes(keys, vals);
    for (size_t i = 0; i < keys.size(); ++i) store().Init(keys[i], vals[i]);
  }
  template <class K>
  static void push_all(const std::vector<K>& keys, const std::vector<NDArray>& vals, int priority) {
    for (const auto& [key, values] : grouped(keys, vals)) store().Push(key, values, priority);
  }
  template <class K>
  static void pull_all(const std::vector<K>& keys, const std::vector<NDArray>& outs, int priority) {
    for (const auto& [key, arrays] : grouped(keys, outs)) store().Pull(key, arrays, priority);
  }
};

}  // namespace names
}  // namespace loomix::cpp
