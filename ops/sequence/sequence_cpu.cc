// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.h"
#include "engine/parallel_for.h"
#include "ops/loss/label.h"
#include "ops/sequence/sequence.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

constexpr int64_t kElementsPerThread = 16384;

// (time, batch, inner) or (batch, time, inner).
struct Sequences {
  int64_t time, batch, inner, time_step, batch_step;
  Sequences(const SequenceParams& p, const Shape& data)
      : time(data[p.axis]),
        batch(data[1 - p.axis]),
        inner(data.size_between(2, data.ndim())),
        time_step(p.axis == 0 ? batch * inner : inner),
        batch_step(p.axis == 0 ? inner : time * inner) {}
  int64_t offset(int64_t t, int64_t n) const { return t * time_step + n * batch_step; }
};

// The lengths as whole numbers, each at least `least` and at most the axis.
class Lengths {
 public:
  Lengths(const char* who, const SequenceParams& p, const Sequences& s, const TensorView* view, int64_t least)
      : time_(s.time) {
    if (!p.use_sequence_length) {
      LOOMIX_CHECK(s.time >= least || s.batch == 0, ValueError,
                   "[{}] the sequences are empty; expected length 1.", who);
      return;
    }
    labels_.emplace(*view);
    check_lengths(who, s.batch, s.time, *view, least);
  }
  int64_t operator[](int64_t n) const { return labels_ ? (*labels_)[n] : time_; }

 private:
  int64_t time_;
  std::optional<Labels> labels_;
};

// Calls fn(n) for each sequence, in parallel where they are long.
template <class Fn>
void each_sequence(const KernelArgs& args, const Sequences& s, Fn&& fn) {
  const int64_t grain = kElementsPerThread / std::max<int64_t>(1, s.time * s.inner);
  engine::parallel_each(*args.context, s.batch, grain, [&](int64_t n) { fn(n); });
}

const TensorView* input_or_none(const KernelArgs& args, size_t i) {
  return i < args.in.size() ? &args.in[i] : nullptr;
}

void sequence_last_cpu(const SequenceParams& p, const KernelArgs& args) {
  const Sequences s(p, args.in[0].shape);
  const Lengths lengths("SequenceLast", p, s, input_or_none(args, 1), 1);
  dispatch_bits(args.in[0].dtype, [&]<class T>(Type<T>) {
    const T* in = static_cast<const T*>(args.in[0].data);
    T* out = static_cast<T*>(args.out[0].data);
    each_sequence(args, s, [&](int64_t n) {
      std::copy_n(in + s.offset(lengths[n] - 1, n), s.inner, out + n * s.inner);
    });
  });
}

void backward_sequence_last_cpu(const SequenceParams& p, const KernelArgs& args) {
  const Sequences s(p, args.out[0].shape);
  const Lengths lengths("SequenceLast", p, s, input_or_none(args, 2), 1);
  dispatch_bits(args.out[0].dtype, [&]<class T>(Type<T>) {
    const T* grad = static_cast<const T*>(args.in[0].data);
    T* out = static_cast<T*>(args.out[0].data);
    each_sequence(args, s, [&](int64_t n) {
      for (int64_t t = 0; t < s.time; ++t) {
        T* to = out + s.offset(t, n);
        if (t == lengths[n] - 1) std::copy_n(grad + n * s.inner, s.inner, to);
        else std::fill_n(to, s.inner, T{0});
      }
    });
  });
}

void sequence_reverse_cpu(const SequenceParams& p, const KernelArgs& args) {
  const Sequences s(p, args.in[0].shape);
  const Lengths lengths("SequenceReverse", p, s, input_or_none(args, 1), 0);
  dispatch_bits(args.in[0].dtype, [&]<class T>(Type<T>) {
    const T* in = static_cast<const T*>(args.in[0].data);
    T* out = static_cast<T*>(args.out[0].data);
    each_sequence(args, s, [&](int64_t n) {
      const int64_t length = lengths[n];
      for (int64_t t = 0; t < s.time; ++t) {
        const int64_t from = t < length ? length - 1 - t : t;
        std::copy_n(in + s.offset(from, n), s.inner, out + s.offset(t, n));
      }
    });
  });
}

// A length beyond the axis masks nothing, as in MXNet.
void sequence_mask_cpu(const SequenceMaskParams& p, const KernelArgs& args) {
  const Sequences s(p, args.in[0].shape);
  std::optional<Labels> lengths;
  if (p.use_sequence_length) lengths.emplace(args.in[1]);
  dispatch_all(args.in[0].dtype, "SequenceMask", [&]<class T>(Type<T>) {
    const T* in = args.in[0].as<T>();
    T* out = args.out[0].mutable_as<T>();
    const T value = static_cast<T>(p.value);
    each_sequence(args, s, [&](int64_t n) {
      const int64_t length = lengths ? (*lengths)[n] : s.time;
      for (int64_t t = 0; t < s.time; ++t) {
        const int64_t at = s.offset(t, n);
        if (t >= length) std::fill_n(out + at, s.inner, value);
        else if (in != out) std::copy_n(in + at, s.inner, out + at);
      }
    });
  });
}

}  // namespace

void check_lengths(const char* who, int64_t batch, int64_t time, const TensorView& lengths, int64_t least) {
  const Labels given(lengths);
  for (int64_t n = 0; n < batch; ++n) {
    LOOMIX_CHECK(given[n] >= least && given[n] <= time, ValueError,
                 "[{}] sequence {} has length {}; expected {} to {}.", who, n, given[n], least, time);
  }
}

void kernels_sequence(OpTable& table) {
  table.kernel<sequence_last_cpu>("SequenceLast", "sequence_last_cpu");
  table.kernel<sequence_reverse_cpu>("SequenceReverse", "sequence_reverse_cpu");
  table.kernel<sequence_mask_cpu>("SequenceMask", "sequence_mask_cpu");
}

void gradients_sequence(OpTable& table) {
  table.kernel<backward_sequence_last_cpu>("_backward_SequenceLast", "backward_sequence_last_cpu");
}

}  // namespace loomix::ops
