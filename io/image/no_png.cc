// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "io/image/formats.h"

namespace loomix::io {

void decode_png(std::span<const uint8_t>, Color, Image&) {
  detail::throw_error<NotImplementedError>(
      "[decode_image] this build has no libpng, so it cannot read PNGs.");
}

std::vector<uint8_t> encode_png(const ImageView&, int) {
  detail::throw_error<NotImplementedError>("[encode_png] this build has no libpng, so it cannot write PNGs.");
}

}  // namespace loomix::io
