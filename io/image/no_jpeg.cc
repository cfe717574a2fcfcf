// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "io/image/jpeg_decoder.h"

namespace loomix::io {
namespace {

[[noreturn]] void refuse(const char* who) {
  detail::throw_error<NotImplementedError>("[{}] this build has no libjpeg-turbo, so it cannot handle JPEGs.",
                                           who);
}

}  // namespace

struct JpegDecoder::State {};

JpegDecoder::JpegDecoder() = default;
JpegDecoder::JpegDecoder(JpegDecoder&&) noexcept = default;
JpegDecoder& JpegDecoder::operator=(JpegDecoder&&) noexcept = default;
JpegDecoder::~JpegDecoder() = default;
void JpegDecoder::open(std::span<const uint8_t>) { refuse("decode_image"); }
void JpegDecoder::start(Color, int) { refuse("decode_image"); }
int JpegDecoder::height() const { return 0; }
int JpegDecoder::width() const { return 0; }
int JpegDecoder::channels() const { return 0; }
void JpegDecoder::skip(int) { refuse("decode_image"); }
void JpegDecoder::read(uint8_t*, size_t, int) { refuse("decode_image"); }
void JpegDecoder::finish() { refuse("decode_image"); }

std::vector<uint8_t> encode_jpeg(const ImageView&, int) { refuse("encode_jpeg"); }

}  // namespace loomix::io
