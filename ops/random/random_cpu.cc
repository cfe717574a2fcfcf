// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <numeric>

#include "engine/parallel_for.h"
#include "ops/elemwise/apply.h"
#include "ops/random/random.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

constexpr int64_t kNumbersPerThread = 2048;

// Element i of the output is draw(stream of i, i).
template <class Draw>
void fill_by_stream(const KernelArgs& args, const Draw& draw) {
  const TensorView& out = args.out[0];
  engine::parallel_for(*args.context, out.size(), kNumbersPerThread, [&](int64_t begin, int64_t end) {
    using Drawn = std::invoke_result_t<Draw, PhiloxStream&, int64_t>;
    Drawn block[kLoopBlock];
    for (int64_t first = begin; first < end; first += kLoopBlock) {
      const int64_t count = std::min(kLoopBlock, end - first);
      for (int64_t i = 0; i < count; ++i) {
        PhiloxStream stream(args.random, first + i);
        block[i] = draw(stream, first + i);
      }
      convert_row(dtype_of<Drawn>(), block, out.dtype, mutable_element(out, first), count);
    }
  });
}

template <class T>
void fill_uniform(const KernelArgs& args, float low, float high) {
  T* const data = args.out[0].mutable_as<T>();
  engine::parallel_for(*args.context, args.out[0].size(), kNumbersPerThread,
                       [&, data](int64_t begin, int64_t end) {
                         philox_words(args.random, begin, end, [=](int64_t i, uint32_t word) {
                           data[i] = static_cast<T>(low + (high - low) * unit_float(word));
                         });
                       });
}

// Box and Muller's transform of words 2i and 2i + 1.
template <class T>
void fill_normal(const KernelArgs& args, float mean, float deviation) {
  T* const data = args.out[0].mutable_as<T>();
  engine::parallel_for(
      *args.context, args.out[0].size(), kNumbersPerThread, [&, data](int64_t begin, int64_t end) {
        float radius = 0;
        philox_words(args.random, 2 * begin, 2 * end, [&](int64_t i, uint32_t word) {
          if (i % 2 == 0) {
            radius = std::sqrt(-2.0f * std::log(1.0f - unit_float(word)));
          } else {
            data[i / 2] = static_cast<T>(mean + deviation * radius * std::cos(6.2831853f * unit_float(word)));
          }
        });
      });
}

template <class D>
void fill(const KernelArgs& args, float first, float second) {
  const DType dtype = args.out[0].dtype;
  if constexpr (std::is_same_v<D, Uniform> || std::is_same_v<D, Normal>) {
    if (dtype != DType::float64) {
      return dispatch_floating(dtype, D::name, [&]<class T>(Type<T>) {
        if constexpr (std::is_same_v<D, Uniform>) fill_uniform<T>(args, first, second);
        if constexpr (std::is_same_v<D, Normal>) fill_normal<T>(args, first, second);
      });
    }
  }
  fill_by_stream(args, [=](PhiloxStream& stream, int64_t) { return D::draw(stream, first, second); });
}

double read_as_double(const TensorView& view, int64_t i) {
  return dispatch_numeric(view.dtype, "sample",
                          [&]<class T>(Type<T>) { return static_cast<double>(view.as<T>()[i]); });
}

template <class D, class P>
void draw_cpu(const P& p, const KernelArgs& args) {
  p.check();
  fill<D>(args, p.first, p.second);
}

template <class D>
void sample_cpu(const KernelArgs& args) {
  const int64_t sets = args.in[0].size();
  const int64_t block = args.out[0].size() / sets;
  const TensorView& second = args.in[args.in.size() - 1];
  for (size_t k = 0; k < args.in.size(); ++k) check_parameters<D>(args.in[k], k);
  fill_by_stream(args, [&](PhiloxStream& stream, int64_t i) {
    return D::draw(stream, read_as_double(args.in[0], i / block), read_as_double(second, i / block));
  });
}

template <class D>
void distribution(OpTable& table) {
  const std::string name = D::name;
  table.kernel<draw_cpu<D, DrawParams<D>>>("_random_" + name, "draw_cpu");
  table.kernel<draw_cpu<D, LikeParams<D>>>("_random_" + name + "_like", "draw_cpu");
  table.kernel<sample_cpu<D>>("_sample_" + name, "sample_cpu");
}

void randint_cpu(const RandintParams& p, const KernelArgs& args) {
  LOOMIX_CHECK(p.low < p.high, ValueError, "[_random_randint] low {} is not below high {}.", p.low, p.high);
  const auto low = static_cast<uint64_t>(p.low);
  const auto range = static_cast<unsigned __int128>(static_cast<uint64_t>(p.high) - low);
  fill_by_stream(args, [=](PhiloxStream& stream, int64_t) {
    return static_cast<int64_t>(low + static_cast<uint64_t>((range * stream.next64()) >> 64));
  });
}

size_t multinomial_scratch(const KernelSpec& spec) {
  const Shape& data = spec.in[0].shape;
  return static_cast<size_t>(data[data.ndim() - 1]) * sizeof(double);
}

void multinomial_cpu(const KernelArgs& args) {
  const TensorView& data = args.in[0];
  const int64_t choices = data.shape[data.shape.ndim() - 1];
  LOOMIX_CHECK(choices > 0, ValueError, "[sample_multinomial] data of shape {} has no choices.",
               data.shape.to_string());
  const int64_t rows = data.size() / choices;
  if (rows == 0) return;
  const int64_t block = args.out[0].size() / rows;
  dispatch_floating(data.dtype, "sample_multinomial", [&]<class T>(Type<T>) {
    const T* const probability = data.as<T>();
    dispatch_numeric(args.out[0].dtype, "sample_multinomial", [&]<class I>(Type<I>) {
      I* const out = args.out[0].mutable_as<I>();
      double* const cumulative = reinterpret_cast<double*>(args.scratch.data());
      for (int64_t row = 0; row < rows; ++row) {
        const T* const p = probability + row * choices;
        double total = 0;
        for (int64_t i = 0; i < choices; ++i) cumulative[i] = total += static_cast<double>(p[i]);
        for (int64_t k = row * block; k < (row + 1) * block; ++k) {
          const double point = PhiloxStream(args.random, k).uniform() * total;
          const int64_t index = std::upper_bound(cumulative, cumulative + choices - 1, point) - cumulative;
          out[k] = static_cast<I>(index);
          if (args.out.size() > 1 && args.out[1]) {
            args.out[1].mutable_as<T>()[k] = static_cast<T>(std::log(static_cast<double>(p[index])));
          }
        }
      }
    });
  });
}

void backward_multinomial_cpu(const KernelArgs& args) {
  const TensorView& out = args.out[0];
  std::memset(out.data, 0, static_cast<size_t>(out.bytes()));
  const int64_t choices = out.shape[out.shape.ndim() - 1];
  const int64_t block = args.in[0].size() / (out.size() / choices);
  dispatch_floating(out.dtype, "sample_multinomial", [&]<class T>(Type<T>) {
    for (int64_t k = 0; k < args.in[0].size(); ++k) {
      const int64_t place = k / block * choices + static_cast<int64_t>(read_as_double(args.in[2], k));
      T& sum = out.mutable_as<T>()[place];
      sum = static_cast<T>(sum + args.in[0].as<T>()[k] / args.in[1].as<T>()[place]);
    }
  });
}

size_t shuffle_scratch(const KernelSpec& spec) {
  return static_cast<size_t>(shuffled_rows(spec.in[0].shape)) * sizeof(int64_t);
}

void shuffle_cpu(const KernelArgs& args) {
  const TensorView& data = args.in[0];
  const int64_t rows = shuffled_rows(data.shape);
  int64_t* const order = reinterpret_cast<int64_t*>(args.scratch.data());
  shuffle_order(args.random, {order, static_cast<size_t>(rows)});
  const auto bytes = static_cast<size_t>(data.bytes() / rows);
  for (int64_t i = 0; i < rows; ++i) {
    std::memcpy(static_cast<std::byte*>(args.out[0].data) + static_cast<size_t>(i) * bytes,
                static_cast<const std::byte*>(data.data) + static_cast<size_t>(order[i]) * bytes, bytes);
  }
}

}  // namespace

void shuffle_order(const RandomStream& random, std::span<int64_t> order) {
  std::iota(order.begin(), order.end(), int64_t{0});
  PhiloxStream stream(random, 0);
  for (size_t i = order.size(); i-- > 1;) {
    const auto range = static_cast<unsigned __int128>(i + 1);
    std::swap(order[i], order[static_cast<size_t>((range * stream.next64()) >> 64)]);
  }
}

void kernels_random(OpTable& table) {
  distribution<Uniform>(table);
  distribution<Normal>(table);
  distribution<Gamma>(table);
  distribution<Exponential>(table);
  distribution<Poisson>(table);
  distribution<NegativeBinomial>(table);
  distribution<GeneralizedNegativeBinomial>(table);
  table.kernel<randint_cpu>("_random_randint", "randint_cpu");
  table.kernel<multinomial_cpu, multinomial_scratch>("_sample_multinomial", "multinomial_cpu");
  table.kernel<shuffle_cpu, shuffle_scratch>("_shuffle", "shuffle_cpu");
}

void gradients_random(OpTable& table) {
  table.kernel<backward_multinomial_cpu>("_backward_sample_multinomial", "backward_multinomial_cpu");
}

}  // namespace loomix::ops
