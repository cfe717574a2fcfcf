// SPDX-License-Identifier: Apache-2.0
#include "comm/process_group.h"

#include "comm/device_group.h"

#include "base/error.h"
#include "engine/device/device_runtime.h"

namespace loomix::comm {

const char* name_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum: return "sum";
    case Reduction::product: return "product";
    case Reduction::minimum: return "minimum";
    case Reduction::maximum: return "maximum";
  }
  return "unknown reduction";
}

namespace {

template <class Module>
const Module& load(const char* library, const char* symbol, const char* hint) {
  const Module* found = nullptr;
  try {
    found = static_cast<const Module*>(engine::load_module_symbol(library, symbol, hint));
  } catch (const DeviceError& error) {
    throw NetworkError(error.what());
  }
  LOOMIX_CHECK(
      found->interface_version == kGroupModuleVersion, NetworkError,
      "[comm] lib{}.so was built for another version of Loomix (interface {}, not {}); install both from the "
      "same build.",
      library, found->interface_version, kGroupModuleVersion);
  return *found;
}

const MpiModule& mpi() {
  static const MpiModule& module = load<MpiModule>(
      "loomix_mpi", "loomix_mpi_module", "MPI groups need a build with MPI (libopenmpi-dev, openmpi-bin)");
  return module;
}

const NcclModule& nccl() {
  static const NcclModule& module = load<NcclModule>("loomix_cuda", "loomix_nccl_module",
                                                     "stores between GPUs need a build with CUDA and NCCL");
  return module;
}

template <class Module>
bool loads(const Module& (*module)()) noexcept {
  try {
    module();
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::unique_ptr<ProcessGroup> make_mpi_group(const GroupOptions& options, uintptr_t communicator) {
  return mpi().open(options, communicator);
}
bool has_mpi_module() noexcept { return loads(mpi); }

std::string make_nccl_id() { return nccl().make_id(); }
std::vector<std::unique_ptr<DeviceGroup>> make_nccl_groups(const std::string& id, int first, int size,
                                                           std::span<const Device> devices,
                                                           GroupDeadline deadline) {
  return nccl().open(id, first, size, devices, deadline);
}
bool has_nccl_module() noexcept { return loads(nccl); }
void require_nccl_module() { nccl(); }

}  // namespace loomix::comm
