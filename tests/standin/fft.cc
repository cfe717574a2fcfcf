// SPDX-License-Identifier: Apache-2.0
#include "ops/cuda/fft.h"

#include <cmath>
#include <complex>
#include <cstring>
#include <vector>

#include "ops/elemwise/special.h"
#include "tests/standin/stream.h"

// ops/cuda/fft.h by its definition. The workspace is written to, as a transform would use it.
namespace loomix::cuda {
namespace {

constexpr size_t kBytes = 64;

template <class T>
void transform(const std::complex<T>* x, std::complex<T>* y, int64_t size, double sign) {
  std::vector<std::complex<double>> sums(static_cast<size_t>(size));
  for (int64_t k = 0; k < size; ++k) {
    for (int64_t i = 0; i < size; ++i) {
      const double angle =
          sign * 2 * ops::special::kPi * static_cast<double>(k * i % size) / static_cast<double>(size);
      sums[static_cast<size_t>(k)] += std::complex<double>(x[i]) * std::polar(1.0, angle);
    }
  }
  for (int64_t k = 0; k < size; ++k) y[k] = std::complex<T>(sums[static_cast<size_t>(k)]);
}

class LoopPlan final : public FftPlan {
 public:
  LoopPlan(DType dtype, int64_t size, int64_t batch) : dtype_(dtype), size_(size), batch_(batch) {
    workspace_bytes = kBytes;
  }
  void run(const void* x, void* y, bool inverse, void* workspace, cudaStream_t stream) const override {
    standin::put_on(stream, [=, dtype = dtype_, size = size_, batch = batch_] {
      std::memset(workspace, 0x5a, kBytes);
      dispatch_real(dtype, "fft", [&]<class T>(Type<T>) {
        const auto* const from = static_cast<const std::complex<T>*>(x);
        auto* const to = static_cast<std::complex<T>*>(y);
        for (int64_t i = 0; i < batch; ++i) transform(from + i * size, to + i * size, size, inverse ? 1 : -1);
      });
    });
  }

 private:
  const DType dtype_;
  const int64_t size_, batch_;
};

}  // namespace

std::unique_ptr<FftPlan> plan_fft(DType dtype, int64_t size, int64_t batch) {
  return std::make_unique<LoopPlan>(dtype, size, batch);
}

}  // namespace loomix::cuda
