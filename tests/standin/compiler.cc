// SPDX-License-Identifier: Apache-2.0
//
// NVRTC's place: the host's compiler, which makes a library of the same source. It takes a second a chain, so it is there only where a
// test says so: by a file standin_compiler in cache_folder(), whose first line is the command.
#include "ops/cuda/compiler.h"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/error.h"
#include "base/settings.h"
#include "tests/standin/device.h"

namespace loomix::cuda::compiler {
namespace {

namespace fs = std::filesystem;
using Entry = void (*)(const void*);

std::string command() {
  std::string line;
  std::ifstream file(fs::path(cache_folder()) / "standin_compiler");
  std::getline(file, line);
  return line;
}

std::string own_file() {
  Dl_info info{};
  dladdr(reinterpret_cast<const void*>(&own_file), &info);
  return info.dli_fname;
}

std::string temporary(const char* ending) {
  static std::atomic<int> made{0};
  return (fs::path(cache_folder()) / fmt::format("{}_{}{}", getpid(), made.fetch_add(1), ending)).string();
}

}  // namespace

std::string version() {
  const std::string own = command();
  return own.empty() ? "" : "stand-in: " + own;
}

std::string compile(const std::string& source, int) {
  const std::string from = temporary(".cc"), to = temporary(".so");
  std::ofstream(from) << source
                      << "extern \"C\" void made_kernel_of(const void* arguments) {\n"
                         "  made_kernel(*static_cast<const Arguments*>(arguments));\n}\n";
  const std::string call = fmt::format("{} -o {} {} {}", command(), to, from, own_file());
  if (std::system(call.c_str()) != 0) throw DeviceError(fmt::format("[stand-in] failed: {}", call));
  std::ifstream file(to, std::ios::binary);
  std::string binary{std::istreambuf_iterator<char>(file), {}};
  fs::remove(to);
  return binary;
}

void* load(const std::string& binary) {
  const std::string file = temporary(".so");
  std::ofstream(file, std::ios::binary) << binary;
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  fs::remove(file);
  void* const entry = library == nullptr ? nullptr : dlsym(library, "made_kernel_of");
  if (entry == nullptr) throw DeviceError(fmt::format("[stand-in] {}", dlerror()));
  return entry;
}

void launch(void* kernel, int64_t blocks, int threads, void* stream, const void* arguments, size_t bytes) {
  const auto* const from = static_cast<const std::byte*>(arguments);
  standin::put_grid(static_cast<cudaStream_t>(stream), dim3(static_cast<unsigned>(blocks)),
                    dim3(static_cast<unsigned>(threads)),
                    [entry = reinterpret_cast<Entry>(kernel),
                     own = std::vector<std::byte>(from, from + bytes)] { entry(own.data()); });
}

}  // namespace loomix::cuda::compiler
