// SPDX-License-Identifier: Apache-2.0
#include "ops/cuda/compiler.h"

#include <cuda_runtime_api.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/settings.h"
#include "ndarray/byte_source.h"

namespace loomix::cuda {

class MadeKernel {
 public:
  std::vector<void*> by_device;
};

namespace {

namespace fs = std::filesystem;

uint64_t hashed(std::string_view text, uint64_t hash) {  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}
constexpr uint64_t kSeed = 0xcbf29ce484222325u, kOtherSeed = 0x9e3779b97f4a7c15u;

// A file has a mark, a hash of the binary, and the binary. One that is damaged counts as missing.
constexpr std::string_view kMark = "loomix kernel 1\n";

std::string header_of(std::string_view binary) {
  return std::string(kMark) + fmt::format("{:016x}\n", hashed(binary, kSeed));
}

fs::path file_for(const std::string& key) {
  const std::string folder = cache_folder();
  if (folder.empty()) return {};
  return fs::path(folder) / "kernels" /
         fmt::format("{:016x}{:016x}.bin", hashed(key, kSeed), hashed(key, kOtherSeed));
}

std::string read_kept(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  const size_t header = header_of("").size();
  if (bytes.size() <= header) return "";
  std::string binary = bytes.substr(header);
  return bytes.starts_with(header_of(binary)) ? binary : "";
}

// Where the folder cannot be written, the next process compiles again.
void keep(const fs::path& file, const std::string& binary) {
  std::error_code failed;
  fs::create_directories(file.parent_path(), failed);
  if (failed) return;
  try {
    write_file_whole(file.string(), header_of(binary) + binary);
  } catch (const std::exception& error) {
    explain_once("fuse", error.what());
  }
}

void* kernel_for(const std::string& source, const std::string& version, int architecture) {
  const fs::path file = file_for(fmt::format("{}\n{}\n{}", version, architecture, source));
  if (!file.empty()) {
    if (const std::string binary = read_kept(file); !binary.empty()) return compiler::load(binary);
  }
  const std::string binary = compiler::compile(source, architecture);
  if (!file.empty()) keep(file, binary);
  return compiler::load(binary);
}

std::unique_ptr<MadeKernel> make(const std::string& source, const std::string& version) {
  auto made = std::make_unique<MadeKernel>();
  std::map<int, void*> by_architecture;
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess) devices = 0;
  for (int device = 0; device < devices; ++device) {
    int major = 0, minor = 0;
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
    void*& kernel = by_architecture[10 * major + minor];
    if (kernel == nullptr) kernel = kernel_for(source, version, 10 * major + minor);
    made->by_device.push_back(kernel);
  }
  return made;
}

}  // namespace

const MadeKernel* made_kernel(const std::string& source) {
  static std::mutex mutex;
  static auto& kernels = *new std::map<std::string, std::unique_ptr<MadeKernel>, std::less<>>;
  static const std::string& version = *new std::string(compiler::version());
  if (version.empty()) return nullptr;
  const std::lock_guard lock(mutex);
  const auto [place, is_new] = kernels.try_emplace(source);
  if (!is_new) return place->second.get();
  try {
    place->second = make(source, version);
  } catch (const std::exception& error) {
    static std::once_flag warned;
    std::call_once(warned, [&] {
      log(LogLevel::warning, "[cuda] a chain of operators runs one by one, since it was not compiled: {}",
          error.what());
    });
  }
  return place->second.get();
}

void launch_made(const MadeKernel& kernel, int64_t blocks, int threads, void* stream, const void* arguments,
                 size_t bytes) {
  int device = 0;
  cudaGetDevice(&device);
  compiler::launch(kernel.by_device.at(static_cast<size_t>(device)), blocks, threads, stream, arguments,
                   bytes);
}

}  // namespace loomix::cuda
