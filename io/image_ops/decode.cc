// SPDX-License-Identifier: Apache-2.0
// Images from encoded bytes. Their size is known when they are decoded, so these operators work on arrays only.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/error.h"
#include "io/image/codec.h"
#include "io/image_ops/image_ops.h"

namespace loomix::io {
namespace {

void decode_into(std::span<const uint8_t> file, int flag, bool to_rgb, const ops::KernelArgs& args) {
  DecodeOptions options;
  options.color = static_cast<Color>(flag);
  Image image = decode_image(file, options);
  const int64_t channels = image.channels();
  if (!to_rgb && channels >= 3) {
    for (size_t i = 0; i < image.bytes(); i += static_cast<size_t>(channels))
      std::swap(image.data()[i], image.data()[i + 2]);
  }
  const TensorView out = args.deferred->allocate(0, Shape{image.height(), image.width(), channels});
  std::memcpy(out.data, image.data(), image.bytes());
}

void cv_decode_cpu(const DecodeParams& p, const ops::KernelArgs& args) {
  const TensorView& bytes = args.in[0];
  decode_into({bytes.as<uint8_t>(), static_cast<size_t>(bytes.size())}, p.flag, p.to_rgb, args);
}

void cv_read_cpu(const ReadParams& p, const ops::KernelArgs& args) {
  std::ifstream stream(p.filename, std::ios::binary);
  LOOMIX_CHECK(stream.good(), FileError, "[_cvimread] cannot read {}.", p.filename);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
  LOOMIX_CHECK(!stream.bad(), FileError, "[_cvimread] cannot read {}.", p.filename);
  try {
    decode_into({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, p.flag, p.to_rgb, args);
  } catch (Error& error) {
    error.add_context(fmt::format("in file {}", p.filename));
    throw;
  }
}

void uint8_output(ops::TypeInfer& t) { t.set_out(0, DType::uint8); }

}  // namespace

void register_decode(ops::OpTable& table) {
  table.add<DecodeParams>("_cvimdecode", {"buf"})
      .doc("The pixels (H, W, C) of an encoded image, whose bytes are `buf`.")
      .data_dependent()
      .no_symbol()
      .infer_shape([](const DecodeParams&, ops::ShapeInfer& s) {
        LOOMIX_CHECK(!s.in(0).ndim_known() || s.in(0).ndim() == 1, ShapeError,
                     "[{}] buf has shape {}; expected one axis, the bytes of a file.", s.who(),
                     s.in(0).to_string());
      })
      .infer_type([](const DecodeParams&, ops::TypeInfer& t) {
        t.set_in(0, DType::uint8);
        uint8_output(t);
      });
  table.kernel<cv_decode_cpu>("_cvimdecode", "cv_decode_cpu");
  table.add<ReadParams>("_cvimread")
      .doc("The pixels (H, W, C) of the image in a file.")
      .data_dependent()
      .no_symbol()
      .infer_shape([](const ReadParams&, ops::ShapeInfer&) {})
      .infer_type([](const ReadParams&, ops::TypeInfer& t) { uint8_output(t); });
  table.kernel<cv_read_cpu>("_cvimread", "cv_read_cpu");
}

}  // namespace loomix::io
