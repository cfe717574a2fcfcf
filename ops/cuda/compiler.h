// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

// Kernels that are compiled when a program runs, for the devices that are there. What was compiled is kept in a folder of
// cache_folder(), by source, architecture and version of the compiler.
namespace loomix::cuda {

// Loaded for every device. It stays for the life of the process, since graphs that were captured may hold it: one for each source.
class MadeKernel;

// The kernel `made_kernel` of the source, which takes one struct, called Arguments there. Null where there is no compiler, or where it
// fails, which is warned of once. May take some tenths of a second. Safe on several threads.
const MadeKernel* made_kernel(const std::string& source);

// Puts it onto the stream, by a grid of one axis.
void launch_made(const MadeKernel& kernel, int64_t blocks, int threads, void* stream, const void* arguments,
                 size_t bytes);

// What the compiler does, in compiler_nvrtc.cc, or for the stand-in in tests/standin/. All but the first throw DeviceError.
namespace compiler {
std::string version();                                             // "": there is none
std::string compile(const std::string& source, int architecture);  // 90 for 9.0; the binary
void* load(const std::string& binary);                             // the kernel
void launch(void* kernel, int64_t blocks, int threads, void* stream, const void* arguments, size_t bytes);
}  // namespace compiler

}  // namespace loomix::cuda
