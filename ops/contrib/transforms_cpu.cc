// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <complex>

#include "base/error.h"
#include "engine/parallel_for.h"
#include "ops/contrib/contrib.h"
#include "ops/elemwise/special.h"
#include "ops/loss/label.h"
#include "ops/scratch_slots.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

constexpr int64_t kElementsPerThread = 8192;

// --- Fourier ----------------------------------------------------------------------------------------------------

template <class T>
using Complex = std::complex<T>;

int64_t smallest_factor(int64_t n) {
  for (int64_t factor = 2; factor * factor <= n; ++factor) {
    if (n % factor == 0) return factor;
  }
  return n;
}

// Cooley and Tukey's transform for any size: n = p m splits into p transforms of size m, each of every p-th element,
// which are joined in groups of p. `roots` holds the `whole` powers of exp(-+2 pi i / whole); `work` as much as `out`.
template <class T>
void transform(const Complex<T>* in, int64_t step, Complex<T>* out, Complex<T>* work, int64_t n,
               const Complex<T>* roots, int64_t whole) {
  if (n == 1) {
    out[0] = in[0];
    return;
  }
  const int64_t p = smallest_factor(n), m = n / p;
  for (int64_t r = 0; r < p; ++r) transform(in + r * step, step * p, out + r * m, work, m, roots, whole);
  const int64_t stride = whole / n;
  for (int64_t k = 0; k < n; ++k) {
    Complex<T> sum = out[k % m];
    for (int64_t r = 1; r < p; ++r) sum += out[r * m + k % m] * roots[r * k % n * stride];
    work[k] = sum;
  }
  std::copy_n(work, n, out);
}

struct FourierSizes {
  int64_t vectors, size;
  FourierSizes(const Shape& real)
      : vectors(real.size_between(0, real.ndim() - 1)), size(real[real.ndim() - 1]) {}
  // The roots, once; a vector, its transform and room to work in, for each thread.
  size_t vector_bytes(DType dtype) const { return static_cast<size_t>(2 * size_of(dtype) * size); }
  size_t roots_bytes(DType dtype) const { return aligned(vector_bytes(dtype)); }
  size_t slot_bytes(DType dtype) const { return aligned(3 * vector_bytes(dtype)); }
};

// load(vector, i) gives an element, store(vector, result) takes the transform.
template <class T, class Load, class Store>
void transform_all(const KernelArgs& args, const FourierSizes& s, double sign, Load&& load, Store&& store) {
  auto* roots = reinterpret_cast<Complex<T>*>(args.scratch.data());
  for (int64_t i = 0; i < s.size; ++i) {
    const double angle = sign * 2 * special::kPi * double(i) / double(s.size);
    roots[i] = {static_cast<T>(std::cos(angle)), static_cast<T>(std::sin(angle))};
  }
  const DType dtype = dtype_of<T>();
  ScratchSlots slots(args.scratch.subspan(s.roots_bytes(dtype)), s.slot_bytes(dtype),
                     slots_for(args.context->cores));
  const int64_t grain = kElementsPerThread / s.size;
  engine::parallel_for(*args.context, s.vectors, grain, [&](int64_t begin, int64_t end) {
    const ScratchSlots::Use memory(slots);
    auto* in = memory.template as<Complex<T>>();
    for (int64_t v = begin; v < end; ++v) {
      for (int64_t i = 0; i < s.size; ++i) in[i] = load(v, i);
      transform<T>(in, 1, in + s.size, in + 2 * s.size, s.size, roots, s.size);
      store(v, in + s.size);
    }
  });
}

// --- count sketch -----------------------------------------------------------------------------------------------

// Calls fn(row, hash) for each row of an array with `size` elements a row; the hashes are checked first.
template <class Fn>
void each_row(const CountSketchParams& p, const KernelArgs& args, int64_t rows, int64_t size, Fn&& fn) {
  check_sketch_places(p, args.in[1], size);
  const Labels hash(args.in[1]);
  engine::parallel_each(*args.context, rows, kElementsPerThread / std::max<int64_t>(1, size),
                        [&](int64_t row) { fn(row, hash); });
}

size_t fft_scratch(const KernelSpec& spec) {
  const bool forward = spec.in[0].size() <= spec.out[0].size();
  const FourierSizes s(forward ? spec.in[0].shape : spec.out[0].shape);
  const DType dtype = spec.in[0].dtype;
  return s.roots_bytes(dtype) + s.slot_bytes(dtype) * static_cast<size_t>(slots_for(spec.cores));
}

void fft_cpu(const KernelArgs& args) {
  const FourierSizes s(args.in[0].shape);
  dispatch_real(args.in[0].dtype, "fft", [&]<class T>(Type<T>) {
    const T* in = args.in[0].as<T>();
    T* out = args.out[0].mutable_as<T>();
    transform_all<T>(
        args, s, -1, [&](int64_t v, int64_t i) { return Complex<T>(in[v * s.size + i]); },
        [&](int64_t v, const Complex<T>* result) {
          for (int64_t i = 0; i < s.size; ++i) {
            out[2 * (v * s.size + i)] = result[i].real();
            out[2 * (v * s.size + i) + 1] = result[i].imag();
          }
        });
  });
}

void ifft_cpu(const KernelArgs& args) {
  const FourierSizes s(args.out[0].shape);
  dispatch_real(args.in[0].dtype, "ifft", [&]<class T>(Type<T>) {
    const T* in = args.in[0].as<T>();
    T* out = args.out[0].mutable_as<T>();
    transform_all<T>(
        args, s, 1,
        [&](int64_t v, int64_t i) {
          const T* pair = in + 2 * (v * s.size + i);
          return Complex<T>(pair[0], pair[1]);
        },
        [&](int64_t v, const Complex<T>* result) {
          for (int64_t i = 0; i < s.size; ++i) out[v * s.size + i] = result[i].real();
        });
  });
}

void count_sketch_cpu(const CountSketchParams& p, const KernelArgs& args) {
  dispatch_real(args.out[0].dtype, "count_sketch", [&]<class T>(Type<T>) {
    const T* in = args.in[0].as<T>();
    const T* sign = args.in[2].as<T>();
    T* out = args.out[0].mutable_as<T>();
    const int64_t size = args.in[2].size();
    each_row(p, args, args.out[0].size() / p.out_dim, size, [&](int64_t row, const Labels& hash) {
      T* to = out + row * p.out_dim;
      std::fill_n(to, p.out_dim, T{0});
      for (int64_t i = 0; i < size; ++i) to[hash[i]] += sign[i] * in[row * size + i];
    });
  });
}

void backward_count_sketch_cpu(const CountSketchParams& p, const KernelArgs& args) {
  dispatch_real(args.out[0].dtype, "count_sketch", [&]<class T>(Type<T>) {
    const T* grad = args.in[0].as<T>();
    const T* sign = args.in[2].as<T>();
    T* out = args.out[0].mutable_as<T>();
    const int64_t size = args.in[2].size();
    each_row(p, args, args.in[0].size() / p.out_dim, size, [&](int64_t row, const Labels& hash) {
      for (int64_t i = 0; i < size; ++i) {
        out[row * size + i] = sign[i] * grad[row * p.out_dim + hash[i]];
      }
    });
  });
}

void khatri_rao_cpu(const KernelArgs& args) {
  dispatch_floating(args.out[0].dtype, "khatri_rao", [&]<class T>(Type<T>) {
    T* out = args.out[0].mutable_as<T>();
    const int64_t rows = args.out[0].shape[0], columns = args.out[0].shape[1];
    engine::parallel_each(*args.context, rows, kElementsPerThread / columns, [&](int64_t row) {
      for (int64_t j = 0; j < columns; ++j) {
        Accum<T> product = 1;
        int64_t rest = row;
        for (size_t i = args.in.size(); i-- > 0;) {
          const int64_t size = args.in[i].shape[0];
          product *= static_cast<Accum<T>>(args.in[i].as<T>()[rest % size * columns + j]);
          rest /= size;
        }
        out[row * columns + j] = static_cast<T>(product);
      }
    });
  });
}

}  // namespace

void check_sketch_places(const CountSketchParams& p, const TensorView& hashes, int64_t size) {
  const Labels hash(hashes);
  for (int64_t i = 0; i < size; ++i) {
    LOOMIX_CHECK(hash[i] >= 0 && hash[i] < p.out_dim, IndexError,
                 "[_contrib_count_sketch] h[{}] is {}; expected 0 to {}.", i, hash[i], p.out_dim - 1);
  }
}

void kernels_contrib_transforms(OpTable& table) {
  table.kernel<khatri_rao_cpu>("khatri_rao", "khatri_rao_cpu");
  table.kernel<count_sketch_cpu>("_contrib_count_sketch", "count_sketch_cpu");
  table.kernel<fft_cpu, fft_scratch>("_contrib_fft", "fft_cpu");
  table.kernel<ifft_cpu, fft_scratch>("_contrib_ifft", "ifft_cpu");
}

void gradients_contrib_transforms(OpTable& table) {
  table.kernel<backward_count_sketch_cpu>("_backward_count_sketch", "backward_count_sketch_cpu");
}

}  // namespace loomix::ops
