// SPDX-License-Identifier: Apache-2.0
#include "ndarray/device_moves.h"

#include "base/error.h"
#include "engine/device/device_runtime.h"

namespace loomix {

const DeviceMoves& device_moves(Device device) {
  LOOMIX_CHECK(device.type == DeviceType::gpu, NotImplementedError,
               "[copy] moving or converting elements within {}; copy through the host.", device.to_string());
  static const auto& moves = *static_cast<const DeviceMoves*>(engine::load_module_symbol(
      "loomix_cuda", "loomix_cuda_moves", "Arrays on GPUs need the CUDA module of this Loomix"));
  return moves;
}

}  // namespace loomix
