// SPDX-License-Identifier: Apache-2.0
#include "engine/device/cuda/element.h"
#include "ops/cuda/fold.h"
#include "ops/cuda/lines.h"
#include "ops/cuda/math.h"
#include "ops/families_cuda.h"
#include "ops/norm/l2_norm.h"
#include "ops/norm/row_norm.h"

// Layer, instance and group normalisation, by norms, and over neighbouring channels.
namespace loomix::ops {
namespace {

using namespace cuda;

constexpr DeviceType kGpu = DeviceType::gpu;

// Rows, and which parameter an element has.
struct Rows {
  Lines lines;
  Divider parameters;
  bool by_row;

  explicit Rows(const NormRows& rows)
      : lines(AxisSplit(Shape{rows.step == 0 ? 0 : rows.rows / rows.step, rows.size, rows.step}, 1)),
        parameters(rows.parameters),
        by_row(rows.by_row) {}
  __device__ int64_t parameter(int64_t row, int64_t i) const {
    return by_row ? row - parameters.quotient(row) * parameters.divisor() : i;
  }
};

template <class T>
__global__ void normalize_rows(Rows rows, const T* x, const T* gamma, const T* beta, Computed<T> eps, T* y,
                               T* means, T* deviations) {
  using A = Computed<T>;
  const Lines& lines = rows.lines;
  const A count = static_cast<A>(lines.size);
  each_line(lines, [&](int64_t row, int64_t first) {
    const auto item = [&](int64_t i) { return load(x[lines.at(first, i)]); };
    const A mean = sum_line<A>(lines.size, item) / count;
    const A squares = sum_line<A>(lines.size, [&](int64_t i) {
      const A distance = item(i) - mean;
      return distance * distance;
    });
    const A deviation = Math::sqrt(squares / count + eps);
    if (threadIdx.x == 0) {
      if (means != nullptr) means[row] = store<T>(mean);
      if (deviations != nullptr) deviations[row] = store<T>(deviation);
    }
    const A inverse = 1 / deviation;
    for (int64_t i = threadIdx.x; i < lines.size; i += blockDim.x) {
      const int64_t k = rows.parameter(row, i);
      y[lines.at(first, i)] = store<T>((item(i) - mean) * inverse * load(gamma[k]) + load(beta[k]));
    }
  });
}

// The same for dense rows that fit into registers, with one parameter an element.
template <class T>
__global__ void normalize_kept(Lines lines, bool aligned, const T* x, const T* gamma, const T* beta,
                               Computed<T> eps, T* y, T* means, T* deviations) {
  using A = Computed<T>;
  using Line = KeptLine<T>;
  const A count = static_cast<A>(lines.size);
  each_line(lines, [&](int64_t row, int64_t first) {
    Line item, scale, shift;
    item.read(x + first, lines.size, aligned);
    scale.read(gamma, lines.size, aligned);
    shift.read(beta, lines.size, aligned);
    const A mean = Line::sum(lines.size, [&](int p, int k) { return item.item[p][k]; }) / count;
    const A squares = Line::sum(lines.size, [&](int p, int k) {
      const A distance = item.item[p][k] - mean;
      return distance * distance;
    });
    const A deviation = Math::sqrt(squares / count + eps);
    if (threadIdx.x == 0) {
      if (means != nullptr) means[row] = store<T>(mean);
      if (deviations != nullptr) deviations[row] = store<T>(deviation);
    }
    const A inverse = 1 / deviation;
    Line::write(y + first, lines.size, aligned, [&](int p, int k) {
      return (item.item[p][k] - mean) * inverse * scale.item[p][k] + shift.item[p][k];
    });
  });
}

template <class T>
struct Gradients {
  const T *grad, *x, *gamma, *means, *deviations;
  explicit Gradients(const KernelArgs& args)
      : grad(args.in[0].as<T>()),
        x(args.in[1].as<T>()),
        gamma(args.in[2].as<T>()),
        means(args.in[3].as<T>()),
        deviations(args.in[4].as<T>()) {}
};

template <class T>
__global__ void gradient_of_rows(Rows rows, Gradients<T> b, T* out) {
  using A = Computed<T>;
  const Lines& lines = rows.lines;
  const A count = static_cast<A>(lines.size);
  each_line(lines, [&](int64_t row, int64_t first) {
    const A mean = load(b.means[row]), inverse = 1 / load(b.deviations[row]);
    const auto head = [&](int64_t i) {
      return load(b.grad[lines.at(first, i)]) * load(b.gamma[rows.parameter(row, i)]);
    };
    const auto normal = [&](int64_t i) { return (load(b.x[lines.at(first, i)]) - mean) * inverse; };
    const A constant = sum_line<A>(lines.size, head) / count;
    const A slope = sum_line<A>(lines.size, [&](int64_t i) { return head(i) * normal(i); }) / count;
    for (int64_t i = threadIdx.x; i < lines.size; i += blockDim.x)
      out[lines.at(first, i)] = store<T>(inverse * (head(i) - constant - normal(i) * slope));
  });
}

template <class T>
__global__ void gradient_kept(Lines lines, bool aligned, Gradients<T> b, T* out) {
  using A = Computed<T>;
  using Line = KeptLine<T>;
  const A count = static_cast<A>(lines.size);
  each_line(lines, [&](int64_t row, int64_t first) {
    const A mean = load(b.means[row]), inverse = 1 / load(b.deviations[row]);
    Line head, normal, gamma;
    head.read(b.grad + first, lines.size, aligned);
    normal.read(b.x + first, lines.size, aligned);
    gamma.read(b.gamma, lines.size, aligned);
    Line::each(lines.size, [&](int p, int k) {
      head.item[p][k] *= gamma.item[p][k];
      normal.item[p][k] = (normal.item[p][k] - mean) * inverse;
    });
    const A constant = Line::sum(lines.size, [&](int p, int k) { return head.item[p][k]; }) / count;
    const A slope =
        Line::sum(lines.size, [&](int p, int k) { return head.item[p][k] * normal.item[p][k]; }) / count;
    Line::write(out + first, lines.size, aligned, [&](int p, int k) {
      return inverse * (head.item[p][k] - constant - normal.item[p][k] * slope);
    });
  });
}

// To the parameters: sums over all rows that have one.
struct ParameterSums {
  double gamma, beta;
};
template <class T>
struct FoldParameters {
  using Acc = ParameterSums;
  Gradients<T> b;
  Divider block, step;  // elements of `step` rows; rows that lie beside each other

  __device__ Acc init() const { return {0, 0}; }
  __device__ Acc add(Acc acc, int64_t at, int64_t) const {
    const int64_t outer = block.quotient(at);
    const int64_t rest = at - outer * block.divisor();
    const int64_t row = outer * step.divisor() + rest - step.quotient(rest) * step.divisor();
    const Computed<T> head = load(b.grad[at]);
    const Computed<T> normal = (load(b.x[at]) - load(b.means[row])) * (1 / load(b.deviations[row]));
    return {acc.gamma + static_cast<double>(head * normal), acc.beta + static_cast<double>(head)};
  }
  __device__ Acc merge(Acc a, Acc b) const { return {a.gamma + b.gamma, a.beta + b.beta}; }
};
template <class T>
struct PutParameters {
  T *gamma, *beta;  // null where nobody wants them
  __device__ void operator()(int64_t k, ParameterSums sums) const {
    if (gamma != nullptr) gamma[k] = store<T>(sums.gamma);
    if (beta != nullptr) beta[k] = store<T>(sums.beta);
  }
};

// All elements, with the axis of parameters in the middle.
FoldPlan parameter_plan(const NormRows& rows) {
  const int64_t sets = rows.by_row ? rows.rows / std::max<int64_t>(1, rows.parameters)
                                   : rows.rows / std::max<int64_t>(1, rows.step);
  return FoldPlan(Shape{sets, rows.parameters, rows.by_row ? rows.size : rows.step}, axes_but(1, 3));
}

template <class P>
void row_norm_cuda(const P& p, const KernelArgs& args) {
  const NormRows shape = norm_rows(p, args.in[0].shape);
  if (args.req[0] == Req::null || shape.size == 0 || shape.rows == 0) return;
  const Rows rows(shape);
  dispatch_floating(args.in[0].dtype, "LayerNorm", [&]<class T>(Type<T>) {
    const T *x = args.in[0].as<T>(), *gamma = args.in[1].as<T>(), *beta = args.in[2].as<T>();
    const int lanes = shape.by_row || shape.step != 1 ? 0 : KeptLine<T>::lanes(shape.size);
    if (lanes > 0) {
      return launch(normalize_kept<T>, rows.lines.grid_with(lanes), stream_of(args), rows.lines,
                    KeptLine<T>::aligned({x, gamma, beta, args.out[0].as<T>()}), x, gamma, beta, p.eps,
                    args.out[0].mutable_as<T>(), args.wanted<T>(1), args.wanted<T>(2));
    }
    launch(normalize_rows<T>, rows.lines.grid(), stream_of(args), rows, args.in[0].as<T>(),
           args.in[1].as<T>(), args.in[2].as<T>(), p.eps, args.out[0].mutable_as<T>(), args.wanted<T>(1),
           args.wanted<T>(2));
  });
}

template <class P>
size_t row_norm_backward_scratch(const P& p, const KernelSpec& spec) {
  return parameter_plan(norm_rows(p, spec.in[1].shape)).scratch_bytes(sizeof(ParameterSums));
}

template <class P>
void row_norm_backward_cuda(const P& p, const KernelArgs& args) {
  const NormRows shape = norm_rows(p, args.in[1].shape);
  const Rows rows(shape);
  dispatch_floating(args.in[1].dtype, "LayerNorm", [&]<class T>(Type<T>) {
    const Gradients<T> gradients(args);
    if (args.req[1] != Req::null || args.req[2] != Req::null) {
      const FoldParameters<T> fold{gradients, Divider(std::max<int64_t>(1, shape.size * shape.step)),
                                   Divider(std::max<int64_t>(1, shape.step))};
      run_fold(parameter_plan(shape), fold, PutParameters<T>{args.wanted<T>(1), args.wanted<T>(2)},
               args.scratch, stream_of(args));
    }
    if (args.req[0] == Req::null || args.in[1].size() == 0) return;  // may overwrite what the others read
    const int lanes = shape.by_row || shape.step != 1 ? 0 : KeptLine<T>::lanes(shape.size);
    if (lanes > 0) {
      return launch(gradient_kept<T>, rows.lines.grid_with(lanes), stream_of(args), rows.lines,
                    KeptLine<T>::aligned({gradients.grad, gradients.x, gradients.gamma, args.out[0].as<T>()}),
                    gradients, args.out[0].mutable_as<T>());
    }
    launch(gradient_of_rows<T>, rows.lines.grid(), stream_of(args), rows, gradients,
           args.out[0].mutable_as<T>());
  });
}

// ---- norms ------------------------------------------------------------------------------------------------------------

Lines groups_of(const L2NormalizationParams& p, const Shape& data) {
  if (p.mode == L2Mode::instance)
    return Lines(AxisSplit(Shape{data[0], data.size_between(1, data.ndim())}, 1));
  const int64_t places = data.size_between(2, data.ndim());
  return Lines(AxisSplit(Shape{data[0], data[1], places}, p.mode == L2Mode::spatial ? 2 : 1));
}

template <class T>
__global__ void divide_by_norms(Lines groups, const T* x, Computed<T> eps, T* y, T* norms) {
  using A = Computed<T>;
  each_line(groups, [&](int64_t group, int64_t first) {
    const A squares = sum_line<A>(groups.size, [&](int64_t i) {
      const A item = load(x[groups.at(first, i)]);
      return item * item;
    });
    const A norm = Math::sqrt(eps + squares);
    if (norms != nullptr && threadIdx.x == 0) norms[group] = store<T>(norm);
    for (int64_t i = threadIdx.x; y != nullptr && i < groups.size; i += blockDim.x) {
      const int64_t at = groups.at(first, i);
      y[at] = store<T>(load(x[at]) / norm);
    }
  });
}

template <class T>
__global__ void gradient_by_norms(Lines groups, const T* grad, const T* y, const T* norms, T* out) {
  using A = Computed<T>;
  each_line(groups, [&](int64_t group, int64_t first) {
    const A product = sum_line<A>(groups.size, [&](int64_t i) {
      const int64_t at = groups.at(first, i);
      return load(grad[at]) * load(y[at]);
    });
    const A norm = load(norms[group]);
    for (int64_t i = threadIdx.x; i < groups.size; i += blockDim.x) {
      const int64_t at = groups.at(first, i);
      out[at] = store<T>((load(grad[at]) - load(y[at]) * product) / norm);
    }
  });
}

void l2_normalization_cuda(const L2NormalizationParams& p, const KernelArgs& args) {
  const Lines groups = groups_of(p, args.in[0].shape);
  if (groups.count == 0) return;
  dispatch_floating(args.in[0].dtype, "L2Normalization", [&]<class T>(Type<T>) {
    launch(divide_by_norms<T>, groups.grid(), stream_of(args), groups, args.in[0].as<T>(), p.eps,
           args.wanted<T>(0), args.wanted<T>(1));
  });
}

void backward_l2_normalization_cuda(const L2NormalizationParams& p, const KernelArgs& args) {
  const Lines groups = groups_of(p, args.in[0].shape);
  dispatch_floating(args.in[0].dtype, "L2Normalization", [&]<class T>(Type<T>) {
    launch(gradient_by_norms<T>, groups.grid(), stream_of(args), groups, args.in[0].as<T>(),
           args.in[1].as<T>(), args.in[2].as<T>(), args.out[0].mutable_as<T>());
  });
}

// ---- neighbouring channels ----------------------------------------------------------------------------------------------

// Data (N, C, H, W) and the windows of channels.
struct Neighbours {
  Divider plane, channels;
  int64_t reach;
  double alpha_share, beta, constant;  // alpha / nsize

  Neighbours(const LRNParams& p, const Shape& data)
      : plane(data[2] * data[3]),
        channels(data[1]),
        reach(p.nsize / 2),
        alpha_share(static_cast<double>(p.alpha) / p.nsize),
        beta(p.beta),
        constant(p.knorm) {}
  __device__ int64_t channel(int64_t at) const {
    const int64_t row = plane.quotient(at);
    return row - channels.quotient(row) * channels.divisor();
  }
  // Calls fn(place) for the same place of the channels around, from the element `at` of channel c.
  template <class Fn>
  __device__ void each(int64_t at, int64_t c, Fn fn) const {
    const int64_t begin = c < reach ? -c : -reach;
    const int64_t last = channels.divisor() - 1 - c < reach ? channels.divisor() - 1 - c : reach;
    for (int64_t k = begin; k <= last; ++k) fn(at + k * plane.divisor(), c + k);
  }
  template <class A, class T>
  __device__ A denominator(const T* x, int64_t at, int64_t c) const {
    A sum = 0;
    each(at, c, [&](int64_t other, int64_t) {
      const A item = load(x[other]);
      sum += item * item;
    });
    return static_cast<A>(constant) + static_cast<A>(alpha_share) * sum;
  }
  template <class A>
  __device__ A power(A denominator) const {
    return Math::pow(denominator, -static_cast<A>(beta));
  }
};

template <class T>
__global__ void lrn_items(int64_t count, Neighbours around, const T* x, T* y, T* denominators) {
  using A = Computed<T>;
  for (const int64_t at : own_items(count)) {
    const A denominator = around.denominator<A>(x, at, around.channel(at));
    if (denominators != nullptr) denominators[at] = store<T>(denominator);
    if (y != nullptr) y[at] = store<T>(load(x[at]) * around.power(denominator));
  }
}

// With denominators d: grad d^-beta - factor x (the sum of grad x d^(-beta - 1) over the channels around). The terms come first, for
// the gradient may be written where grad or x is.
template <class T>
__global__ void lrn_terms(int64_t count, Neighbours around, const T* grad, const T* x, Computed<T>* direct,
                          Computed<T>* spread) {
  using A = Computed<T>;
  for (const int64_t at : own_items(count)) {
    const A denominator = around.denominator<A>(x, at, around.channel(at));
    direct[at] = load(grad[at]) * around.power(denominator);
    spread[at] = direct[at] * load(x[at]) / denominator;
  }
}
template <class T>
__global__ void lrn_gradient(int64_t count, Neighbours around, const T* x, const Computed<T>* direct,
                             const Computed<T>* spread, T* out) {
  using A = Computed<T>;
  const A factor = static_cast<A>(2 * around.alpha_share * around.beta);
  for (const int64_t at : own_items(count)) {
    A sum = 0;
    around.each(at, around.channel(at), [&](int64_t other, int64_t) { sum += spread[other]; });
    out[at] = store<T>(direct[at] - factor * load(x[at]) * sum);
  }
}

void lrn_cuda(const LRNParams& p, const KernelArgs& args) {
  const TensorView& x = args.in[0];
  if (x.size() == 0) return;
  dispatch_floating(x.dtype, "LRN", [&]<class T>(Type<T>) {
    launch(lrn_items<T>, grid_for(x.size()), stream_of(args), x.size(), Neighbours(p, x.shape), x.as<T>(),
           args.wanted<T>(0), args.wanted<T>(1));
  });
}

size_t backward_lrn_scratch(const KernelSpec& spec) {
  const size_t bytes = spec.in[1].dtype == DType::float64 ? sizeof(double) : sizeof(float);
  return 2 * static_cast<size_t>(spec.in[1].size()) * bytes;
}

void backward_lrn_cuda(const LRNParams& p, const KernelArgs& args) {
  const TensorView& x = args.in[1];
  dispatch_floating(x.dtype, "LRN", [&]<class T>(Type<T>) {
    Computed<T>* const direct = reinterpret_cast<Computed<T>*>(args.scratch.data());
    Computed<T>* const spread = direct + x.size();
    const Neighbours around(p, x.shape);
    launch(lrn_terms<T>, grid_for(x.size()), stream_of(args), x.size(), around, args.in[0].as<T>(), x.as<T>(),
           direct, spread);
    launch(lrn_gradient<T>, grid_for(x.size()), stream_of(args), x.size(), around, x.as<T>(), direct, spread,
           args.out[0].mutable_as<T>());
  });
}

template <class P>
void add(KernelList& list, const std::string& name) {
  list.kernel<row_norm_cuda<P>>(name, "row_norm_cuda", kGpu);
  list.kernel<row_norm_backward_cuda<P>, row_norm_backward_scratch<P>>("_backward_" + name,
                                                                       "row_norm_backward_cuda", kGpu);
}

}  // namespace

void kernels_row_norm_cuda(KernelList& list) {
  add<LayerNormParams>(list, "LayerNorm");
  add<InstanceNormParams>(list, "InstanceNorm");
  add<GroupNormParams>(list, "GroupNorm");
  list.kernel<l2_normalization_cuda>("L2Normalization", "l2_normalization_cuda", kGpu);
  list.kernel<backward_l2_normalization_cuda>("_backward_L2Normalization", "backward_l2_normalization_cuda",
                                              kGpu);
  list.kernel<lrn_cuda>("LRN", "lrn_cuda", kGpu);
  list.kernel<backward_lrn_cuda, backward_lrn_scratch>("_backward_LRN", "backward_lrn_cuda", kGpu);
}

}  // namespace loomix::ops
