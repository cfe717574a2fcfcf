// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <jpeglib.h>

#include <jerror.h>

#include "base/error.h"
#include "io/image/formats.h"
#include "io/image/jpeg_decoder.h"

// libjpeg reports errors by a function that must not return, so calls of it stand in `guarded`, which is jumped back to.
// Nothing in the guarded functions has a destructor.
namespace loomix::io {
namespace {

constexpr long kMaxMemory = 2L << 30;

struct ErrorManager {
  jpeg_error_mgr base;
  std::jmp_buf jump;
  char text[JMSG_LENGTH_MAX];
};

[[noreturn]] void fail(j_common_ptr info) {
  auto* manager = reinterpret_cast<ErrorManager*>(info->err);
  info->err->format_message(info, manager->text);
  std::longjmp(manager->jump, 1);  // NOLINT: libjpeg's interface
}

// Warnings tell of lost data, but for a few bytes too many between two markers.
void warn(j_common_ptr info, int level) {
  if (level < 0 && info->err->msg_code != JWRN_EXTRANEOUS_DATA && info->err->msg_code != JWRN_ADOBE_XFORM &&
      info->err->msg_code != JWRN_JFIF_MAJOR) {
    fail(info);
  }
}

void set_up(ErrorManager& manager) {
  jpeg_std_error(&manager.base);
  manager.base.error_exit = fail;
  manager.base.emit_message = warn;
  manager.base.output_message = [](j_common_ptr) {};
}

// Runs body() and returns false if libjpeg failed in it.
template <class Body>
bool guarded(ErrorManager& manager, const Body& body) {
  if (setjmp(manager.jump) != 0) return false;  // NOLINT: libjpeg's interface
  body();
  return true;
}

// Ink that is stored inverted, as Adobe does, to light.
void inks_to_rgb(const uint8_t* inks, uint8_t* out, int pixels) {
  for (int i = 0; i < pixels; ++i) {
    const int black = inks[4 * i + 3];
    for (int c = 0; c < 3; ++c) {
      const int ink = inks[4 * i + c];
      out[3 * i + c] = static_cast<uint8_t>(black - ((255 - ink) * black >> 8));
    }
  }
}

}  // namespace

struct JpegDecoder::State {
  jpeg_decompress_struct info = {};
  ErrorManager errors = {};
  bool created = false;
  Color color = Color::rgb;
  std::unique_ptr<uint8_t[]> inks;  // a row of four inks, and one of RGB

  State() { set_up(errors); }
  ~State() {
    if (created) jpeg_destroy_decompress(&info);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  template <class Body>
  void call(const Body& body) {
    if (guarded(errors, body)) return;
    jpeg_abort_decompress(&info);
    detail::throw_error<FileError>("[decode_image] the JPEG is damaged or cut off: {}.", errors.text);
  }
  bool has_inks() const { return info.out_color_space == JCS_CMYK; }
};

JpegDecoder::JpegDecoder() : state_(std::make_unique<State>()) {}
JpegDecoder::JpegDecoder(JpegDecoder&&) noexcept = default;
JpegDecoder& JpegDecoder::operator=(JpegDecoder&&) noexcept = default;
JpegDecoder::~JpegDecoder() = default;

void JpegDecoder::open(std::span<const uint8_t> file) {
  jpeg_decompress_struct& info = state_->info;
  if (state_->created) jpeg_abort_decompress(&info);
  state_->call([&] {
    if (!state_->created) {
      info.err = &state_->errors.base;
      jpeg_create_decompress(&info);
      state_->created = true;
      info.mem->max_memory_to_use = kMaxMemory;
    }
    info.err->num_warnings = 0;
    jpeg_mem_src(&info, file.data(), file.size());
    jpeg_read_header(&info, TRUE);
  });
  LOOMIX_CHECK(int64_t{info.image_width} * info.image_height <= kMaxPixels, FileError,
               "[decode_image] the JPEG says that it has {} x {} pixels; at most {} are allowed.",
               info.image_width, info.image_height, kMaxPixels);
}

void JpegDecoder::start(Color color, int denominator) {
  jpeg_decompress_struct& info = state_->info;
  if (color == Color::unchanged) color = info.num_components == 1 ? Color::gray : Color::rgb;
  state_->color = color;
  state_->call([&] {
    info.scale_num = 1;
    info.scale_denom = static_cast<unsigned>(denominator);
    const bool inks = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
    const bool light = info.jpeg_color_space == JCS_RGB;
    info.out_color_space = inks ? JCS_CMYK : color == Color::gray && !light ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_start_decompress(&info);
  });
  state_->inks.reset();
  if (state_->has_inks() || (color == Color::gray && info.out_color_space == JCS_RGB)) {
    state_->inks = std::make_unique_for_overwrite<uint8_t[]>(size_t{info.output_width} * 7);
  }
}

int JpegDecoder::height() const { return static_cast<int>(state_->info.output_height); }
int JpegDecoder::width() const { return static_cast<int>(state_->info.output_width); }
int JpegDecoder::channels() const { return state_->color == Color::gray ? 1 : 3; }

void JpegDecoder::skip(int rows) {
  if (rows <= 0) return;
  state_->call([&] { jpeg_skip_scanlines(&state_->info, static_cast<JDIMENSION>(rows)); });
}

void JpegDecoder::read(uint8_t* out, size_t stride, int rows) {
  jpeg_decompress_struct& info = state_->info;
  uint8_t* const wide = state_->inks.get();
  state_->call([&] {
    for (int y = 0; y < rows; ++y) {
      JSAMPROW row = wide ? wide : out + size_t(y) * stride;
      if (jpeg_read_scanlines(&info, &row, 1) != 1) ERREXIT(&info, JERR_INPUT_EOF);
      if (wide == nullptr) continue;
      const int pixels = static_cast<int>(info.output_width);
      const bool gray = state_->color == Color::gray;
      uint8_t* const target = out + size_t(y) * stride;
      uint8_t* const rgb = state_->has_inks() ? (gray ? wide + 4 * size_t{info.output_width} : target) : wide;
      if (state_->has_inks()) inks_to_rgb(wide, rgb, pixels);
      if (gray) convert_row(rgb, 3, target, 1, pixels);
    }
  });
}

void JpegDecoder::finish() {
  state_->call([&] { jpeg_finish_decompress(&state_->info); });
}

std::vector<uint8_t> encode_jpeg(const ImageView& image, int quality) {
  LOOMIX_CHECK(image.channels == 1 || image.channels == 3, ValueError,
               "[encode_jpeg] the image has {} channels; expected 1 or 3.", image.channels);
  LOOMIX_CHECK(image.width > 0 && image.height > 0 && image.width <= JPEG_MAX_DIMENSION &&
                   image.height <= JPEG_MAX_DIMENSION,
               ValueError, "[encode_jpeg] the image has {} x {} pixels; expected 1 to {} a side.",
               image.width, image.height, JPEG_MAX_DIMENSION);
  LOOMIX_CHECK(quality >= 1 && quality <= 100, ValueError, "[encode_jpeg] quality is {}; expected 1 to 100.",
               quality);
  ErrorManager errors;
  set_up(errors);
  jpeg_compress_struct info = {};
  info.err = &errors.base;
  unsigned char* memory = nullptr;
  unsigned long bytes = 0;  // NOLINT: libjpeg's type
  const bool ok = guarded(errors, [&] {
    jpeg_create_compress(&info);
    jpeg_mem_dest(&info, &memory, &bytes);
    info.image_width = static_cast<JDIMENSION>(image.width);
    info.image_height = static_cast<JDIMENSION>(image.height);
    info.input_components = image.channels;
    info.in_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&info);
    jpeg_set_quality(&info, quality, TRUE);
    jpeg_start_compress(&info, TRUE);
    for (int y = 0; y < image.height; ++y) {
      JSAMPROW row = const_cast<JSAMPROW>(image.row(y));
      jpeg_write_scanlines(&info, &row, 1);
    }
    jpeg_finish_compress(&info);
  });
  jpeg_destroy_compress(&info);
  const std::unique_ptr<unsigned char, void (*)(void*)> owner(memory, std::free);
  LOOMIX_CHECK(ok, InternalError, "[encode_jpeg] {}.", errors.text);
  return {memory, memory + bytes};
}

}  // namespace loomix::io
