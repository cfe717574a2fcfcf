// SPDX-License-Identifier: Apache-2.0
#include <cufft.h>

#include <mutex>

#include "base/error.h"
#include "ops/cuda/fft.h"

namespace loomix::cuda {
namespace {

void check(cufftResult status, const char* what) {
  if (status == CUFFT_SUCCESS) [[likely]]
    return;
  detail::throw_error<DeviceError>("[cuda] {} by cuFFT failed: status {}.", what, static_cast<int>(status));
}

class Plan final : public FftPlan {
 public:
  Plan(DType dtype, int64_t size, int64_t batch) : wide_(dtype == DType::float64) {
    check(cufftCreate(&plan_), "making a plan");
    check(cufftSetAutoAllocation(plan_, 0), "setting a plan");
    long long length = size;
    check(cufftMakePlanMany64(plan_, 1, &length, nullptr, 1, length, nullptr, 1, length,
                              wide_ ? CUFFT_Z2Z : CUFFT_C2C, batch, &workspace_bytes),
          "making a plan");
  }
  ~Plan() override { cufftDestroy(plan_); }

  // A plan holds its stream and workspace, so runs take turns.
  void run(const void* x, void* y, bool inverse, void* workspace, cudaStream_t stream) const override {
    const std::lock_guard lock(mutex_);
    check(cufftSetStream(plan_, stream), "setting a plan's stream");
    check(cufftSetWorkArea(plan_, workspace), "setting a plan's workspace");
    const int direction = inverse ? CUFFT_INVERSE : CUFFT_FORWARD;
    void* const from = const_cast<void*>(x);  // not written to by transforms between complex numbers
    if (wide_) {
      check(cufftExecZ2Z(plan_, static_cast<cufftDoubleComplex*>(from), static_cast<cufftDoubleComplex*>(y),
                         direction),
            "a Fourier transform");
    } else {
      check(cufftExecC2C(plan_, static_cast<cufftComplex*>(from), static_cast<cufftComplex*>(y), direction),
            "a Fourier transform");
    }
  }

 private:
  const bool wide_;
  cufftHandle plan_ = 0;
  mutable std::mutex mutex_;
};

}  // namespace

std::unique_ptr<FftPlan> plan_fft(DType dtype, int64_t size, int64_t batch) {
  return std::make_unique<Plan>(dtype, size, batch);
}

}  // namespace loomix::cuda
