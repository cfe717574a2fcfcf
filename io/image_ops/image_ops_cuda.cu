// SPDX-License-Identifier: Apache-2.0
#include "engine/device/cuda/element.h"
#include "io/image_ops/image_numbers_cuda.h"
#include "io/kernels_cuda.h"
#include "ops/cuda/index.h"
#include "ops/cuda/reduce.h"
#include "ops/cuda/stream.h"

// Images are small beside what networks do with them: kernels are compiled once for all types.
namespace loomix::io {
namespace {

using namespace cuda;
using ops::KernelSpec;
using ops::Support;

constexpr int kMostChannels = 4;   // of pixels whose colours change
constexpr int kMostNumbers = 64;   // in the lists of normalize
constexpr int kMostConstants = 8;  // of a margin

// fn(i) for each element of the result.
template <class Fn>
void each_element(const KernelArgs& args, const Fn& fn) {
  launch_each(stream_of(args), args.out[0].size(), fn);
}

// ---- pixels that move ----------------------------------------------------------------------------------------------------

// Where pixel (y, x) of the result comes from. Beyond the source there is a margin of type `border`.
struct Source {
  int64_t height, width, down, across;
  bool turn_down, turn_across;
  int border;
  __device__ int64_t row(int64_t y) const {
    return border_place(turn_down ? height - 1 - y : y + down, height, border);
  }
  __device__ int64_t column(int64_t x) const {
    return border_place(turn_across ? width - 1 - x : x + across, width, border);
  }
};

template <class T>
struct Constants {
  T of[kMostConstants] = {}, rest{};
};

template <class T>
struct MovePixels {
  Divider channels, width, height;  // of the result
  Source source;
  Constants<T> constants;
  const T* in;
  T* out;
  __device__ void operator()(int64_t at) const {
    const int64_t pixel = channels.quotient(at), line = width.quotient(pixel), image = height.quotient(line);
    const int64_t c = at - pixel * channels.divisor();
    const int64_t row = source.row(line - image * height.divisor());
    const int64_t column = source.column(pixel - line * width.divisor());
    if (row < 0 || column < 0) {
      out[at] = c < kMostConstants ? constants.of[c] : constants.rest;
      return;
    }
    out[at] = in[((image * source.height + row) * source.width + column) * channels.divisor() + c];
  }
};

template <class T>
void move_pixels(const Source& source, const Constants<T>& constants, const KernelArgs& args) {
  const Pictures to = pictures(args.out[0].shape);
  each_element(args,
               MovePixels<T>{Divider(to.channels), Divider(to.width), Divider(to.height), source, constants,
                             static_cast<const T*>(args.in[0].data), static_cast<T*>(args.out[0].data)});
}
void move_pixels(const Source& source, const KernelArgs& args) {
  dispatch_bits(args.out[0].dtype, [&]<class T>(Type<T>) { move_pixels<T>(source, Constants<T>{}, args); });
}

Source source_of(const KernelArgs& args, int64_t down, int64_t across) {
  const Pictures from = pictures(args.in[0].shape);
  return {from.height, from.width, down, across, false, false, 0};
}

void crop_cuda(const CropParams& p, const KernelArgs& args) { move_pixels(source_of(args, p.y, p.x), args); }
void crop_backward_cuda(const CropParams& p, const KernelArgs& args) {
  move_pixels(source_of(args, -p.y, -p.x), args);
}

template <bool kRows, bool kRandom>
void flip_cuda(const KernelArgs& args) {
  Source source = source_of(args, 0, 0);
  if (!kRandom || flips(args.random)) (kRows ? source.turn_down : source.turn_across) = true;
  move_pixels(source, args);
}

Support border_support(const BorderParams& p, const KernelSpec&) {
  return p.values.size() <= kMostConstants ? Support::yes() : Support::no("it has more constants than fit");
}
void border_cuda(const BorderParams& p, const KernelArgs& args) {
  Source source = source_of(args, -p.top, -p.left);
  source.border = p.type;
  dispatch_numeric(args.out[0].dtype, "copyMakeBorder", [&]<class T>(Type<T>) {
    Constants<T> constants;
    for (int c = 0; c <= kMostConstants; ++c) {
      T& constant = c < kMostConstants ? constants.of[c] : constants.rest;
      constant = to_value<T>(static_cast<float>(border_constant(p, c)));
    }
    move_pixels<T>(source, constants, args);
  });
}

// ---- numbers that change -------------------------------------------------------------------------------------------------

struct ToTensor {
  Divider pixels, channels;
  AnyArray in;
  float* out;
  __device__ void operator()(int64_t at) const {
    const int64_t plane = pixels.quotient(at), image = channels.quotient(plane);
    const int64_t pixel = image * pixels.divisor() + at - plane * pixels.divisor();
    out[at] =
        static_cast<float>(in[pixel * channels.divisor() + plane - image * channels.divisor()]) / 255.0f;
  }
};
void to_tensor_cuda(const KernelArgs& args) {
  const Pictures p = pictures(args.in[0].shape);
  each_element(args, ToTensor{Divider(p.height * p.width), Divider(p.channels), AnyArray(args.in[0]),
                              args.out[0].mutable_as<float>()});
}

struct Normalize {
  Divider plane, channels;
  AnyArray in;
  ImageNumbers out;
  float mean[kMostNumbers], deviation[kMostNumbers];
  bool one_mean, one_deviation;
  __device__ void operator()(int64_t at) const {
    const int64_t unit = plane.quotient(at);
    const int64_t c = unit - channels.quotient(unit) * channels.divisor();
    out.set(at, (static_cast<float>(in[at]) - mean[one_mean ? 0 : c]) / deviation[one_deviation ? 0 : c]);
  }
};
Support normalize_support(const NormalizeOpParams& p, const KernelSpec&) {
  return p.mean.size() <= kMostNumbers && p.std.size() <= kMostNumbers
             ? Support::yes()
             : Support::no("it has more channels than fit");
}
template <bool kForward>
void normalize_cuda(const NormalizeOpParams& p, const KernelArgs& args) {
  const Shape& shape = args.in[0].shape;
  const int axis = shape.ndim() - 3;
  Normalize normalize{Divider(shape[axis + 1] * shape[axis + 2]),
                      Divider(shape[axis]),
                      AnyArray(args.in[0]),
                      ImageNumbers(args.out[0]),
                      {},
                      {},
                      p.mean.size() == 1,
                      p.std.size() == 1};
  if (kForward) std::copy(p.mean.begin(), p.mean.end(), normalize.mean);
  std::copy(p.std.begin(), p.std.end(), normalize.deviation);
  each_element(args, normalize);
}

// ---- colours that change -------------------------------------------------------------------------------------------------

struct Pixel {
  float of[kMostChannels];
};

struct ColourPixels {
  Divider channels;
  AnyArray in;
  __device__ Pixel read(int64_t pixel) const {
    Pixel values{};
    for (int c = 0; c < channels.divisor(); ++c)
      values.of[c] = static_cast<float>(in[pixel * channels.divisor() + c]);
    return values;
  }
  __device__ float gray(const Pixel& pixel) const {
    return channels.divisor() >= 3 ? gray_of(pixel.of) : pixel.of[0];
  }
  // `mean`: of the grey of the image, for contrast.
  __device__ void change(const ColourSteps::Step& step, float mean, Pixel& pixel) const {
    const bool is_grey = channels.divisor() == 1;
    switch (step.kind) {
      case ColourChange::brightness:
        for (float& value : pixel.of) value *= step.factor;
        break;
      case ColourChange::contrast:
        for (float& value : pixel.of) value = value * step.factor + mean * (1 - step.factor);
        break;
      case ColourChange::saturation: {
        if (is_grey) break;
        const float share = gray_of(pixel.of) * (1 - step.factor);
        for (float& value : pixel.of) value = value * step.factor + share;
        break;
      }
      case ColourChange::hue:
        if (!is_grey) turn_hue(pixel.of, step.factor);
        break;
    }
  }
};

// The mean grey of each image after the first `steps.count` changes: a block an image.
__global__ void __launch_bounds__(kThreads)
    gray_means(ColourPixels pixels, int64_t count, ColourSteps steps, float* means) {
  double sum = 0;
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) {
    Pixel pixel = pixels.read(blockIdx.x * count + i);
    for (int k = 0; k < steps.count; ++k) pixels.change(steps.step[k], 0, pixel);
    sum += static_cast<double>(pixels.gray(pixel));
  }
  sum = merge_block(sum, 0.0, Plus{});
  if (threadIdx.x == 0) means[blockIdx.x] = static_cast<float>(sum / static_cast<double>(count));
}

__global__ void change_pixels(int64_t count, Divider image, ColourPixels pixels, ColourSteps steps,
                              const float* means, ImageNumbers out) {
  for (const int64_t i : own_items(count)) {
    Pixel pixel = pixels.read(i);
    for (int k = 0; k < steps.count; ++k) {
      const bool needs_mean = steps.step[k].kind == ColourChange::contrast;
      pixels.change(steps.step[k], needs_mean ? means[image.quotient(i)] : 0.0f, pixel);
    }
    for (int c = 0; c < pixels.channels.divisor(); ++c)
      out.set_cut(i * pixels.channels.divisor() + c, pixel.of[c]);
  }
}

Support colour_support(const KernelSpec& spec) {
  return pictures(spec.in[0].shape).channels <= kMostChannels
             ? Support::yes()
             : Support::no("its images have more than four channels");
}
size_t colour_scratch(const KernelSpec& spec) {
  return static_cast<size_t>(pictures(spec.in[0].shape).count) * sizeof(float);
}

void change_colours(const KernelArgs& args, const ColourSteps& steps) {
  const Pictures p = pictures(args.in[0].shape);
  const int64_t size = p.height * p.width, count = p.count * size;
  const ColourPixels pixels{Divider(p.channels), AnyArray(args.in[0])};
  auto* const means = reinterpret_cast<float*>(args.scratch.data());
  for (int i = 0; i < steps.count; ++i) {
    const ColourChange::Kind kind = steps.step[i].kind;
    const bool needs_colours = kind == ColourChange::saturation || kind == ColourChange::hue;
    if (needs_colours && p.channels != 1) check_colours(p, "image");
    if (kind != ColourChange::contrast) continue;
    ColourSteps before = steps;
    before.count = i;
    launch(gray_means, {static_cast<unsigned>(p.count), kThreads}, stream_of(args), pixels, size, before,
           means);
  }
  launch(change_pixels, grid_for(count), stream_of(args), count, Divider(size), pixels, steps, means,
         ImageNumbers(args.out[0]));
}

template <ColourChange::Kind kKind>
void random_colour_cuda(const FactorParams& p, const KernelArgs& args) {
  change_colours(args, ColourSteps::drawn(kKind, p, args.random));
}
void jitter_cuda(const JitterParams& p, const KernelArgs& args) {
  change_colours(args, ColourSteps::drawn(p, args.random));
}

struct AddShift {
  Shift shift;
  AnyArray in;
  ImageNumbers out;
  bool is_grey;
  __device__ void operator()(int64_t i) const {
    out.set_cut(i, static_cast<float>(in[i]) + (is_grey ? 0.0f : shift.of[i % 3]));
  }
};
void add_shift(const Shift& shift, const KernelArgs& args) {
  const Pictures p = pictures(args.in[0].shape);
  if (p.channels != 1) check_colours(p, "image");
  each_element(args, AddShift{shift, AnyArray(args.in[0]), ImageNumbers(args.out[0]), p.channels == 1});
}
void lighting_cuda(const LightingParams& p, const KernelArgs& args) { add_shift(Shift::given(p), args); }
void random_lighting_cuda(const RandomLightingParams& p, const KernelArgs& args) {
  add_shift(Shift::drawn(p, args.random), args);
}

constexpr DeviceType kGpu = DeviceType::gpu;

template <auto Run>
void add_colour(ops::KernelList& list, const char* op) {
  list.kernel<Run, colour_support, colour_scratch>(op, "colour_cuda", kGpu);
}

}  // namespace

void kernels_image_ops_cuda(ops::KernelList& list) {
  list.kernel<crop_cuda>("_image_crop", "image_crop_cuda", kGpu);
  list.kernel<crop_backward_cuda>("_backward_image_crop", "image_crop_backward_cuda", kGpu);
  list.kernel<flip_cuda<false, false>>("_image_flip_left_right", "flip_cuda", kGpu);
  list.kernel<flip_cuda<true, false>>("_image_flip_top_bottom", "flip_cuda", kGpu);
  list.kernel<flip_cuda<false, true>>("_image_random_flip_left_right", "flip_cuda", kGpu);
  list.kernel<flip_cuda<true, true>>("_image_random_flip_top_bottom", "flip_cuda", kGpu);
  list.kernel<border_cuda, border_support>("_cvcopyMakeBorder", "border_cuda", kGpu);
  list.kernel<to_tensor_cuda>("_image_to_tensor", "to_tensor_cuda", kGpu);
  list.kernel<normalize_cuda<true>, normalize_support>("_image_normalize", "normalize_cuda", kGpu);
  list.kernel<normalize_cuda<false>, normalize_support>("_backward_image_normalize", "normalize_cuda", kGpu);
  add_colour<random_colour_cuda<ColourChange::brightness>>(list, "_image_random_brightness");
  add_colour<random_colour_cuda<ColourChange::contrast>>(list, "_image_random_contrast");
  add_colour<random_colour_cuda<ColourChange::saturation>>(list, "_image_random_saturation");
  add_colour<random_colour_cuda<ColourChange::hue>>(list, "_image_random_hue");
  add_colour<jitter_cuda>(list, "_image_random_color_jitter");
  list.kernel<lighting_cuda>("_image_adjust_lighting", "lighting_cuda", kGpu);
  list.kernel<random_lighting_cuda>("_image_random_lighting", "lighting_cuda", kGpu);
}

}  // namespace loomix::io
