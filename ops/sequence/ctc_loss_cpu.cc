// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "engine/parallel_for.h"
#include "ops/first_noted.h"
#include "ops/loss/label.h"
#include "ops/scratch_slots.h"
#include "ops/sequence/sequence.h"
#include "ops/table.h"

// Graves et al.: Connectionist Temporal Classification (2006). A label l1 l2 ... is spelt with a blank around each class:
// a path is at one of its S = 2 L + 1 states at each time, and goes on by 0, 1 or 2 states; it may skip a blank between
// two classes that differ, but not on the way to a blank: a label may have blanks of its own. alpha[t][s] is the logarithm of the probability of all ways to be at s at time t, beta[t][s] of
// all ways from there to the end. All sums are of logarithms, so nothing underflows.
namespace loomix::ops {
namespace {

template <class A>
inline constexpr A kNever = -std::numeric_limits<A>::infinity();

template <class A>
A log_add(A x, A y, A z = kNever<A>) {
  const A top = std::max({x, y, z});
  if (top == kNever<A>) return top;
  const auto share = [top](A part) { return part == kNever<A> ? A{0} : std::exp(part - top); };
  return top + std::log(share(x) + share(y) + share(z));
}

struct CtcSizes {
  int64_t time, batch, classes, longest;
  CtcSizes(const Shape& data, const Shape& label)
      : time(data[0]), batch(data[1]), classes(data[2]), longest(label[1]) {}
  int64_t states() const { return 2 * longest + 1; }
  // alpha for each time; beta of two times; the logarithms of the softmaxes' sums; the classes of the states.
  size_t bytes(size_t number) const {
    const auto count = [](int64_t n) { return static_cast<size_t>(n); };
    const size_t numbers = count(time) * count(states()) + 2 * count(states()) + count(time) + count(classes);
    return aligned(numbers * number) + class_bytes();
  }
  size_t class_bytes() const { return aligned(static_cast<size_t>(states()) * sizeof(int64_t)); }
};

size_t number_bytes(DType data) { return data == DType::float64 ? sizeof(double) : sizeof(float); }
// One sequence of the batch.
template <class T>
class Ctc {
  using A = Accum<T>;

 public:
  Ctc(const CtcSizes& sizes, const T* data, int64_t n, int64_t blank, std::byte* memory)
      : classes_(sizes.classes),
        step_(sizes.batch * sizes.classes),
        data_(data + n * sizes.classes),
        blank_(blank) {
    alpha_ = reinterpret_cast<A*>(memory);
    beta_ = alpha_ + sizes.time * sizes.states();
    log_sums_ = beta_ + 2 * sizes.states();
    mass_ = log_sums_ + sizes.time;
    state_class_ = reinterpret_cast<int64_t*>(memory + sizes.bytes(sizeof(A)) - sizes.class_bytes());
  }

  // `label(i)` for i < length; false if a class is none.
  template <class Label>
  bool spell(int64_t length, Label&& label) {
    states_ = 2 * length + 1;
    repeats_ = 0;
    for (int64_t i = 0; i < length; ++i) {
      const int64_t c = label(i);
      if (c < 0 || c >= classes_) return false;
      state_class_[2 * i] = blank_;
      state_class_[2 * i + 1] = c;
      if (i > 0 && c == state_class_[2 * i - 1]) ++repeats_;
    }
    state_class_[2 * length] = blank_;
    return true;
  }

  // Whether the label fits in: classes that repeat need a blank between them.
  bool fits(int64_t time) const { return states_ / 2 + repeats_ <= time; }

  // The loss; 0 for no time at all and no label.
  A forward(int64_t time) {
    for (int64_t t = 0; t < time; ++t) log_sums_[t] = log_sum(row(t));
    if (time == 0) return 0;
    for (int64_t s = 0; s < states_; ++s) alpha_[s] = s < 2 ? emit(0, s) : kNever<A>;
    for (int64_t t = 1; t < time; ++t) {
      const A* before = alpha_ + (t - 1) * states_;
      A* now = alpha_ + t * states_;
      for (int64_t s = 0; s < states_; ++s) {
        now[s] = emit(t, s) + log_add(before[s], s > 0 ? before[s - 1] : kNever<A>,
                                      may_skip(s) ? before[s - 2] : kNever<A>);
      }
    }
    const A* last = alpha_ + (time - 1) * states_;
    return -(states_ > 1 ? log_add(last[states_ - 1], last[states_ - 2]) : last[states_ - 1]);
  }

  // The slope of the loss to the scores: the softmax less the probability that a path emits the class at that time.
  void backward(int64_t time, T* slope) {
    A* now = beta_;
    A* after = beta_ + states_;
    for (int64_t s = 0; s < states_; ++s) now[s] = s + 2 >= states_ ? A{0} : kNever<A>;
    for (int64_t t = time - 1; t >= 0; --t) {
      if (t < time - 1) step_back(t, after, now);
      spread(alpha_ + t * states_, now);
      const T* scores = row(t);
      T* out = slope + t * step_;
      for (int64_t c = 0; c < classes_; ++c) {
        out[c] = static_cast<T>(std::exp(static_cast<A>(scores[c]) - log_sums_[t]) - mass_[c]);
      }
      std::swap(now, after);
    }
  }

 private:
  const T* row(int64_t t) const { return data_ + t * step_; }
  A emit(int64_t t, int64_t s) const { return static_cast<A>(row(t)[state_class_[s]]) - log_sums_[t]; }
  bool may_skip(int64_t s) const {
    return s >= 2 && state_class_[s] != blank_ && state_class_[s] != state_class_[s - 2];
  }

  A log_sum(const T* scores) const {
    A top = static_cast<A>(scores[0]);
    for (int64_t c = 1; c < classes_; ++c) top = std::max(top, static_cast<A>(scores[c]));
    A sum = 0;
    for (int64_t c = 0; c < classes_; ++c) sum += std::exp(static_cast<A>(scores[c]) - top);
    return top + std::log(sum);
  }

  // The probability that a path emits each class, from alpha and beta at that time. Their sum is the label's probability at
  // every time; dividing by the sum as it is keeps rounding errors of long sequences out.
  void spread(const A* alpha, const A* beta) {
    A top = kNever<A>, total = 0;
    for (int64_t s = 0; s < states_; ++s) top = std::max(top, alpha[s] + beta[s]);
    std::fill_n(mass_, classes_, A{0});
    for (int64_t s = 0; s < states_; ++s) {
      const A weight = std::exp(alpha[s] + beta[s] - top);
      mass_[state_class_[s]] += weight;
      total += weight;
    }
    for (int64_t c = 0; c < classes_; ++c) mass_[c] /= total;
  }

  // beta at t from that at t + 1.
  void step_back(int64_t t, const A* after, A* now) const {
    const auto from = [&](int64_t s) { return after[s] + emit(t + 1, s); };
    for (int64_t s = 0; s < states_; ++s) {
      now[s] = log_add(from(s), s + 1 < states_ ? from(s + 1) : kNever<A>,
                       s + 2 < states_ && may_skip(s + 2) ? from(s + 2) : kNever<A>);
    }
  }

  int64_t classes_, step_;
  const T* data_;
  int64_t blank_;
  int64_t states_ = 0, repeats_ = 0;
  A *alpha_, *beta_, *log_sums_, *mass_;
  int64_t* state_class_;
};

// What is wrong with the first sequence that is.
class Complaint {
 public:
  enum What : int64_t { time, length, label };
  void note(int64_t n, What what) { code_.note(n * 4 + what); }
  void check(const CtcSizes& s) const {
    if (!code_.any()) return;
    const int64_t n = code_.value() / 4;
    switch (static_cast<What>(code_.value() % 4)) {
      case time:
        detail::throw_error<ValueError>("[CTCLoss] the data length of sequence {} is none; expected 0 to {}.",
                                        n, s.time);
      case length:
        detail::throw_error<ValueError>(
            "[CTCLoss] the label length of sequence {} is none; expected 0 to {}.", n, s.longest);
      default:
        detail::throw_error<ValueError>(
            "[CTCLoss] the label of sequence {} holds what is no class; expected 0 to {}.", n, s.classes - 1);
    }
  }

 private:
  FirstNoted code_;
};

template <class T>
void run(const CtcParams& p, const KernelArgs& args) {
  const CtcSizes s(args.in[0].shape, args.in[1].shape);
  const T* data = args.in[0].as<T>();
  const Labels labels(args.in[1]);
  const bool first = p.blank_label == BlankLabel::first;
  const int64_t padding = first ? 0 : -1;
  std::optional<Labels> data_lengths, label_lengths;
  if (p.use_data_lengths) data_lengths.emplace(args.in[2]);
  if (p.use_label_lengths) label_lengths.emplace(args.in[p.use_data_lengths ? 3 : 2]);
  T* loss = args.wanted<T>(0);
  T* slope = args.wanted<T>(1);
  if (slope) std::fill_n(slope, args.out[1].size(), T{});
  ScratchSlots slots(args.scratch, s.bytes(sizeof(Accum<T>)), slots_for(args.context->cores));
  Complaint complaint;
  engine::parallel_for(*args.context, s.batch, 1, [&](int64_t begin, int64_t end) {
    const ScratchSlots::Use memory(slots);
    for (int64_t n = begin; n < end; ++n) {
      const int64_t time = data_lengths ? (*data_lengths)[n] : s.time;
      int64_t length = 0;
      const auto label = [&](int64_t i) { return labels[n * s.longest + i]; };
      if (label_lengths) length = (*label_lengths)[n];
      else
        while (length < s.longest && label(length) != padding) ++length;
      if (time < 0 || time > s.time) {
        complaint.note(n, Complaint::time);
        continue;
      }
      if (length < 0 || length > s.longest) {
        complaint.note(n, Complaint::length);
        continue;
      }
      Ctc<T> ctc(s, data, n, first ? 0 : s.classes - 1, memory.template as<std::byte>());
      if (!ctc.spell(length, label)) {
        complaint.note(n, Complaint::label);
        continue;
      }
      const bool fits = ctc.fits(time);
      const auto value = fits ? ctc.forward(time) : Accum<T>{0};
      if (loss) loss[n] = static_cast<T>(value);
      if (slope && fits) ctc.backward(time, slope + n * s.classes);
    }
  });
  complaint.check(s);
}

size_t ctc_loss_scratch(const KernelSpec& spec) {
  return CtcSizes(spec.in[0].shape, spec.in[1].shape).bytes(number_bytes(spec.in[0].dtype)) *
         static_cast<size_t>(slots_for(spec.cores));
}

// data, label, lengths -> the loss of each sequence, and its slope to the data, which is skipped if nobody wants it.
void ctc_loss_cpu(const CtcParams& p, const KernelArgs& args) {
  dispatch_floating(args.in[0].dtype, "CTCLoss", [&]<class T>(Type<T>) { run<T>(p, args); });
}

// head, slope -> slope times the head of each sequence.
void backward_ctc_loss_cpu(const KernelArgs& args) {
  dispatch_floating(args.out[0].dtype, "CTCLoss", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const Shape& shape = args.out[0].shape;
    const T* head = args.in[0].as<T>();
    const T* slope = args.in[1].as<T>();
    T* out = args.out[0].mutable_as<T>();
    const int64_t classes = shape[2];
    const int64_t grain = 16384 / classes;
    engine::parallel_each(*args.context, shape[0] * shape[1], grain, [&](int64_t row) {
      const A factor = static_cast<A>(head[row % shape[1]]);
      for (int64_t i = row * classes; i < (row + 1) * classes; ++i) {
        out[i] = static_cast<T>(factor * static_cast<A>(slope[i]));
      }
    });
  });
}

}  // namespace

void kernels_ctc_loss(OpTable& table) {
  table.kernel<ctc_loss_cpu, ctc_loss_scratch>("CTCLoss", "ctc_loss_cpu");
}

void gradients_ctc_loss(OpTable& table) {
  table.kernel<backward_ctc_loss_cpu>("_backward_CTCLoss", "backward_ctc_loss_cpu");
}

}  // namespace loomix::ops
