// SPDX-License-Identifier: Apache-2.0
#include "ops/cuda/arrays.h"
#include "ops/cuda/fill.h"
#include "ops/cuda/index.h"
#include "ops/cuda/stream.h"
#include "ops/elemwise/loops.h"
#include "ops/families_cuda.h"
#include "ops/sequence/sequence.h"

// Lengths that SequenceLast and SequenceReverse refuse are looked for on the host, so these run there where lengths are given.
namespace loomix::ops {
namespace {

using namespace cuda;

// (time, batch, inner) or (batch, time, inner).
struct Sequences {
  Divider inner, second;
  int64_t time;
  bool time_first;
  int64_t time_step, batch_step;

  Sequences(const SequenceParams& p, const Shape& data)
      : inner(data.size_between(2, data.ndim())),
        second(data[1]),
        time(data[p.axis]),
        time_first(p.axis == 0),
        time_step(inner.divisor() * (time_first ? data[1] : 1)),
        batch_step(inner.divisor() * (time_first ? 1 : data[1])) {}
  struct Place {
    int64_t t, n, column;
  };
  __device__ Place of(int64_t i) const {
    const int64_t row = inner.quotient(i);
    const int64_t first = second.quotient(row);
    const int64_t other = row - first * second.divisor();
    return {time_first ? first : other, time_first ? other : first, i - row * inner.divisor()};
  }
  __device__ int64_t at(int64_t t, const Place& place) const {
    return t * time_step + place.n * batch_step + place.column;
  }
};

template <class T>
__global__ void mask_items(int64_t count, Sequences s, AnyArray lengths, T value, const T* x, T* y) {
  for (const int64_t i : own_items(count)) {
    const Sequences::Place place = s.of(i);
    y[i] = place.t >= lengths.whole(place.n) ? value : x[i];
  }
}

// A length beyond the axis masks nothing, as in MXNet.
void sequence_mask_cuda(const SequenceMaskParams& p, const KernelArgs& args) {
  const TensorView& x = args.in[0];
  const TensorView& y = args.out[0];
  if (!p.use_sequence_length) return convert_array(x, y, stream_of(args));
  const Number value(p.value, y.dtype);
  dispatch_bits(y.dtype, [&]<class T>(Type<T>) {
    T bits;
    __builtin_memcpy(&bits, value.bytes, sizeof(T));
    launch(mask_items<T>, grid_for(y.size()), stream_of(args), y.size(), Sequences(p, x.shape),
           AnyArray(args.in[1]), bits, static_cast<const T*>(x.data), static_cast<T*>(y.data));
  });
}

template <class T>
__global__ void take_last(int64_t count, Sequences s, const T* x, T* y) {
  for (const int64_t i : own_items(count)) {
    const int64_t n = s.inner.quotient(i);
    y[i] = x[s.at(s.time - 1, {0, n, i - n * s.inner.divisor()})];
  }
}

void check_times(const Sequences& s) {
  LOOMIX_CHECK(s.time >= 1, ValueError, "[SequenceLast] the sequences are empty; expected length 1.");
}

void sequence_last_cuda(const SequenceParams& p, const KernelArgs& args) {
  const Sequences s(p, args.in[0].shape);
  check_times(s);
  dispatch_bits(args.in[0].dtype, [&]<class T>(Type<T>) {
    launch(take_last<T>, grid_for(args.out[0].size()), stream_of(args), args.out[0].size(), s,
           static_cast<const T*>(args.in[0].data), static_cast<T*>(args.out[0].data));
  });
}

template <class T>
__global__ void put_last(int64_t count, Sequences s, const T* grad, T* y) {
  for (const int64_t i : own_items(count)) {
    const Sequences::Place place = s.of(i);
    y[i] = place.t == s.time - 1 ? grad[place.n * s.inner.divisor() + place.column] : T{0};
  }
}

void backward_sequence_last_cuda(const SequenceParams& p, const KernelArgs& args) {
  const TensorView& y = args.out[0];
  const Sequences s(p, y.shape);
  check_times(s);
  dispatch_bits(y.dtype, [&]<class T>(Type<T>) {
    launch(put_last<T>, grid_for(y.size()), stream_of(args), y.size(), s,
           static_cast<const T*>(args.in[0].data), static_cast<T*>(y.data));
  });
}

template <class T>
__global__ void reverse_items(int64_t count, Sequences s, const T* x, T* y) {
  for (const int64_t i : own_items(count)) {
    const Sequences::Place place = s.of(i);
    y[i] = x[s.at(s.time - 1 - place.t, place)];
  }
}

void sequence_reverse_cuda(const SequenceParams& p, const KernelArgs& args) {
  const TensorView& y = args.out[0];
  dispatch_bits(y.dtype, [&]<class T>(Type<T>) {
    launch(reverse_items<T>, grid_for(y.size()), stream_of(args), y.size(), Sequences(p, y.shape),
           static_cast<const T*>(args.in[0].data), static_cast<T*>(y.data));
  });
}

Support whole_support(const SequenceParams& p, const KernelSpec&) {
  return p.use_sequence_length ? Support::no("it looks at the lengths first") : Support::yes();
}

}  // namespace

void kernels_sequence_cuda(KernelList& list) {
  constexpr DeviceType gpu = DeviceType::gpu;
  list.kernel<sequence_mask_cuda>("SequenceMask", "sequence_mask_cuda", gpu);
  list.kernel<sequence_last_cuda, whole_support>("SequenceLast", "sequence_last_cuda", gpu);
  list.kernel<backward_sequence_last_cuda, whole_support>("_backward_SequenceLast",
                                                          "backward_sequence_last_cuda", gpu);
  list.kernel<sequence_reverse_cuda, whole_support>("SequenceReverse", "sequence_reverse_cuda", gpu);
}

}  // namespace loomix::ops
