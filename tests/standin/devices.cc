// SPDX-License-Identifier: Apache-2.0
//
// What CUDA's runtime says of devices and of itself, for cuda_runtime.cc.
#include <cuda_runtime_api.h>

namespace {

constexpr int kDevices = 3;
thread_local int current_device = 0;

int driver_version = CUDART_VERSION;  // see loomix_standin_set_driver()

}  // namespace

extern "C" {

// For tests, before the first use of a device.
void loomix_standin_set_driver(int version) { driver_version = version; }
cudaError_t cudaDriverGetVersion(int* version) {
  *version = driver_version;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  const bool too_old = driver_version < CUDART_VERSION;
  *count = too_old ? 0 : kDevices;
  return too_old ? cudaErrorInsufficientDriver : cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= kDevices) return cudaErrorInvalidDevice;
  current_device = device;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount: *value = 4; break;  // few, so that kernels take turns
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = 227 * 1024; break;
    case cudaDevAttrComputeCapabilityMajor: *value = 9; break;
    case cudaDevAttrComputeCapabilityMinor: *value = 0; break;
    default: return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

}  // extern "C"
