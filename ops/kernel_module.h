// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "ops/table.h"

namespace loomix::ops {

// Kernels for one device type that come in a library of their own, loaded after start: CUDA's, a stand-in's in tests, a
// user's. The library exports `extern "C" const loomix::ops::KernelModule loomix_kernel_module`.
//
//   void add(KernelList& list) { list.kernel<relu_npu>("relu", "relu_npu", DeviceType::gpu); }
//   extern "C" const KernelModule loomix_kernel_module = {kKernelInterface, kKernelInterfaceSize, "npu", "0.1.0",
//                                                         DeviceType::gpu, add};
struct KernelModule {
  uint32_t interface_version;  // kKernelInterface of the headers that it was compiled with
  uint32_t interface_size;     // kKernelInterfaceSize of the same
  const char* name;
  const char* version;  // of the module itself
  DeviceType device;
  void (*add)(KernelList& list);
};

// Raised whenever kernels that were compiled before would no longer fit.
inline constexpr uint32_t kKernelInterface = 1;
inline constexpr uint32_t kKernelInterfaceSize =
    sizeof(Kernel) + sizeof(KernelArgs) * 256 + sizeof(KernelSpec) * 65536;

// Adds a module's kernels to a validated table, all or none; they are asked before those that are there. Safe beside running
// operators. Throws ValueError for a module that was built for another version, kernels of another device type, and
// unknown operators; each names the module.
void add_kernel_module(const OpTable& table, const KernelModule& module);

// Adds the kernels of the CUDA module to the table, once; the module is loaded if need be. It exports one KernelModule for this folder and
// one for the operators on images, which not every table has. Throws DeviceError where there is no module.
void add_cuda_kernels(const OpTable& table);

// Loads the library, for the life of the process, and adds what it exports. Throws ValueError, too, if it is none.
void load_kernel_module(const OpTable& table, const std::string& path);

}  // namespace loomix::ops
