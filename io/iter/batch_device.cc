// SPDX-License-Identifier: Apache-2.0
#include "io/iter/batch_device.h"

#include "engine/device/device_runtime.h"

namespace loomix::io {

Device batch_device(const BatchTarget& target) {
  if (target.ctx != "gpu" || target.device_id < 0 || !engine::gpus_in_use()) return Device::cpu();
  return {DeviceType::cpu_pinned, static_cast<int16_t>(target.device_id)};
}

}  // namespace loomix::io
