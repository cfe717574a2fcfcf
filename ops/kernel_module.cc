// SPDX-License-Identifier: Apache-2.0
#include "ops/kernel_module.h"

#include <dlfcn.h>

#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "engine/device/device_runtime.h"
#include "ops/closed_operators.h"
#include "ops/image_form.h"

namespace loomix::ops {
namespace {

class Collector final : public KernelList {
 public:
  Collector(const OpTable& table, const KernelModule& module) : table_(table), module_(module) {}

  void add_kernel(std::string_view op, const Kernel& kernel) override {
    LOOMIX_CHECK(table_.find(op) != nullptr, ValueError,
                 "[kernel module '{}'] its kernel {} is for '{}', which is no operator.", module_.name,
                 kernel.name, op);
    LOOMIX_CHECK(kernel.device == module_.device, ValueError,
                 "[kernel module '{}'] its kernel {} is for {}; the module may add kernels for {} only.",
                 module_.name, kernel.name, Device{kernel.device, 0}.to_string(),
                 Device{module_.device, 0}.to_string());
    kernels.emplace_back(op, kernel);
  }

  std::vector<std::pair<std::string, Kernel>> kernels;

 private:
  const OpTable& table_;
  const KernelModule& module_;
};

// Whether the table has any of the operators that a module has kernels for.
class Probe final : public KernelList {
 public:
  explicit Probe(const OpTable& table) : table_(table) {}
  void add_kernel(std::string_view op, const Kernel&) override {
    finds = finds || table_.find(op) != nullptr;
  }
  bool finds = false;

 private:
  const OpTable& table_;
};

}  // namespace

void add_kernel_module(const OpTable& table, const KernelModule& module) {
  LOOMIX_CHECK(module.interface_version == kKernelInterface && module.interface_size == kKernelInterfaceSize,
               ValueError,
               "[kernel module '{}' {}] it was built for version {} (size {}) of the kernels' interface; "
               "this Loomix has version {} (size {}). Build it again with the headers of this Loomix.",
               module.name, module.version, module.interface_version, module.interface_size, kKernelInterface,
               kKernelInterfaceSize);
  Collector collector(table, module);
  module.add(collector);
  table.add_later(collector.kernels);
}

void add_cuda_kernels(const OpTable& table) {
  static std::mutex mutex;
  static std::set<const OpTable*> done;
  const std::lock_guard lock(mutex);
  if (done.contains(&table)) return;
  for (const char* const name : {"loomix_kernel_module", "loomix_image_kernel_module"}) {
    const auto* const module = static_cast<const KernelModule*>(engine::load_module_symbol(
        "loomix_cuda", name, "Operators on GPUs need the CUDA module of this Loomix"));
    Probe probe(table);
    module->add(probe);
    if (probe.finds) add_kernel_module(table, *module);
  }
  done.insert(&table);
}

ImageForm channels_last_images(DTypeSet types) {
  ImageForm form = *static_cast<const ImageForm*>(engine::load_module_symbol(
      "loomix_cuda", "loomix_channels_last", "Layouts on GPUs need the CUDA module of this Loomix"));
  form.types = types;
  return form;
}

ClosedOperators closed_operators() {
  return *static_cast<const ClosedOperators*>(
      engine::load_module_symbol("loomix_cuda", "loomix_closed_operators",
                                 "Closed operators on GPUs need the CUDA module of this Loomix"));
}

void load_kernel_module(const OpTable& table, const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  LOOMIX_CHECK(library != nullptr, ValueError, "[kernel module] '{}' cannot be loaded: {}.", path, dlerror());
  const auto* const module = static_cast<const KernelModule*>(dlsym(library, "loomix_kernel_module"));
  if (!module) dlclose(library);
  LOOMIX_CHECK(module != nullptr, ValueError,
               "[kernel module] '{}' exports no `loomix_kernel_module`; it is no module of kernels.", path);
  add_kernel_module(table, *module);
}

}  // namespace loomix::ops
