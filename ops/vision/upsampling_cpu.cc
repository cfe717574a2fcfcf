// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "engine/parallel_for.h"
#include "ops/table.h"
#include "ops/vision/vision.h"

namespace loomix::ops {
namespace {

constexpr int64_t kElementsPerThread = 16384;

// One row of the output: each element of the input `scale` times.
template <class T>
void repeat(const T* in, int64_t size, int64_t scale, bool add, T* out) {
  const auto put = [&](auto times) {
    for (int64_t i = 0; i < size; ++i) {
      for (int64_t j = 0; j < times; ++j) {
        T& to = out[i * times + j];
        to = add ? static_cast<T>(static_cast<Accum<T>>(to) + static_cast<Accum<T>>(in[i])) : in[i];
      }
    }
  };
  if (scale == 2) put(std::integral_constant<int64_t, 2>());
  else put(scale);
}

// The planes of input i lie at [first, first + channels) of the channels of the output.
struct Part {
  int64_t first, channels, height, width, scale;
};

Part part_of(const UpSamplingParams& p, std::span<const TensorView> inputs, int64_t i, const Shape& out) {
  Part part{0, inputs[static_cast<size_t>(i)].shape[1], inputs[static_cast<size_t>(i)].shape[2],
            inputs[static_cast<size_t>(i)].shape[3], 0};
  part.scale = out[2] / std::max<int64_t>(part.height, 1);
  for (int64_t before = 0; p.multi_input_mode == MultiInput::concat && before < i; ++before) {
    part.first += inputs[static_cast<size_t>(before)].shape[1];
  }
  return part;
}

// Calls fn(plane of the part, plane of the output).
template <class Fn>
void each_plane(const Part& part, const Shape& out, const KernelArgs& args, Fn&& fn) {
  const int64_t grain = kElementsPerThread / std::max<int64_t>(1, out[2] * out[3]);
  engine::parallel_each(*args.context, out[0] * part.channels, grain, [&](int64_t i) {
    fn(i, i / part.channels * out[1] + part.first + i % part.channels);
  });
}

Support upsampling_nearest_support(const UpSamplingParams& p, const KernelSpec&) {
  return p.sample_type == SampleType::nearest ? Support::yes() : Support::no("it is for nearest sampling");
}

Support upsampling_gemm_support(const UpSamplingParams&, const KernelSpec& spec) {
  return spec.in[0].dtype == DType::float32 ? Support::yes() : Support::no("it is for float32");
}

void upsampling_nearest_cpu(const UpSamplingParams& p, const KernelArgs& args) {
  const Shape& shape = args.out[0].shape;
  dispatch_floating(args.out[0].dtype, "UpSampling", [&]<class T>(Type<T>) {
    for (int64_t i = 0; i < p.num_args; ++i) {
      const Part part = part_of(p, args.in, i, shape);
      const bool add = p.multi_input_mode == MultiInput::sum && i > 0;
      const T* const in = args.in[static_cast<size_t>(i)].as<T>();
      T* const out = args.out[0].mutable_as<T>();
      each_plane(part, shape, args, [&](int64_t from, int64_t to) {
        const T* row = in + from * part.height * part.width;
        T* place = out + to * shape[2] * shape[3];
        for (int64_t y = 0; y < part.height; ++y, row += part.width) {
          T* const first = place;
          repeat(row, part.width, part.scale, add, place);
          place += shape[3];
          for (int64_t j = 1; j < part.scale; ++j, place += shape[3]) {
            if (add) repeat(row, part.width, part.scale, true, place);
            else std::copy_n(first, shape[3], place);
          }
        }
      });
    }
  });
}

void upsampling_bilinear_cpu(const UpSamplingParams& p, const KernelArgs& args) {
  conv_data_cpu(geometry_of(p, ConvPass::data, args.in, args.out), operands_of(p, ConvPass::data, args.in),
                args);
}

void upsampling_backward_cpu(const UpSamplingParams& p, const KernelArgs& args) {
  const Shape& shape = args.in[0].shape;
  dispatch_floating(args.in[0].dtype, "UpSampling", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const T* const grad = args.in[0].as<T>();
    for (int64_t i = 0; i < p.num_args; ++i) {
      const auto number = static_cast<size_t>(i);
      if (args.req[number] == Req::null || args.out[number].size() == 0) continue;
      const Part part = part_of(p, args.out, i, shape);
      T* const out = args.out[number].mutable_as<T>();
      each_plane(part, shape, args, [&](int64_t to, int64_t from) {
        const T* const head = grad + from * shape[2] * shape[3];
        T* const place = out + to * part.height * part.width;
        for (int64_t y = 0; y < part.height; ++y) {
          for (int64_t x = 0; x < part.width; ++x) {
            A sum = 0;
            for (int64_t j = 0; j < part.scale; ++j) {
              const T* const row = head + (y * part.scale + j) * shape[3] + x * part.scale;
              for (int64_t k = 0; k < part.scale; ++k) sum += static_cast<A>(row[k]);
            }
            place[y * part.width + x] = static_cast<T>(sum);
          }
        }
      });
    }
  });
}

}  // namespace

void kernels_upsampling(OpTable& table) {
  table.kernel<upsampling_nearest_cpu, upsampling_nearest_support>("UpSampling", "upsampling_nearest_cpu");
  table
      .prepared_kernel<UpSamplingParams, ConvKernel<UpSamplingParams, ConvDataGemm>, upsampling_gemm_support>(
          "UpSampling", "upsampling_gemm");
  table.kernel<upsampling_bilinear_cpu>("UpSampling", "upsampling_bilinear_cpu");
}

void gradients_upsampling(OpTable& table) {
  table.kernel<upsampling_backward_cpu>("_backward_UpSampling", "upsampling_backward_cpu");
}

}  // namespace loomix::ops
