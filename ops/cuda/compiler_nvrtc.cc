// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <string_view>
#include <vector>

#include "base/error.h"
#include "ops/cuda/compiler.h"
#include "ops/cuda/embedded.h"

// NVRTC, which is loaded when the first chain is compiled: nothing else needs it.
namespace loomix::cuda::compiler {
namespace {

using Program = void*;

struct Nvrtc {
  int (*version)(int*, int*) = nullptr;
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*cubin_size)(Program, size_t*) = nullptr;
  int (*cubin)(Program, char*) = nullptr;
  int (*log_size)(Program, size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  bool is_there = false;

  Nvrtc() {
    void* const library = dlopen("libnvrtc.so.13", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    is_there = take(library, "nvrtcVersion", version) && take(library, "nvrtcCreateProgram", create) &&
               take(library, "nvrtcCompileProgram", compile) &&
               take(library, "nvrtcGetCUBINSize", cubin_size) && take(library, "nvrtcGetCUBIN", cubin) &&
               take(library, "nvrtcGetProgramLogSize", log_size) &&
               take(library, "nvrtcGetProgramLog", log) && take(library, "nvrtcDestroyProgram", destroy);
  }
  template <class Function>
  static bool take(void* library, const char* name, Function& to) {
    to = reinterpret_cast<Function>(dlsym(library, name));
    return to != nullptr;
  }
};

const Nvrtc& nvrtc() {
  static const Nvrtc& library = *new Nvrtc;
  return library;
}

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();
  throw DeviceError(fmt::format("[cuda] {} failed: {}.", what, cudaGetErrorString(status)));
}

}  // namespace

std::string version() {
  int major = 0, minor = 0;
  if (!nvrtc().is_there || nvrtc().version(&major, &minor) != 0) return "";
  std::string all;
  for (const EmbeddedSource& source : kEmbeddedSources) all += source.text;
  return fmt::format("nvrtc {}.{} {:x}", major, minor, std::hash<std::string>()(all));
}

std::string compile(const std::string& source, int architecture) {
  std::vector<const char*> names, texts;
  for (const EmbeddedSource& embedded : kEmbeddedSources) {
    names.push_back(embedded.name);
    texts.push_back(embedded.text);
  }
  for (const char* name :
       {"cmath", "concepts", "cstdint", "limits", "type_traits", "cuda_fp16.h", "base/dtype.h"}) {
    names.push_back(name);
    texts.push_back("#include \"ops/cuda/nvrtc/standard.h\"\n");
  }
  Program program = nullptr;
  if (nvrtc().create(&program, source.c_str(), "chain.cu", static_cast<int>(names.size()), texts.data(),
                     names.data()) != 0)
    throw DeviceError("[nvrtc] it made no program.");
  const std::string arch = fmt::format("--gpu-architecture=sm_{}", architecture);
  const char* const options[] = {arch.c_str(), "--std=c++20", "--device-as-default-execution-space"};
  const int status = nvrtc().compile(program, static_cast<int>(std::size(options)), options);
  std::string result;
  size_t bytes = 0;
  if (status == 0) {
    nvrtc().cubin_size(program, &bytes);
    result.resize(bytes);
    nvrtc().cubin(program, result.data());
  } else {
    nvrtc().log_size(program, &bytes);
    result.resize(bytes);
    nvrtc().log(program, result.data());
  }
  nvrtc().destroy(&program);
  if (status != 0) throw DeviceError(fmt::format("[nvrtc] {}", result.c_str()));
  return result;
}

void* load(const std::string& binary) {
  cudaLibrary_t library = nullptr;
  cudaKernel_t kernel = nullptr;
  check(cudaLibraryLoadData(&library, binary.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
        "loading a compiled chain");
  check(cudaLibraryGetKernel(&kernel, library, "made_kernel"), "finding a compiled chain");
  return kernel;
}

void launch(void* kernel, int64_t blocks, int threads, void* stream, const void* arguments, size_t) {
  void* pointers[] = {const_cast<void*>(arguments), nullptr};
  check(cudaLaunchKernel(kernel, dim3(static_cast<unsigned>(blocks)), dim3(static_cast<unsigned>(threads)),
                         pointers, 0, static_cast<cudaStream_t>(stream)),
        "the launch of a compiled chain");
}

}  // namespace loomix::cuda::compiler
