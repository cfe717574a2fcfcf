// SPDX-License-Identifier: Apache-2.0
#include "ops/contrib/contrib.h"
#include "ops/cuda/fft.h"
#include "ops/cuda/stream.h"
#include "ops/families_cuda.h"
#include "ops/scratch_slots.h"

namespace loomix::ops {
namespace {

using namespace cuda;

template <class T>
struct WithImaginary {
  const T* real;
  T* pairs;
  __device__ void operator()(int64_t i) const {
    pairs[2 * i] = real[i];
    pairs[2 * i + 1] = 0;
  }
};
template <class T>
struct RealParts {
  const T* pairs;
  T* real;
  __device__ void operator()(int64_t i) const { real[i] = pairs[2 * i]; }
};

// A vector for each row of real numbers; those of fft are its input, those of ifft its output.
template <bool inverse>
class FftCuda final : public KernelState {
 public:
  FftCuda(const FftParams&, const KernelSpec& spec) {
    const Shape& real = inverse ? spec.out[0].shape : spec.in[0].shape;
    const int64_t size = real[real.ndim() - 1];
    if (real.size() > 0) plan_ = plan_fft(spec.in[0].dtype, size, real.size() / size);
    pairs_bytes_ = inverse ? aligned(static_cast<size_t>(spec.in[0].bytes())) : 0;
    scratch_bytes = pairs_bytes_ + (plan_ ? plan_->workspace_bytes : 0);
  }

  void run(const FftParams&, const KernelArgs& args) const {
    const TensorView &x = args.in[0], &y = args.out[0];
    const cudaStream_t stream = stream_of(args);
    void* const workspace = args.scratch.data() + pairs_bytes_;
    dispatch_real(x.dtype, "fft", [&]<class T>(Type<T>) {
      if constexpr (inverse) {
        T* const pairs = reinterpret_cast<T*>(args.scratch.data());
        plan_->run(x.data, pairs, true, workspace, stream);
        launch_each(stream, y.size(), RealParts<T>{pairs, y.mutable_as<T>()});
      } else {
        launch_each(stream, x.size(), WithImaginary<T>{x.as<T>(), y.mutable_as<T>()});
        plan_->run(y.data, y.data, false, workspace, stream);
      }
    });
  }

 private:
  std::unique_ptr<FftPlan> plan_;
  size_t pairs_bytes_ = 0;
};

}  // namespace

void kernels_fft_cuda(KernelList& list) {
  list.prepared_kernel<FftParams, FftCuda<false>>("_contrib_fft", "fft_cufft", DeviceType::gpu);
  list.prepared_kernel<FftParams, FftCuda<true>>("_contrib_ifft", "ifft_cufft", DeviceType::gpu);
}

}  // namespace loomix::ops
