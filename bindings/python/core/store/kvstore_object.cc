// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/core/store/kvstore_object.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <future>
#include <thread>

#include "base/error.h"
#include "base/log.h"
#include "base/params.h"
#include "base/settings.h"
#include "bindings/python/core/array/ndarray_object.h"
#include "bindings/python/core/convert.h"
#include "bindings/python/core/errors.h"
#include "bindings/python/core/kept.h"
#include "bindings/python/core/process/runtime.h"
#include "kvstore/cluster_store.h"
#include "kvstore/group_store.h"
#include "kvstore/local_store.h"
#include "kvstore/optimizer.h"
#include "ndarray/copy.h"

namespace loomix::python {
namespace {

namespace py = pybind11;
using kvstore::Key;
using kvstore::KVStore;

constexpr auto kCloseWithin = std::chrono::seconds(5);

Key to_key(const py::handle& object) {
  if (PyUnicode_Check(object.ptr())) return to_text(object.ptr());
  LOOMIX_CHECK(PyIndex_Check(object.ptr()) && !PyBool_Check(object.ptr()), TypeError,
               "[KVStore] key {} is of type {}; expected an int or a str.", to_text(object.ptr()),
               type_name(object.ptr()));
  return py::cast<int64_t>(object);
}

py::object key_object(const Key& key) {
  return std::visit([](const auto& value) -> py::object { return py::cast(value); }, key);
}

py::object array_object(const NDArray& array) { return py::reinterpret_steal<py::object>(wrap(array)); }

// One array or a sequence of them.
std::vector<NDArray> to_arrays(const py::handle& object, const char* what) {
  if (is_array(object.ptr())) return {array_of(object.ptr())};
  LOOMIX_CHECK(PyList_Check(object.ptr()) || PyTuple_Check(object.ptr()), TypeError,
               "[KVStore] {} is of type {}; expected an NDArray or a list of them.", what,
               type_name(object.ptr()));
  std::vector<NDArray> arrays;
  for (const py::handle item : object) arrays.push_back(to_array(item.ptr(), "KVStore", what));
  return arrays;
}

TextPairs to_pairs(const py::dict& given) {
  TextPairs pairs;
  for (const auto& [name, value] : given) pairs.emplace_back(to_text(name.ptr()), to_text(value.ptr()));
  return pairs;
}

// Runs what waits for other nodes on a thread of its own, without the GIL, so that signals are handled here. After Ctrl-C the
// thread ends by its deadline; what it needs must be its own.
void wait_for(std::function<void()> work) {
  std::promise<void> promise;
  std::future<void> done = promise.get_future();
  std::thread([promise = std::move(promise), work = std::move(work)]() mutable {
    try {
      work();
      work = nullptr;
      promise.set_value();
    } catch (...) {
      work = nullptr;
      promise.set_exception(std::current_exception());
    }
  }).detach();
  while (true) {
    {
      const py::gil_scoped_release release;
      if (done.wait_for(std::chrono::milliseconds(50)) == std::future_status::ready) break;
    }
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }
  done.get();
}

// The object behind loomix.kvstore.KVStore: a store until it is closed.
class Store {
 public:
  explicit Store(std::shared_ptr<KVStore> store) : store_(std::move(store)) {}
  ~Store() {
    const py::gil_scoped_release release;
    store_.reset();
  }
  KVStore& get() const {
    LOOMIX_CHECK(store_, StateError, "[KVStore] the store is closed.");
    return *store_;
  }
  // For calls that wait for other nodes.
  void wait(std::function<void(KVStore&)> call) const {
    get();
    wait_for([store = store_, call = std::move(call)] { call(*store); });
  }
  kvstore::ClusterStore& dist() const {
    auto* const store = dynamic_cast<kvstore::ClusterStore*>(&get());
    LOOMIX_CHECK(store != nullptr, StateError, "[KVStore] a store of type '{}' has no servers.",
                 get().type());
    return *store;
  }
  // Returns when others have been told goodbye.
  void close() {
    const py::gil_scoped_release release;
    const auto* const dist = dynamic_cast<const kvstore::ClusterStore*>(store_.get());
    const std::weak_ptr<const int> life = dist ? dist->life() : std::weak_ptr<const int>();
    store_.reset();
    const auto until = std::chrono::steady_clock::now() + kCloseWithin;
    while (!life.expired() && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

 private:
  std::shared_ptr<KVStore> store_;
};

void init(const Store& store, const py::object& key, const py::object& value) {
  const std::vector<NDArray> values = to_arrays(value, "value");
  const Key name = to_key(key);
  LOOMIX_CHECK(!values.empty(), ValueError, "[KVStore] init got no value for key {}.",
               kvstore::to_text(name));
  if (store.get().num_workers() == 1 && dynamic_cast<kvstore::ClusterStore*>(&store.get()) == nullptr)
    return store.get().init(name, values[0]);
  store.wait([name, value = values[0]](KVStore& to) { to.init(name, value); });
}

// Lists of keys, of the devices' values, of the arrays for the results, and of priorities.
void pushpull_all(const Store& store, const py::list& keys, const py::list& values, const py::list& outs,
                  const std::vector<int>& priorities) {
  std::vector<kvstore::KeyValues> entries;
  for (size_t i = 0; i < priorities.size(); ++i)
    entries.push_back(
        {to_key(keys[i]), to_arrays(values[i], "value"), to_arrays(outs[i], "out"), priorities[i]});
  store.get().pushpull_all(entries);
}

void set_updater(const Store& store, const py::object& function) {
  if (function.is_none()) return store.get().set_updater(nullptr);
  LOOMIX_CHECK(
      PyCallable_Check(function.ptr()), TypeError,
      "[KVStore] updater is of type {}; expected a function of key, merged and stored value, or None.",
      type_name(function.ptr()));
  store.get().set_updater(
      [function = keep(function.ptr())](const Key& key, const NDArray& merged, const NDArray& stored, int) {
        py::handle(function.get())(key_object(key), array_object(merged), array_object(stored));
      });
}

void set_compression(const Store& store, const py::dict& given) {
  const Ref<const AttrsBase> params =
      param_schema<kvstore::CompressionParams>().parse("set_gradient_compression", to_pairs(given));
  store.get().set_compression(params->as<kvstore::CompressionParams>());
}

void set_optimizer(const Store& store, const std::string& name, const py::dict& given) {
  store.dist();
  store.wait([spec = kvstore::OptimizerSpec{name, to_pairs(given)}](KVStore& to) {
    static_cast<kvstore::ClusterStore&>(to).set_optimizer(spec);
  });
}

void limit_norm(const Store& store, double most, const py::iterable& given) {
  store.dist();
  std::vector<kvstore::Key> keys;
  for (const py::handle key : given) keys.push_back(to_key(py::reinterpret_borrow<py::object>(key)));
  store.wait([most, keys](KVStore& to) { static_cast<kvstore::ClusterStore&>(to).limit_norm(most, keys); });
}

std::unique_ptr<Store> make_dist_store(const std::string& type, int64_t staleness) {
  const auto made = std::make_shared<std::shared_ptr<KVStore>>();
  Runtime& used = runtime();
  wait_for([made, type, staleness, &used] {
    *made = kvstore::make_dist_store(used, type, staleness, settings());
  });
  return std::make_unique<Store>(*made);
}

std::unique_ptr<Store> make_group_store(const std::string& type, uintptr_t communicator) {
  const Settings& given = settings();
  const py::gil_scoped_release release;
  return std::make_unique<Store>(kvstore::make_group_store(runtime(), type, given, communicator));
}

// Type and text of an exception of code that a worker sent, for that worker; the rest of it is for the log. Called with the GIL.
std::string short_text(const py::error_already_set& error) {
  try {
    return py::cast<std::string>(
        py::module_::import("loomix.optimizer.travel").attr("short_text")(error.value()));
  } catch (const std::exception& another) {
    return fmt::format("an exception whose text cannot be had: {}", another.what());
  }
}

// An optimizer in Python. Its states are arrays like the weight, so they are copied to other servers as those of all rules are.
class PythonOptimizer final : public kvstore::Optimizer {
 public:
  PythonOptimizer(kvstore::OptimizerSpec spec, const py::object& rule)
      : Optimizer(std::move(spec)), rule_(keep(rule.ptr())) {}
  void update(const Key& key, const NDArray& weight, const NDArray& grad, const NDArray& out,
              kvstore::OptimizerState& state, int8_t) const override {
    if (!same_memory(weight, out)) copy(weight, out);
    if (!state.failure.empty()) return;  // and so is what was copied
    std::string failure;
    std::string details;
    {
      const py::gil_scoped_acquire gil;
      try {
        py::list arrays;
        for (const NDArray& array : state.arrays) arrays.append(array_object(array));
        const py::object kept = py::handle(rule_.get())(key_object(key), array_object(out),
                                                        array_object(grad), arrays, ++state.updates);
        state.arrays = to_arrays(kept, "states");
      } catch (const py::error_already_set& error) {
        failure = short_text(error);
        details = error.what();
      } catch (const std::exception& error) {
        failure = details = error.what();
      }
    }
    if (failure.empty()) return;
    log(LogLevel::error, "[KVStore] the pickled optimizer failed at key {}: {}", kvstore::to_text(key),
        details);
    state.failure =
        fmt::format("[KVStore] the pickled optimizer failed at key {}: {}", kvstore::to_text(key), failure);
    poison(out, state.failure);
  }

 private:
  static bool same_memory(const NDArray& one, const NDArray& other) {
    return &one.storage() == &other.storage() && one.offset() == other.offset();
  }
  // So that no copy of it is made.
  static void poison(const NDArray& out, const std::string& failure) {
    ArrayTags tags;
    tags.write(out);
    runtime().engine().push(
        {}, tags.tags(), [failure](engine::RunContext&) { detail::throw_error<StateError>("{}", failure); });
  }
  const Kept rule_;
};

std::shared_ptr<const kvstore::Optimizer> make_python_optimizer(kvstore::OptimizerSpec spec) {
  const py::gil_scoped_acquire gil;
  try {
    std::string code;
    for (const auto& [name, value] : spec.settings) {
      if (name == "code") code = value;
    }
    const py::object rule = py::module_::import("loomix.optimizer.travel").attr("ServerRule")(code);
    return std::make_shared<PythonOptimizer>(std::move(spec), rule);
  } catch (const py::error_already_set& error) {
    log(LogLevel::error, "[KVStore] a pickled optimizer cannot be read: {}", error.what());
    detail::throw_error<ValueError>("[KVStore] the server cannot read the pickled optimizer: {}",
                                    short_text(error));
  }
}

void serve() {
  Runtime& used = runtime();
  bool raised = false;
  {
    const py::gil_scoped_release release;
    const auto go_on = [&raised] {
      const py::gil_scoped_acquire acquire;
      raised = PyErr_CheckSignals() != 0;
      return !raised;
    };
    kvstore::serve(used, settings(), go_on, make_python_optimizer);
  }
  if (raised) throw py::error_already_set();
}

// What the settings say of this process's cluster.
py::dict cluster_settings() {
  const Settings& given = settings();
  py::dict result;
  result["role"] = given.kv_role;
  result["rank"] = given.kv_rank;
  result["workers"] = given.kv_workers;
  result["servers"] = given.kv_servers;
  result["staleness"] = given.kv_staleness;
  result["allow_pickle"] = given.kv_allow_pickle;
  return result;
}

}  // namespace

void add_store_type(PyObject* module) {
  auto m = py::reinterpret_borrow<py::module_>(module);
  py::class_<Store>(m, "StoreHandle")
      .def(py::init([](const std::string& type) {
        return std::make_unique<Store>(kvstore::make_local_store(runtime(), type));
      }))
      .def_property_readonly("type", [](const Store& store) { return store.get().type(); })
      .def_property_readonly("rank", [](const Store& store) { return store.get().rank(); })
      .def_property_readonly("num_workers", [](const Store& store) { return store.get().num_workers(); })
      .def("init", &init)
      .def("push", [](const Store& store, const py::object& key, const py::object& values,
                      int priority) { store.get().push(to_key(key), to_arrays(values, "value"), priority); })
      .def("pull", [](const Store& store, const py::object& key, const py::object& outs,
                      int priority) { store.get().pull(to_key(key), to_arrays(outs, "out"), priority); })
      .def("pushpull",
           [](const Store& store, const py::object& key, const py::object& values, const py::object& outs,
              int priority) {
             store.get().pushpull(to_key(key), to_arrays(values, "value"), to_arrays(outs, "out"), priority);
           })
      .def("pushpull_all", &pushpull_all)
      .def("row_sparse_pull",
           [](const Store& store, const py::object& key, const py::object& outs, const py::object& row_ids,
              int priority) {
             store.get().row_sparse_pull(to_key(key), to_arrays(outs, "out"), to_arrays(row_ids, "row_ids"),
                                         priority);
           })
      .def("stype",
           [](const Store& store, const py::object& key) { return name_of(store.get().stype(to_key(key))); })
      .def("set_updater", &set_updater)
      .def("set_gradient_compression", &set_compression)
      .def("set_optimizer", &set_optimizer)
      .def("limit_norm", &limit_norm)
      .def("pushes",
           [](const Store& store, const py::object& key) { return store.dist().pushes(to_key(key)); })
      .def("leave", [](const Store& store,
                       const std::string& why) { store.wait([why](KVStore& to) { to.leave(why); }); })
      .def("barrier", [](const Store& store) { store.wait([](KVStore& to) { to.barrier(); }); })
      .def("barrier_at",
           [](const Store& store, int64_t position) {
             store.dist();
             store.wait(
                 [position](KVStore& to) { static_cast<kvstore::ClusterStore&>(to).barrier(position); });
           })
      .def("close", &Store::close);
  m.def("make_dist_store", &make_dist_store);
  m.def("make_group_store", &make_group_store);
  m.def("serve", &serve);
  m.def("cluster_settings", &cluster_settings);
  m.def("new_key_files", &kvstore::new_key_files);
}

}  // namespace loomix::python
