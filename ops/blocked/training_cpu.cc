// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <span>

#include "engine/parallel_for.h"
#include "ops/blocked/blocked.h"
#include "ops/blocked/training_loops.h"
#include "ops/families.h"
#include "ops/isa.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

using Norm = BlockedBatchNormParams;
using PoolingGradient = BlockedPoolingGradientParams;

constexpr int64_t kElementsPerThread = 16384;
constexpr int64_t kLargestBlock = 16;

// Calls fn(loops for blocked images, loops for training, Type<T>) for the element type of the data.
template <class Fn>
void with_loops(const KernelArgs& args, Fn&& fn) {
  const auto& loops = best_loops<BlockedLoops>();
  const auto& training = best_loops<BlockedTrainingLoops>();
  if (args.in[0].dtype == DType::bfloat16) fn(loops.of_bfloat16, training.of_bfloat16, Type<bfloat16>{});
  else fn(loops.of_float32, training.of_float32, Type<float>{});
}

// Images in blocks: a plane is one block of one image.
struct Planes {
  int64_t images, blocks, pixels, block;
  explicit Planes(const Shape& shape)
      : images(shape[0]), blocks(shape[1]), pixels(shape[2] * shape[3]), block(shape[4]) {}

  int64_t items() const { return images * pixels; }  // of a channel
  int64_t offset(int64_t image, int64_t of) const { return (image * blocks + of) * pixels * block; }
  int64_t channels_of(int64_t of, int64_t channels) const { return std::min(block, channels - of * block); }

  // Calls fn(block) for each, all images of one on one thread.
  template <class Fn>
  void each_block(engine::RunContext& context, Fn&& fn) const {
    engine::parallel_each(context, blocks,
                          std::max<int64_t>(1, kElementsPerThread / std::max<int64_t>(1, items() * block)),
                          fn);
  }
  // Calls fn(offset, pixels) for pieces of a block that stay in the first cache.
  template <class Fn>
  void each_piece(int64_t of, Fn&& fn) const {
    for (int64_t image = 0; image < images; ++image) {
      const int64_t plane = offset(image, of);
      for (int64_t first = 0; first < pixels; first += kPixelsOfSum)
        fn(plane + first * block, std::min(kPixelsOfSum, pixels - first));
    }
  }
};

// Numbers of a block's channels; those that fill it up are zero.
template <class T>
struct Channel {
  alignas(64) T values[kLargestBlock] = {};
  T& operator[](int64_t i) { return values[i]; }
  operator T*() { return values; }  // NOLINT(google-explicit-constructor): an array with alignment and zeros
};

// Means and variances of a block's channels, piece by piece: Chan, Golub and LeVeque, "Updating formulae and a pairwise
// algorithm for computing sample variances", 1979.
template <class T>
void take_moments(const Planes& planes, const BlockedTrainingLoopsOf<T>& loops, const T* in, int64_t of,
                  Channel<float>& mean, Channel<float>& variance) {
  Channel<double> means, squares;
  double count = 0;
  planes.each_piece(of, [&](int64_t at, int64_t pixels) {
    Channel<float> own_mean, own_squares;
    loops.moments(planes.block, pixels, in + at, own_mean, own_squares);
    const double more = static_cast<double>(pixels), all = count + more;
    for (int64_t i = 0; i < planes.block; ++i) {
      const double distance = static_cast<double>(own_mean[i]) - means[i];
      means[i] += distance * (more / all);
      squares[i] += static_cast<double>(own_squares[i]) + distance * distance * (count * more / all);
    }
    count = all;
  });
  for (int64_t i = 0; i < planes.block; ++i) {
    mean[i] = static_cast<float>(means[i]);
    variance[i] = static_cast<float>(squares[i] / count);
  }
}

// 1 / sqrt(variance + eps), and 0 where that would be infinite.
float inverse_deviation(float variance, double eps) {
  const float shifted = variance + static_cast<float>(eps);
  return shifted == 0 ? 0.0f : 1 / std::sqrt(shifted);
}
float variance_of(float inverse, double eps) {
  const auto exact = static_cast<double>(inverse);
  return inverse == 0 ? 0.0f : static_cast<float>(std::max(1 / (exact * exact) - eps, 0.0));
}

// y = x * scale + shift, with what follows.
template <class T, class Loops, class Training>
void normalize(const Norm& p, const KernelArgs& args, const Planes& planes, const Loops& loops,
               const Training& training, int64_t of, float* scale, float* shift) {
  const Clamp none;
  const auto low = p.relu ? 0.0f : static_cast<float>(none.low), high = static_cast<float>(none.high);
  const T* const added = p.add ? args.in[5].as<T>() : nullptr;
  for (int64_t image = 0; image < planes.images; ++image) {
    const int64_t at = planes.offset(image, of);
    const T* const in = args.in[0].as<T>() + at;
    T* const out = args.out[0].mutable_as<T>() + at;
    if (added) training.scale_add(planes.block, planes.pixels, scale, shift, p.relu, in, added + at, out);
    else loops.scale(planes.block, planes.pixels, scale, shift, low, high, in, out);
  }
}

// data, gamma, beta, moving_mean, moving_var, and what is added -> output, mean, 1 / sqrt(var + eps), as BatchNorm.
void norm(const Norm& p, const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  const Planes planes(args.in[0].shape);
  const float *gamma = args.in[1].as<float>(), *beta = args.in[2].as<float>();
  const float *moving_mean = args.in[3].as<float>(), *moving_var = args.in[4].as<float>();
  float *const mean_out = args.wanted<float>(1), *const inverse_out = args.wanted<float>(2);
  const bool by_batch = args.training && !p.use_global_stats;
  with_loops(
      args, [&]<class T>(const BlockedLoopsOf<T>& loops, const BlockedTrainingLoopsOf<T>& training, Type<T>) {
        const T* const in = args.in[0].as<T>();
        planes.each_block(*args.context, [&](int64_t of) {
          const int64_t first = of * planes.block, count = planes.channels_of(of, args.in[1].size());
          Channel<float> mean, variance, scale, shift;
          if (by_batch) {
            take_moments(planes, training, in, of, mean, variance);
          } else {
            std::copy_n(moving_mean + first, count, mean.values);
            std::copy_n(moving_var + first, count, variance.values);
          }
          for (int64_t i = 0; i < count; ++i) {
            const float inverse = inverse_deviation(variance[i], p.eps);
            if (mean_out) mean_out[first + i] = mean[i];
            if (inverse_out) inverse_out[first + i] = inverse;
            scale[i] = (p.fix_gamma ? 1.0f : gamma[first + i]) * inverse;
            shift[i] = beta[first + i] - mean[i] * scale[i];
          }
          normalize<T>(p, args, planes, loops, training, of, scale, shift);
        });
      });
}

// data, gamma, beta, mean, 1 / sqrt(var + eps) -> the same output once more.
void norm_again(const Norm& p, const KernelArgs& args) {
  const Planes planes(args.in[0].shape);
  const float *gamma = args.in[1].as<float>(), *beta = args.in[2].as<float>();
  const float *mean = args.in[3].as<float>(), *inverse = args.in[4].as<float>();
  with_loops(
      args, [&]<class T>(const BlockedLoopsOf<T>& loops, const BlockedTrainingLoopsOf<T>& training, Type<T>) {
        planes.each_block(*args.context, [&](int64_t of) {
          const int64_t first = of * planes.block, count = planes.channels_of(of, args.in[1].size());
          Channel<float> scale, shift;
          for (int64_t i = 0; i < count; ++i) {
            scale[i] = (p.fix_gamma ? 1.0f : gamma[first + i]) * inverse[first + i];
            shift[i] = beta[first + i] - mean[first + i] * scale[i];
          }
          normalize<T>(p, args, planes, loops, training, of, scale, shift);
        });
      });
}

// The numbers of a block's channels in a gradient.
struct NormGradient {
  Channel<float> mean, scale, shift, constant, slope;
  BlockedNormGradient view(bool relu) {
    return {mean, scale, relu ? shift.values : nullptr, constant, slope};
  }
};

// grad, data, mean, var, gamma, moving_mean, moving_var, and beta if max(y, 0) follows -> gradients of data, gamma and beta.
// As BatchNorm's: here moving averages change, and a fixed gamma is set to 1.
void norm_gradient(const Norm& p, const KernelArgs& args) {
  const Planes planes(args.in[1].shape);
  const float *means = args.in[2].as<float>(), *inverses = args.in[3].as<float>();
  float *const gamma = args.in[4].mutable_as<float>(), *const moving_mean = args.in[5].mutable_as<float>(),
               *const moving_var = args.in[6].mutable_as<float>();
  const float* const beta = p.relu ? args.in[7].as<float>() : nullptr;
  float *const gamma_grad = args.wanted<float>(1), *const beta_grad = args.wanted<float>(2);
  const bool by_batch = args.training && !p.use_global_stats;
  with_loops(args, [&]<class T>(const BlockedLoopsOf<T>&, const BlockedTrainingLoopsOf<T>& loops, Type<T>) {
    const T *const grad = args.in[0].as<T>(), *const in = args.in[1].as<T>();
    planes.each_block(*args.context, [&](int64_t of) {
      const int64_t first = of * planes.block, count = planes.channels_of(of, args.in[2].size());
      NormGradient numbers;
      for (int64_t i = 0; i < count; ++i) {
        if (p.fix_gamma) gamma[first + i] = 1;
        numbers.mean[i] = means[first + i];
        numbers.scale[i] = gamma[first + i] * inverses[first + i];
        if (beta) numbers.shift[i] = beta[first + i] - numbers.mean[i] * numbers.scale[i];
      }
      const BlockedNormGradient view = numbers.view(p.relu);
      Channel<double> sums, products;
      planes.each_piece(of, [&](int64_t at, int64_t pixels) {
        Channel<float> sum, product;
        loops.norm_sums(planes.block, pixels, view, grad + at, in + at, sum, product);
        for (int64_t i = 0; i < planes.block; ++i) {
          sums[i] += static_cast<double>(sum[i]);
          products[i] += static_cast<double>(product[i]);
        }
      });
      for (int64_t i = 0; i < count; ++i) {
        const int64_t channel = first + i;
        const auto sum = static_cast<float>(sums[i]), product = static_cast<float>(products[i]);
        const float inverse = inverses[channel], items = static_cast<float>(planes.items());
        if (gamma_grad) gamma_grad[channel] = p.fix_gamma ? 0.0f : product * inverse;
        if (beta_grad) beta_grad[channel] = sum;
        if (!by_batch) continue;
        numbers.constant[i] = sum / items;
        numbers.slope[i] = product * inverse * inverse / items;
        moving_mean[channel] = moving_mean[channel] * p.momentum + numbers.mean[i] * (1 - p.momentum);
        moving_var[channel] =
            moving_var[channel] * p.momentum + variance_of(inverse, p.eps) * (1 - p.momentum);
      }
      if (args.req[0] == Req::null) return;
      T* const out = args.out[0].mutable_as<T>();
      for (int64_t image = 0; image < planes.images; ++image) {
        const int64_t at = planes.offset(image, of);
        loops.norm_gradient(planes.block, planes.pixels, view, grad + at, in + at, out + at);
      }
    });
  });
}

struct Windows {
  BlockedWindows rows, columns;
  Windows(const PoolingParams& p, const Shape& image) : rows(), columns() {
    const PoolGeometry g(p, image);
    const auto axis = [&](int i) {
      return BlockedWindows{g.in[i], g.out[i], g.kernel[i], g.stride[i], g.pad[i]};
    };
    rows = axis(1);
    columns = axis(2);
  }
  int64_t in() const { return rows.in * columns.in; }
  int64_t out() const { return rows.out * columns.out; }
};

// Calls fn(i) for each plane of `pixels` pixels.
template <class Fn>
void each_plane(const KernelArgs& args, int64_t pixels, Fn&& fn) {
  const Shape& shape = args.out[0].shape;
  engine::parallel_each(*args.context, shape[0] * shape[1],
                        std::max<int64_t>(1, kElementsPerThread / std::max<int64_t>(1, pixels * shape[4])),
                        fn);
}

// data -> output, places of maxima
void max_pooling(const BlockedPoolingParams& p, const KernelArgs& args) {
  if (args.req[0] == Req::null && args.req[1] == Req::null) return;
  const Shape& in = args.in[0].shape;
  const Windows windows(p, {in[0], in[1] * in[4], in[2], in[3]});
  with_loops(
      args, [&]<class T>(const BlockedLoopsOf<T>& loops, const BlockedTrainingLoopsOf<T>& training, Type<T>) {
        const int64_t from = windows.in() * in[4], to = windows.out() * in[4];
        uint8_t* const places = args.wanted<uint8_t>(1);
        each_plane(args, windows.in(), [&](int64_t i) {
          const T* const plane = args.in[0].as<T>() + i * from;
          T* const out = args.out[0].mutable_as<T>() + i * to;
          if (places) training.max_pool(in[4], windows.rows, windows.columns, plane, out, places + i * to);
          else loops.max_pool(in[4], windows.rows, windows.columns, plane, out);
        });
      });
}

// grad, places -> gradient of the data
void max_pooling_gradient(const PoolingGradient& p, const KernelArgs& args) {
  const Windows windows(p, p.image);
  const int64_t block = args.out[0].shape[4], from = windows.out() * block, to = windows.in() * block;
  with_loops(args, [&]<class T>(const BlockedLoopsOf<T>&, const BlockedTrainingLoopsOf<T>& loops, Type<T>) {
    each_plane(args, windows.in(), [&](int64_t i) {
      loops.max_gradient(block, windows.rows, windows.columns, args.in[0].as<T>() + i * from,
                         args.in[1].as<uint8_t>() + i * from, args.out[0].mutable_as<T>() + i * to);
    });
  });
}

// grad -> gradient of the data
void average_pooling_gradient(const PoolingGradient& p, const KernelArgs& args) {
  const Windows windows(p, p.image);
  const int64_t block = args.out[0].shape[4], from = windows.out() * block, to = windows.in() * block;
  const bool with_pad = p.count_include_pad.value_or(true);
  with_loops(args, [&]<class T>(const BlockedLoopsOf<T>&, const BlockedTrainingLoopsOf<T>& loops, Type<T>) {
    each_plane(args, windows.in(), [&](int64_t i) {
      loops.average_gradient(block, windows.rows, windows.columns, with_pad, args.in[0].as<T>() + i * from,
                             args.out[0].mutable_as<T>() + i * to);
    });
  });
}

// grad -> gradient of the bias
void bias_gradient(const ConvolutionParams& p, const KernelArgs& args) {
  const Planes planes(args.in[0].shape);
  with_loops(args, [&]<class T>(const BlockedLoopsOf<T>&, const BlockedTrainingLoopsOf<T>& loops, Type<T>) {
    planes.each_block(*args.context, [&](int64_t of) {
      Channel<double> sums;
      planes.each_piece(of, [&](int64_t at, int64_t pixels) {
        Channel<float> sum;
        loops.sum(planes.block, pixels, args.in[0].as<T>() + at, sum);
        for (int64_t i = 0; i < planes.block; ++i) sums[i] += static_cast<double>(sum[i]);
      });
      T* const out = args.out[0].mutable_as<T>() + of * planes.block;
      for (int64_t i = 0; i < planes.channels_of(of, p.num_filter); ++i)
        out[i] = static_cast<T>(static_cast<float>(sums[i]));
    });
  });
}

}  // namespace

void gradients_blocked_training(OpTable& table) {
  table.kernel<norm>("_blocked_batch_norm", "blocked_batch_norm_cpu");
  table.kernel<norm_again>("_blocked_batch_norm_again", "blocked_batch_norm_again_cpu");
  for (const char* op : {"_backward_blocked_batch_norm", "_backward_blocked_batch_norm_free_gamma"})
    table.kernel<norm_gradient>(op, "blocked_batch_norm_backward_cpu");
  table.kernel<max_pooling>("_blocked_max_pooling", "blocked_max_pooling_cpu");
  table.kernel<max_pooling_gradient>("_backward_blocked_max_pooling", "blocked_max_pooling_backward_cpu");
  table.kernel<average_pooling_gradient>("_backward_blocked_average_pooling",
                                         "blocked_average_pooling_backward_cpu");
  table.kernel<bias_gradient>("_backward_blocked_conv_bias", "blocked_conv_bias_cpu");
}

}  // namespace loomix::ops
