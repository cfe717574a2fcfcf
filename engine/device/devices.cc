// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/error.h"
#include "base/machine.h"
#include "base/settings.h"
#include "engine/device/device_runtime.h"

namespace loomix::engine {
namespace {

std::atomic<bool> gpu_opened{false};

const DeviceModule& cuda_module(Device device) {
  static const DeviceModule& module = [&]() -> const DeviceModule& {
    const std::string hint = fmt::format(
        "{} needs GPU support, which is a module of its own: build Loomix with CUDA's toolkit installed "
        "(LOOMIX_CUDA=ON) or install the package with CUDA, or use cpu()",
        device.to_string());
    const auto* found = static_cast<const DeviceModule*>(
        load_module_symbol("loomix_cuda", "loomix_cuda_devices", hint.c_str()));
    LOOMIX_CHECK(found->interface_version == kDeviceModuleVersion, DeviceError,
                 "[engine] the CUDA module was built for another version of Loomix (interface {}, not {}); "
                 "install both "
                 "from the same build.",
                 found->interface_version, kDeviceModuleVersion);
    return *found;
  }();
  return module;
}

class CpuRuntime final : public DeviceRuntime {
 public:
  explicit CpuRuntime(const EngineOptions& options)
      : memory_("cpu", make_host_source(),
                {.held = options.pool_bytes,
                 .cached = options.host_cache_bytes >= 0 ? options.host_cache_bytes
                                                         : machine().memory_bytes / 4}) {}
  Device device() const override { return Device::cpu(); }
  DeviceTraits traits() const noexcept override {
    return {.blocked_images = true, .fused_chains = true, .timed_kernels = true, .sparse_arrays = true};
  }
  DeviceQueue* queue(Lane) override { return nullptr; }
  MemoryPool& memory(MemoryKind kind) override {
    LOOMIX_CHECK(kind != MemoryKind::device && kind != MemoryKind::cuda_managed, DeviceError,
                 "[engine] cpu has no {} memory; it has host, pinned and managed.", name_of(kind));
    return kind == MemoryKind::pinned ? pinned() : memory_;
  }
  std::vector<MemoryPool*> pools() override {
    const std::lock_guard lock(mutex_);
    std::vector<MemoryPool*> all{&memory_};
    if (pinned_) all.push_back(pinned_.get());
    return all;
  }
  void synchronize() override {}
  void copy_now(void* to, const void* from, size_t bytes) override { std::memmove(to, from, bytes); }

 private:
  // Page-locked memory where the CUDA module is there, else plain memory.
  MemoryPool& pinned() {
    const std::lock_guard lock(mutex_);
    if (pinned_tried_) return pinned_ ? *pinned_ : memory_;
    pinned_tried_ = true;
    try {
      const DeviceModule& module = cuda_module(Device::gpu());
      if (module.count() > 0) {
        pinned_ = std::make_unique<MemoryPool>("cpu_pinned", module.pinned_source());
      }
    } catch (const DeviceError&) {}
    return pinned_ ? *pinned_ : memory_;
  }

  MemoryPool memory_;
  std::mutex mutex_;
  bool pinned_tried_ = false;
  std::unique_ptr<MemoryPool> pinned_;
};

}  // namespace

void* load_module_symbol(const char* name, const char* symbol, const char* hint) {
  Dl_info here{};
  std::string folder;
  if (dladdr(reinterpret_cast<void*>(&load_module_symbol), &here) != 0 && here.dli_fname != nullptr) {
    folder = here.dli_fname;
    folder.resize(folder.rfind('/') == std::string::npos ? 0 : folder.rfind('/') + 1);
  }
  std::string path = fmt::format("{}lib{}.so", folder, name);
  if (std::string_view(name) == "loomix_cuda" && !settings().cuda_library.empty())
    path = settings().cuda_library;
  void* const module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  LOOMIX_CHECK(module != nullptr, DeviceError, "[engine] cannot load {} ({}). {}.", path, dlerror(), hint);
  void* const found = dlsym(module, symbol);
  LOOMIX_CHECK(found != nullptr, DeviceError,
               "[engine] {} has no '{}'; it belongs to another version of Loomix.", path, symbol);
  return found;
}

int count_gpus() noexcept {
  try {
    return cuda_module(Device::gpu()).count();
  } catch (const DeviceError&) {
    return 0;
  }
}

bool has_cuda_module() noexcept {
  try {
    return cuda_module(Device::gpu()).count != nullptr;
  } catch (const DeviceError&) {
    return false;
  }
}

bool gpus_in_use() noexcept { return gpu_opened.load(std::memory_order_relaxed); }

std::unique_ptr<DeviceRuntime> make_cpu_runtime(const EngineOptions& options) {
  return std::make_unique<CpuRuntime>(options);
}

struct Devices::State {
  mutable std::mutex mutex;
  std::map<Device, std::unique_ptr<DeviceRuntime>> others;
  bool in_child = false;
};

Devices::Devices(const EngineOptions& options, MemoryPool::Reclaimer reclaimer)
    : options_(options),
      reclaimer_(std::move(reclaimer)),
      cpu_(make_cpu_runtime(options)),
      state_(std::make_unique<State>()) {
  for (MemoryPool* const pool : cpu_->pools()) pool->set_reclaimer(reclaimer_);
}
// Work of one device may wait for another's, and memory of one for the work of another: all is done before any goes.
Devices::~Devices() {
  for (DeviceRuntime* const runtime : opened()) {
    try {
      runtime->synchronize();
    } catch (const Error&) {  // of a device that is lost: there is nobody left to tell
    }
  }
}

DeviceRuntime& Devices::get(Device device) {
  if (device.is_host()) [[likely]]
    return *cpu_;
  const std::lock_guard lock(state_->mutex);
  LOOMIX_CHECK(!state_->in_child, DeviceError,
               "[engine] {} was used before this process was forked and cannot be used in the child; start "
               "the child by "
               "spawn, or copy the arrays to the cpu before.",
               device.to_string());
  auto& runtime = state_->others[device];
  if (runtime) return *runtime;
  if (device.type == DeviceType::null) {
    LOOMIX_CHECK(device.id >= 0 && device.id < 16, DeviceError,
                 "[engine] there is no {}; null devices have ids 0 to 15.", device.to_string());
    runtime = make_null_runtime(device, options_);
  } else {
    const DeviceModule& module = cuda_module(device);
    const int count = module.count();
    if (count == 0) static_cast<void>(module.open(device, options_));  // says why
    LOOMIX_CHECK(device.id >= 0 && device.id < count, DeviceError,
                 "[engine] there is no {}; CUDA sees {} device(s).", device.to_string(), count);
    runtime = module.open(device, options_);
    gpu_opened.store(true, std::memory_order_relaxed);
  }
  for (MemoryPool* const pool : runtime->pools()) pool->set_reclaimer(reclaimer_);
  return *runtime;
}

std::vector<DeviceRuntime*> Devices::opened() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<DeviceRuntime*> all;
  for (const auto& [device, runtime] : state_->others) {
    if (runtime) all.push_back(runtime.get());
  }
  return all;
}

void Devices::lock_for_fork() noexcept {
  state_->mutex.lock();
  for (MemoryPool* const pool : cpu_->pools()) pool->lock_for_fork();
}

void Devices::unlock_after_fork() noexcept {
  for (MemoryPool* const pool : cpu_->pools()) pool->unlock_after_fork();
  state_->mutex.unlock();
}

void Devices::close_in_child() noexcept {
  bool used = false;
  for (auto& [device, runtime] : state_->others) {
    if (!runtime) continue;
    used = true;
    static_cast<void>(runtime.release());  // its thread and its driver state belong to the parent
  }
  state_->in_child = used;
  state_->others.clear();
}

}  // namespace loomix::engine
