// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/core/process/process.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/settings.h"
#include "bindings/python/core/array/ndarray_object.h"
#include "bindings/python/core/convert.h"
#include "bindings/python/core/errors.h"
#include "bindings/python/core/process/runtime.h"
#include "comm/device_group.h"
#include "comm/network.h"
#include "comm/process_group.h"
#include "engine/device/device_runtime.h"
#include "engine/omp_threads.h"
#include "engine/trace.h"
#include "ops/kernel_module.h"
#include "ops/table.h"
#include "symbol/executor/op_call.h"

namespace loomix::python {
namespace {

namespace py = pybind11;

constexpr int kMaxHostDevices = 16;  // generators of these are saved with a state

void seed(uint64_t seed, const py::object& context) {
  if (context.is_none()) {
    runtime().generators().seed_all(seed);
  } else {
    runtime().generators().seed(seed, to_device(context.ptr(), "random.seed"));
  }
}

py::dict random_state() {
  py::dict states;
  for (int id = 0; id < kMaxHostDevices; ++id) {
    const ops::RandomStream stream = runtime().generators().state(Device::cpu(id));
    states[py::str(Device::cpu(id).to_string())] = py::make_tuple(stream.seed, stream.offset);
  }
  return states;
}

void set_random_state(const py::dict& states) {
  for (const auto& [name, state] : states) {
    const auto pair = py::cast<std::pair<uint64_t, uint64_t>>(state);
    runtime().generators().set_state(Device::parse(py::cast<std::string>(name)), {pair.first, pair.second});
  }
}

// The place in the device's stream where so many numbers begin that are nobody else's from now on.
std::pair<uint64_t, uint64_t> random_reserve(const py::object& context, uint64_t count) {
  const ops::RandomStream stream =
      runtime().generators().reserve(to_device(context.ptr(), "random_reserve"), count);
  return {stream.seed, stream.offset};
}

// Fills an array on a host by a sampler without inputs, with the numbers at a place of a stream.
void random_draw(const py::object& array, const std::string& sampler, const py::dict& attributes,
                 uint64_t seed, uint64_t offset) {
  const NDArray& out = to_array(array.ptr(), "random_draw", "array");
  const ops::OpDef& op = operators().at(sampler);
  TextPairs texts;
  for (const auto& [name, text] : attributes)
    texts.emplace_back(py::cast<std::string>(name), py::cast<std::string>(text));
  const Ref<const AttrsBase> attrs = operators().parse(op, texts);
  const ops::Req req = ops::Req::write;
  loomix::OpCall::make(runtime(), {.op = op,
                                   .attrs = attrs,
                                   .in = {},
                                   .out = {&out, 1},
                                   .saved = {},
                                   .req = {&req, 1},
                                   .device = out.device()})
      ->push(runtime(), {seed, offset}, 0);
}

// Whether some operator has a kernel whose name ends in this.
bool has_kernel(std::string_view suffix) {
  for (const ops::OpDef& op : operators().all()) {
    for (const ops::Kernel& kernel : op.kernels) {
      if (std::string_view(kernel.name).ends_with(suffix)) return true;
    }
  }
  return false;
}

// Names of the operators that `is_wanted`, and whether they are in no namespace.
template <class Wanted>
std::vector<std::pair<std::string, bool>> names_of(Wanted&& is_wanted) {
  std::vector<std::pair<std::string, bool>> names;
  for (const ops::OpDef& op : operators().all()) {
    if (is_wanted(op)) names.emplace_back(op.name, op.hidden);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::pair<std::string, bool>> all_operators() {
  return names_of([](const ops::OpDef&) { return true; });
}

// For arrays on GPUs; throws DeviceError without the CUDA module. Asynchronous kernels of hosts push work for GPUs.
std::vector<std::pair<std::string, bool>> operators_without_kernel() {
  ops::add_cuda_kernels(operators());
  return names_of([](const ops::OpDef& op) {
    for (const ops::AddedKernels* added = op.added_kernels(); added != nullptr; added = added->before) {
      if (added->kernels.front().device == DeviceType::gpu) return false;
    }
    return std::ranges::none_of(op.kernels,
                                [](const ops::Kernel& kernel) { return kernel.run_async != nullptr; });
  });
}

// Kernels are compiled for several levels of instructions; those of the processor count.
#if defined(__x86_64__)
#define LOOMIX_HAS_X86(feature) (__builtin_cpu_supports(feature) != 0)
#else
#define LOOMIX_HAS_X86(feature) false
#endif
void add_instructions(py::dict& features) {
  features["CPU_SSE"] = LOOMIX_HAS_X86("sse");
  features["CPU_SSE2"] = LOOMIX_HAS_X86("sse2");
  features["CPU_SSE3"] = LOOMIX_HAS_X86("sse3");
  features["CPU_SSE4_1"] = LOOMIX_HAS_X86("sse4.1");
  features["CPU_SSE4_2"] = LOOMIX_HAS_X86("sse4.2");
  features["CPU_SSE4A"] = LOOMIX_HAS_X86("sse4a");
  features["CPU_AVX"] = LOOMIX_HAS_X86("avx");
  features["CPU_AVX2"] = LOOMIX_HAS_X86("avx2");
}

// MXNet's names in its order, then our own.
py::dict features() {
  py::dict features;
  features["CUDA"] = engine::has_cuda_module();
  features["CUDNN"] = has_kernel("_cudnn");
  features["NCCL"] = comm::has_nccl_module();
  features["CUDA_RTC"] = false;
  features["TENSORRT"] = false;
  add_instructions(features);
  features["OPENMP"] = engine::omp_threads() > 0;
  features["SSE"] = features["CPU_SSE"];
  features["F16C"] = LOOMIX_HAS_X86("f16c");
  features["JEMALLOC"] = false;
  features["BLAS_OPEN"] = true;  // linked by every build
  for (const char* name : {"BLAS_ATLAS", "BLAS_MKL", "BLAS_APPLE"}) features[name] = false;
  features["LAPACK"] = operators().find("_linalg_potrf") != nullptr;
  features["MKLDNN"] = has_kernel("_dnnl");
  for (const char* name : {"OPENCV", "CAFFE"}) features[name] = false;
  features["PROFILER"] = true;
  features["DIST_KVSTORE"] = comm::has_network_module();
  features["CXX14"] = true;
  features["INT64_TENSOR_SIZE"] = true;
  features["SIGNAL_HANDLER"] = false;
#ifdef NDEBUG
  features["DEBUG"] = false;
#else
  features["DEBUG"] = true;
#endif
  features["TVM_OP"] = false;
  features["MPI"] = comm::has_mpi_module();
  return features;
}

// Bytes free and in all.
std::pair<size_t, size_t> gpu_memory_info(int id) {
  const int count = engine::count_gpus();
  if (id < 0 || id >= count)
    detail::throw_error<DeviceError>(
        "[gpu_memory_info] there is no gpu({}): {}.", id,
        count == 0 ? std::string("this machine or build has no GPU") : fmt::format("there are {}", count));
  const engine::MemorySource& source = engine().device(Device::gpu(id)).memory(MemoryKind::device).source();
  return {source.left().value_or(0), source.capacity()};
}

// Gives back to the system what the device's pools keep for reuse.
void empty_cache(int type, int id) {
  const Device device{static_cast<DeviceType>(type), static_cast<int16_t>(id)};
  for (engine::MemoryPool* pool : engine().device(device).pools()) pool->release_cached();
}

}  // namespace

void add_process_functions(PyObject* module) {
  auto m = py::reinterpret_borrow<py::module_>(module);
  m.def(
      "trace_start",
      [](bool memory) {
        const auto in_use = [] {
          return engine().device(Device::cpu()).memory(MemoryKind::host).stats().in_use;
        };
        engine().trace().start(memory ? std::function<int64_t()>(in_use) : nullptr);
      },
      py::arg("memory") = false);
  m.def("trace_stop", [] { engine().trace().stop(); });
  m.def("trace_resume", [] { engine().trace().resume(); });
  m.def("trace_json", [] { return engine().trace().to_json(); });
  m.def("profiler_autostart", [] { return settings().profiler_autostart; });
  m.def("habits", [] { return settings().habits; });
  m.def("exchange_nan_check", [](bool on) { return runtime().check_values.exchange(on); });
  m.def("load_kernel_module", [](const std::string& path) { ops::load_kernel_module(operators(), path); });
  m.def("random_seed", &seed);
  m.def("random_get_state", &random_state);
  m.def("random_set_state", &set_random_state);
  m.def("random_reserve", &random_reserve);
  m.def("random_draw", &random_draw);
  m.def("features", &features);
  m.def("all_operators", &all_operators);
  m.def("operators_without_kernel", &operators_without_kernel);
  m.def("empty_cache", &empty_cache);
  m.def("num_gpus", &engine::count_gpus);
  m.def("gpus_in_use", &engine::gpus_in_use);
  m.def("gpu_memory_info", &gpu_memory_info);
}

}  // namespace loomix::python
