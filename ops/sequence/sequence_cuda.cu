// SPDX-License-Identifier: Apache-2.0
#include "ops/cuda/arrays.h"
#include "ops/cuda/fill.h"
#include "ops/cuda/index.h"
#include "ops/cuda/report.h"
#include "ops/elemwise/loops.h"
#include "ops/families_cuda.h"
#include "ops/sequence/sequence.h"

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

// The lengths of sequences, the whole axis where none are given. What is not `least` to `time` is reported, and counts as the axis.
struct Lengths {
  AnyArray given;
  bool is_given;
  int64_t least, time;
  int64_t* fault;

  Lengths(const SequenceParams& p, const KernelArgs& args, size_t input, int64_t at_least, int64_t axis,
          int64_t* to_report)
      : is_given(p.use_sequence_length), least(at_least), time(axis), fault(to_report) {
    if (is_given) given = AnyArray(args.in[input]);
  }
  __device__ int64_t operator[](int64_t n) const {
    if (!is_given) return time;
    const int64_t length = given.whole(n);
    if (length >= least && length <= time) return length;
    report(fault);
    return time;
  }
};

template <class T>
__global__ void take_last(int64_t count, Sequences s, Lengths lengths, const T* x, T* y) {
  for (const int64_t i : own_items(count)) {
    const int64_t n = s.inner.quotient(i), length = lengths[n];
    y[i] = length > 0 ? x[s.at(length - 1, {0, n, i - n * s.inner.divisor()})] : T{0};
  }
}

void check_times(const SequenceParams& p, const Sequences& s) {
  LOOMIX_CHECK(p.use_sequence_length || s.time >= 1, ValueError,
               "[SequenceLast] the sequences are empty; expected length 1.");
}

void last_or_raise(const SequenceParams& p, const KernelArgs& args, int64_t* fault) {
  const Sequences s(p, args.in[0].shape);
  check_times(p, s);
  dispatch_bits(args.in[0].dtype, [&]<class T>(Type<T>) {
    launch(take_last<T>, grid_for(args.out[0].size()), stream_of(args), args.out[0].size(), s,
           Lengths(p, args, 1, 1, s.time, fault), static_cast<const T*>(args.in[0].data),
           static_cast<T*>(args.out[0].data));
  });
}

template <class T>
__global__ void put_last(int64_t count, Sequences s, Lengths lengths, const T* grad, T* y) {
  for (const int64_t i : own_items(count)) {
    const Sequences::Place place = s.of(i);
    y[i] = place.t == lengths[place.n] - 1 ? grad[place.n * s.inner.divisor() + place.column] : T{0};
  }
}

void backward_last_or_raise(const SequenceParams& p, const KernelArgs& args, int64_t* fault) {
  const TensorView& y = args.out[0];
  const Sequences s(p, y.shape);
  check_times(p, s);
  dispatch_bits(y.dtype, [&]<class T>(Type<T>) {
    launch(put_last<T>, grid_for(y.size()), stream_of(args), y.size(), s,
           Lengths(p, args, 2, 1, s.time, fault), static_cast<const T*>(args.in[0].data),
           static_cast<T*>(y.data));
  });
}

template <class T>
__global__ void reverse_items(int64_t count, Sequences s, Lengths lengths, const T* x, T* y) {
  for (const int64_t i : own_items(count)) {
    const Sequences::Place place = s.of(i);
    const int64_t length = lengths[place.n];
    y[i] = x[s.at(place.t < length ? length - 1 - place.t : place.t, place)];
  }
}

void reverse_or_raise(const SequenceParams& p, const KernelArgs& args, int64_t* fault) {
  const TensorView& y = args.out[0];
  const Sequences s(p, y.shape);
  dispatch_bits(y.dtype, [&]<class T>(Type<T>) {
    launch(reverse_items<T>, grid_for(y.size()), stream_of(args), y.size(), s,
           Lengths(p, args, 1, 0, s.time, fault), static_cast<const T*>(args.in[0].data),
           static_cast<T*>(y.data));
  });
}

using Checked = void (*)(const SequenceParams&, const KernelArgs&, int64_t*);
template <Checked run>
void without_lengths(const SequenceParams& p, const KernelArgs& args) {
  run(p, args, nullptr);
}

template <size_t kLengths,
          bool kOfOutput>  // where the lengths are, and whether the output has the sequences' shape
void explain_last(const SequenceParams& p, const KernelArgs& args) {
  const Shape& shape = (kOfOutput ? args.out[0] : args.in[0]).shape;
  check_lengths("SequenceLast", shape[1 - p.axis], shape[p.axis], HostCopy(args.in[kLengths]).view(), 1);
}
void explain_reverse(const SequenceParams& p, const KernelArgs& args) {
  const Shape& shape = args.in[0].shape;
  check_lengths("SequenceReverse", shape[1 - p.axis], shape[p.axis], HostCopy(args.in[1]).view(), 0);
}

Support whole_support(const SequenceParams& p, const KernelSpec&) {
  return p.use_sequence_length ? Support::no("a length may be refused") : Support::yes();
}

template <Checked run, auto explain>
void add(KernelList& list, const char* op, const char* name) {
  list.kernel<without_lengths<run>, whole_support>(op, name, DeviceType::gpu);
  add_checked<run, explain>(list, op, name);
}

}  // namespace

void kernels_sequence_cuda(KernelList& list) {
  list.kernel<sequence_mask_cuda>("SequenceMask", "sequence_mask_cuda", DeviceType::gpu);
  add<last_or_raise, explain_last<1, false>>(list, "SequenceLast", "sequence_last_cuda");
  add<backward_last_or_raise, explain_last<2, true>>(list, "_backward_SequenceLast",
                                                     "backward_sequence_last_cuda");
  add<reverse_or_raise, explain_reverse>(list, "SequenceReverse", "sequence_reverse_cuda");
}

}  // namespace loomix::ops
