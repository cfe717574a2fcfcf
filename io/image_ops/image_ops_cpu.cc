// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "io/image/resize.h"
#include "io/image_ops/image_rules.h"

namespace loomix::io {
namespace {

// Calls change(values, images) on each image as floats.
template <class Change>
void change_floats(const KernelArgs& args, const Change& change) {
  if (args.req[0] == ops::Req::null || args.in[0].size() == 0) return;
  Pictures p = pictures(args.in[0].shape);
  const int64_t count = std::exchange(p.count, 1);
  std::vector<float> values(static_cast<size_t>(p.size()));
  dispatch_numeric(args.in[0].dtype, "image", [&]<class T>(Type<T>) {
    const T* in = args.in[0].as<T>();
    T* out = args.out[0].mutable_as<T>();
    for (int64_t n = 0; n < count; ++n, in += p.size(), out += p.size()) {
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(in[i]);
      change(std::span(values), p);
      for (size_t i = 0; i < values.size(); ++i)  // fractions are cut off, as in MXNet
        out[i] = to_value<T>(std::is_integral_v<T> ? std::trunc(values[i]) : values[i]);
    }
  });
}

template <class Values>
void change_colour(ColourChange::Kind kind, float factor, Values values, const Pictures& p) {
  if (kind == ColourChange::brightness) {
    for (float& value : values) value *= factor;
    return;
  }
  if (kind == ColourChange::contrast) {
    double sum = 0;
    for (size_t i = 0; i < values.size(); i += size_t(p.channels))
      sum += p.channels >= 3 ? gray_of(&values[i]) : values[i];
    const auto mean = static_cast<float>(sum / std::max<double>(1, double(p.height) * double(p.width)));
    for (float& value : values) value = value * factor + mean * (1 - factor);
    return;
  }
  if (p.channels == 1) return;  // grey already
  check_colours(p, "image");
  if (kind == ColourChange::saturation) {
    for (size_t i = 0; i < values.size(); i += 3) {
      const float gray = gray_of(&values[i]) * (1 - factor);
      for (size_t c = 0; c < 3; ++c) values[i + c] = values[i + c] * factor + gray;
    }
    return;
  }
  for (size_t i = 0; i < values.size(); i += 3) turn_hue(&values[i], factor);
}

void add_shift(std::span<float> values, const Pictures& p, const Shift& shift) {
  if (p.channels == 1) return;
  check_colours(p, "image");
  for (size_t i = 0; i < values.size(); ++i) values[i] += shift.of[i % 3];
}

void resize_pictures(const KernelArgs& args, int interp) {
  if (args.req[0] == ops::Req::null || args.out[0].size() == 0) return;
  const Pictures from = pictures(args.in[0].shape), to = pictures(args.out[0].shape);
  const auto run = [&]<class T>(const T* in, T* out) {
    Resizer resizer;
    const Interpolation method =
        choose_interpolation(interp, int(from.height), int(from.width), int(to.height), int(to.width), 0);
    for (int64_t n = 0; n < from.count; ++n, in += from.size(), out += to.size()) {
      resizer.run<T>(in, from.row(), int(from.height), int(from.width), int(from.channels), out,
                     int(to.height), int(to.width), method);
    }
  };
  if (args.in[0].dtype == DType::uint8)
    return run(args.in[0].as<uint8_t>(), args.out[0].mutable_as<uint8_t>());
  if (args.in[0].dtype == DType::float32) return run(args.in[0].as<float>(), args.out[0].mutable_as<float>());
  dispatch_numeric(args.in[0].dtype, "resize", [&]<class T>(Type<T>) {
    const T* in = args.in[0].as<T>();
    std::vector<double> wide(static_cast<size_t>(args.in[0].size())),
        made(static_cast<size_t>(args.out[0].size()));
    for (size_t i = 0; i < wide.size(); ++i) wide[i] = static_cast<double>(in[i]);
    run(wide.data(), made.data());
    T* out = args.out[0].mutable_as<T>();
    for (size_t i = 0; i < made.size(); ++i) out[i] = to_value<T>(static_cast<float>(made[i]));
  });
}

// Copies rows of `bytes` bytes from one place to the other.
void copy_rows(const std::byte* in, int64_t in_stride, std::byte* out, int64_t out_stride, int64_t rows,
               int64_t bytes) {
  for (int64_t y = 0; y < rows; ++y) std::memcpy(out + y * out_stride, in + y * in_stride, size_t(bytes));
}

}  // namespace

void cv_resize_cpu(const CvResizeParams& p, const KernelArgs& args) { resize_pictures(args, p.interp); }
void resize_cpu(const ResizeParams& p, const KernelArgs& args) { resize_pictures(args, p.interp); }

void border_cpu(const BorderParams& p, const KernelArgs& args) {
  if (args.req[0] == ops::Req::null) return;
  const Pictures from = pictures(args.in[0].shape), to = pictures(args.out[0].shape);
  dispatch_numeric(args.in[0].dtype, "copyMakeBorder", [&]<class T>(Type<T>) {
    const T* in = args.in[0].as<T>();
    T* out = args.out[0].mutable_as<T>();
    for (int64_t n = 0; n < to.count; ++n, in += from.size()) {
      for (int64_t y = 0; y < to.height; ++y) {
        const int64_t row = border_place(y - p.top, from.height, p.type);
        for (int64_t x = 0; x < to.width; ++x) {
          const int64_t column = border_place(x - p.left, from.width, p.type);
          for (int64_t c = 0; c < to.channels; ++c, ++out) {
            if (row >= 0 && column >= 0) {
              *out = in[row * from.row() + column * from.channels + c];
            } else {
              *out = to_value<T>(static_cast<float>(border_constant(p, c)));
            }
          }
        }
      }
    }
  });
}

void to_tensor_cpu(const NoParams&, const KernelArgs& args) {
  if (args.req[0] == ops::Req::null) return;
  const Pictures p = pictures(args.in[0].shape);
  float* out = args.out[0].mutable_as<float>();
  const int64_t pixels = p.height * p.width;
  dispatch_numeric(args.in[0].dtype, "to_tensor", [&]<class T>(Type<T>) {
    const T* in = args.in[0].as<T>();
    for (int64_t n = 0; n < p.count; ++n, in += p.size()) {
      for (int64_t c = 0; c < p.channels; ++c) {
        for (int64_t i = 0; i < pixels; ++i) *out++ = static_cast<float>(in[i * p.channels + c]) / 255.0f;
      }
    }
  });
}

namespace {

// value * factor + shift for each plane; the backward pass leaves out the mean.
void normalize_planes(const NormalizeOpParams& p, const KernelArgs& args, bool forward) {
  if (args.req[0] == ops::Req::null || args.in[0].size() == 0) return;
  const Shape& shape = args.in[0].shape;
  const int axis = shape.ndim() - 3;
  const int64_t channels = shape[axis], plane = shape[axis + 1] * shape[axis + 2];
  const int64_t count = args.in[0].size() / plane;
  const auto of = [](const std::vector<float>& list, int64_t c) {
    return list.size() == 1 ? list[0] : list[size_t(c)];
  };
  dispatch_numeric(args.in[0].dtype, "normalize", [&]<class T>(Type<T>) {
    const T* in = args.in[0].as<T>();
    T* out = args.out[0].mutable_as<T>();
    for (int64_t n = 0; n < count; ++n) {
      const float mean = forward ? of(p.mean, n % channels) : 0, deviation = of(p.std, n % channels);
      for (int64_t i = 0; i < plane; ++i, ++in, ++out)
        *out = to_value<T>((static_cast<float>(*in) - mean) / deviation);
    }
  });
}

}  // namespace

void normalize_cpu(const NormalizeOpParams& p, const KernelArgs& args) { normalize_planes(p, args, true); }
void normalize_backward_cpu(const NormalizeOpParams& p, const KernelArgs& args) {
  normalize_planes(p, args, false);
}

void crop_cpu(const CropParams& p, const KernelArgs& args) {
  if (args.req[0] == ops::Req::null) return;
  const Pictures from = pictures(args.in[0].shape), to = pictures(args.out[0].shape);
  const int64_t item = size_of(args.in[0].dtype);
  const auto* in =
      static_cast<const std::byte*>(args.in[0].data) + (p.y * from.row() + p.x * from.channels) * item;
  auto* out = static_cast<std::byte*>(args.out[0].data);
  for (int64_t n = 0; n < from.count; ++n, in += from.size() * item, out += to.size() * item) {
    copy_rows(in, from.row() * item, out, to.row() * item, to.height, to.row() * item);
  }
}

void crop_backward_cpu(const CropParams& p, const KernelArgs& args) {
  if (args.req[0] == ops::Req::null) return;
  const Pictures part = pictures(args.in[0].shape), whole = pictures(args.out[0].shape);
  const int64_t item = size_of(args.in[0].dtype);
  std::memset(args.out[0].data, 0, size_t(args.out[0].size() * item));
  const auto* in = static_cast<const std::byte*>(args.in[0].data);
  auto* out = static_cast<std::byte*>(args.out[0].data) + (p.y * whole.row() + p.x * whole.channels) * item;
  for (int64_t n = 0; n < part.count; ++n, in += part.size() * item, out += whole.size() * item) {
    copy_rows(in, part.row() * item, out, whole.row() * item, part.height, part.row() * item);
  }
}

template <bool kRows, bool kRandom>
void flip_cpu(const NoParams&, const KernelArgs& args) {
  if (args.req[0] == ops::Req::null || args.in[0].size() == 0) return;
  const Pictures p = pictures(args.in[0].shape);
  const int64_t item = size_of(args.in[0].dtype), pixel = p.channels * item, row = p.row() * item;
  const auto* in = static_cast<const std::byte*>(args.in[0].data);
  auto* out = static_cast<std::byte*>(args.out[0].data);
  if (kRandom && !flips(args.random)) {
    std::memcpy(out, in, size_t(p.count * p.height * row));
    return;
  }
  for (int64_t n = 0; n < p.count; ++n) {
    for (int64_t y = 0; y < p.height; ++y, out += row) {
      const std::byte* from = in + (n * p.height + (kRows ? p.height - 1 - y : y)) * row;
      if constexpr (kRows) {
        std::memcpy(out, from, size_t(row));
      } else {
        for (int64_t x = 0; x < p.width; ++x)
          std::memcpy(out + x * pixel, from + (p.width - 1 - x) * pixel, size_t(pixel));
      }
    }
  }
}
template void flip_cpu<false, false>(const NoParams&, const KernelArgs&);
template void flip_cpu<true, false>(const NoParams&, const KernelArgs&);
template void flip_cpu<false, true>(const NoParams&, const KernelArgs&);
template void flip_cpu<true, true>(const NoParams&, const KernelArgs&);

namespace {

void change_colours(const KernelArgs& args, const ColourSteps& steps) {
  change_floats(args, [&](std::span<float> values, const Pictures& size) {
    for (int i = 0; i < steps.count; ++i)
      change_colour(steps.step[i].kind, steps.step[i].factor, values, size);
  });
}

}  // namespace

template <ColourChange::Kind kKind>
void random_colour_cpu(const FactorParams& p, const KernelArgs& args) {
  change_colours(args, ColourSteps::drawn(kKind, p, args.random));
}
template void random_colour_cpu<ColourChange::brightness>(const FactorParams&, const KernelArgs&);
template void random_colour_cpu<ColourChange::contrast>(const FactorParams&, const KernelArgs&);
template void random_colour_cpu<ColourChange::saturation>(const FactorParams&, const KernelArgs&);
template void random_colour_cpu<ColourChange::hue>(const FactorParams&, const KernelArgs&);

void jitter_cpu(const JitterParams& p, const KernelArgs& args) {
  change_colours(args, ColourSteps::drawn(p, args.random));
}

void lighting_cpu(const LightingParams& p, const KernelArgs& args) {
  const Shift shift = Shift::given(p);
  change_floats(args, [&](std::span<float> values, const Pictures& size) { add_shift(values, size, shift); });
}

void random_lighting_cpu(const RandomLightingParams& p, const KernelArgs& args) {
  const Shift shift = Shift::drawn(p, args.random);
  change_floats(args, [&](std::span<float> values, const Pictures& size) { add_shift(values, size, shift); });
}

}  // namespace loomix::io
