// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/core/process/runtime.h"

#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/error.h"
#include "bindings/python/core/convert.h"
#include "bindings/python/core/custom/custom_op.h"
#include "bindings/python/core/errors.h"
#include "bindings/python/core/kept.h"
#include "bindings/python/core/process/source_line.h"
#include "engine/exit.h"
#include "engine/fork.h"
#include "io/image_ops/image_ops.h"
#include "linalg/collective/collective_ops.h"
#include "ops/shape_rule.h"
#include "ops/table.h"
#include "symbol/autograd/tape.h"
#include "symbol/control_flow/control_flow.h"
#include "symbol/executor/from_settings.h"

namespace loomix::python {
namespace {

void* let_go_of_gil() { return PyGILState_Check() ? PyEval_SaveThread() : nullptr; }
void take_gil_back(void* state) {
  if (state) PyEval_RestoreThread(static_cast<PyThreadState*>(state));
  ask_to_drop_kept();
}
// Runs the handlers of signals; they run on the main thread only. What they raise stays in Python's error indicator.
bool signal_raised(void* state) {
  if (state == nullptr || gettid() != getpid()) return false;
  take_gil_back(state);
  const bool raised = PyErr_CheckSignals() != 0;
  if (!raised) drop_kept();  // nothing else does while this thread waits
  PyEval_SaveThread();
  return raised;
}

Origin capture_line() {
  if (!PyGILState_Check()) return {};
  const SourceLine line = current_line();
  return {line.code, line.offset};
}
std::string origin_text(Origin origin) {
  return line_text(
      {static_cast<PyCodeObject*>(const_cast<void*>(origin.code)), static_cast<int32_t>(origin.offset)});
}

std::atomic<Runtime*> running{nullptr};

Runtime& start_runtime() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (Runtime* runtime = running.load(std::memory_order_acquire)) return *runtime;
  engine::EngineOptions options;
  options.block_hook = {let_go_of_gil, take_gil_back, signal_raised};
  // Neither is ever deleted: arrays that Python's teardown forgets still point to the engine. `shutdown` ends its threads.
  engine::Engine* const engine = engine_from_settings(options).release();
  auto* runtime = std::make_unique<Runtime>(*engine, operators()).release();
  runtime->origin = {capture_line, origin_text};
  apply_settings(*runtime);
  running.store(runtime, std::memory_order_release);
  return *runtime;
}

const ops::OpTable* make_table() {
  auto table = std::make_unique<ops::OpTable>();
  ops::register_all(*table);
  autograd::register_operators(*table);
  io::register_image_ops(*table);
  register_custom_ops(*table);
  linalg::register_collectives(*table);
  control_flow::register_operators(*table);
  control_flow::register_gradients(*table);
  table->validate();
  return table.release();  // never deleted: recorded nodes point to its operators
}

PyObject* wait_all(PyObject*, PyObject*) {
  return guarded([&] {
    if (running.load()) engine().wait_all();
    return Py_NewRef(Py_None);
  });
}

// Runs before a fork, while Python's own locks are still free: operators written in Python may need them.
PyObject* quiesce_for_fork(PyObject*, PyObject*) {
  return guarded([&] {
    if (Runtime* runtime = running.load()) engine::quiesce_for_fork(runtime->engine());
    return Py_NewRef(Py_None);
  });
}

// Whether the program ends by a Ctrl-C that it did not catch. An interactive one has outlived those that it remembers.
bool ended_by_interrupt() {
  PyObject* const type = PySys_GetObject("last_type");
  return type && type == PyExc_KeyboardInterrupt && !PySys_GetObject("ps1");
}

enum class Drained { yes, late, interrupted };

// Waits for what is in flight, until the exit deadline or Ctrl-C. Handlers of signals run on the main thread only.
Drained drain_at_exit(engine::Engine& engine) {
  constexpr int kLookMs = 50;
  for (int left = engine.options().exit_deadline_ms; left > 0; left -= kLookMs) {
    PyThreadState* const state = PyEval_SaveThread();
    const bool drained = engine.drain(kLookMs);
    PyEval_RestoreThread(state);
    if (drained) return Drained::yes;
    if (PyErr_CheckSignals() != 0) {
      PyErr_Clear();
      return Drained::interrupted;
    }
  }
  return Drained::late;
}

// Files and servers get a moment; a further Ctrl-C ends the process at once.
void end_soon(engine::Engine& engine) {
  std::signal(SIGINT, SIG_DFL);
  engine::drop_computing(engine);
  PyThreadState* const state = PyEval_SaveThread();
  constexpr int kUnnoticedMs = 300;
  if (!engine.drain(kUnnoticedMs)) {
    fmt::print(stderr,
               "loomix: interrupted: what has not started is dropped; files, servers and what runs get {} s. "
               "Ctrl-C again ends at once.\n",
               engine::kDropDeadlineMs / 1000);
  }
  PyEval_RestoreThread(state);
}

// Ends the process as Ctrl-C does: by the signal, so that shells see code 130.
void end_by_interrupt() {
  for (const char* name : {"stdout", "stderr"}) {
    PyObject* const stream = PySys_GetObject(name);
    const Owned flushed(stream ? PyObject_CallMethod(stream, "flush", nullptr) : nullptr);
    PyErr_Clear();
  }
  std::raise(SIGINT);
}

// Runs at exit, before the interpreter is torn down: finishes what is in flight, or after Ctrl-C drops it.
PyObject* shutdown(PyObject*, PyObject*) {
  return guarded([&] {
    begin_exit();
    bool late_interrupt = false;
    if (Runtime* runtime = running.load()) {
      const bool interrupted = ended_by_interrupt();
      const Drained drained = interrupted ? Drained::interrupted : drain_at_exit(runtime->engine());
      late_interrupt = !interrupted && drained == Drained::interrupted;
      if (drained == Drained::interrupted) end_soon(runtime->engine());
      if (drained == Drained::late) {
        engine::drop_computing(runtime->engine());
        fmt::print(stderr, "loomix: the program has ended; what had not started {} s later is dropped.\n",
                   runtime->engine().options().exit_deadline_ms / 1000);
      }
      PyThreadState* const state = PyEval_SaveThread();
      runtime->engine().shutdown();
      PyEval_RestoreThread(state);
    }
    stop_dropping_kept();
    if (late_interrupt) end_by_interrupt();
    return Py_NewRef(Py_None);
  });
}

std::atomic<int> exit_status{0};

// Python's handlers at exit cannot change the exit status: what they raise is printed and forgotten. So this one, which the C library
// calls after the interpreter is gone, ends the process.
void end_with_status() {
  if (const int status = exit_status.load()) {
    std::fflush(nullptr);
    _exit(status);
  }
}

PyObject* set_exit_status(PyObject*, PyObject* status) {
  return guarded([&] {
    const long value = PyLong_AsLong(status);
    if (PyErr_Occurred()) throw PythonError{};
    exit_status = static_cast<int>(value);
    return Py_NewRef(Py_None);
  });
}

PyObject* numpy_dtype_of(PyObject*, PyObject* dtype) {
  return guarded([&] { return Py_NewRef(numpy_dtype(to_dtype(dtype, "dtype"))); });
}

PyObject* dtype_number(PyObject*, PyObject* dtype) {
  return guarded([&] { return PyLong_FromLong(static_cast<long>(to_dtype(dtype, "dtype"))); });
}

PyObject* same_dtype(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    LOOMIX_CHECK(count == 2, TypeError, "[same_dtype] got {} arguments; expected 2.", count);
    return PyBool_FromLong(to_dtype(args[0], "dtype") == to_dtype(args[1], "dtype"));
  });
}

PyObject* exchange_push_priority(PyObject*, PyObject* priority) {
  return guarded([&] {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(priority, &overflow);
    if (PyErr_Occurred()) throw PythonError{};
    const int64_t extreme = overflow > 0 ? INT64_MAX : INT64_MIN;
    return PyLong_FromLong(
        engine().exchange_push_priority(engine::PushPriority::clamped(overflow ? extreme : value)));
  });
}

PyObject* numpy_shapes(PyObject*, PyObject*) { return PyBool_FromLong(ops::numpy_shapes()); }

PyObject* exchange_numpy_shapes(PyObject*, PyObject* on) {
  const auto wanted = on == Py_None ? std::nullopt : std::optional(PyObject_IsTrue(on) == 1);
  const std::optional<bool> before = ops::exchange_numpy_shapes(wanted);
  return before ? PyBool_FromLong(*before) : Py_NewRef(Py_None);
}

PyObject* set_numpy_shapes_of_process(PyObject*, PyObject* on) {
  ops::set_numpy_shapes_of_process(PyObject_IsTrue(on) == 1);
  return Py_NewRef(Py_None);
}

PyMethodDef kProcessFunctions[] = {
    {"waitall", wait_all, METH_NOARGS, nullptr},
    {"shutdown", shutdown, METH_NOARGS, nullptr},
    {"set_exit_status", set_exit_status, METH_O, nullptr},
    {"quiesce_for_fork", quiesce_for_fork, METH_NOARGS, nullptr},
    {"numpy_dtype", numpy_dtype_of, METH_O, nullptr},
    {"dtype_number", dtype_number, METH_O, nullptr},
    {"same_dtype", as_method(same_dtype), METH_FASTCALL, nullptr},
    {"numpy_shapes", numpy_shapes, METH_NOARGS, nullptr},
    {"exchange_numpy_shapes", exchange_numpy_shapes, METH_O, nullptr},
    {"set_numpy_shapes_of_process", set_numpy_shapes_of_process, METH_O, nullptr},
    {"exchange_push_priority", exchange_push_priority, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

Runtime& runtime() {
  Runtime* const runtime = running.load(std::memory_order_acquire);
  return runtime ? *runtime : start_runtime();
}

const ops::OpTable& operators() {
  static const ops::OpTable* const table = make_table();
  return *table;
}

void add_runtime(PyObject* module) {
  checked(PyModule_AddFunctions(module, kProcessFunctions));
  std::atexit(end_with_status);
  const Owned atexit(checked(PyImport_ImportModule("atexit")));
  const Owned function(checked(PyObject_GetAttrString(module, "shutdown")));
  const Owned registered(checked(PyObject_CallMethod(atexit.get(), "register", "O", function.get())));
}

}  // namespace loomix::python
