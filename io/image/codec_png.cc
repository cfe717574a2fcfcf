// SPDX-License-Identifier: Apache-2.0
#include <csetjmp>
#include <cstring>
#include <string>

#include <png.h>

#include "base/error.h"
#include "io/image/formats.h"

// libpng reports errors by a function that must not return, so calls of it stand in `guarded`, which is jumped back to.
// Nothing in the guarded functions has a destructor.
namespace loomix::io {
namespace {

struct Context {
  std::jmp_buf jump;
  char text[256];
  const uint8_t* in = nullptr;
  size_t left = 0;
  std::vector<uint8_t>* out = nullptr;
};

[[noreturn]] void fail(png_structp png, png_const_charp text) {
  auto& context = *static_cast<Context*>(png_get_error_ptr(png));
  std::strncpy(context.text, text, sizeof context.text - 1);
  std::longjmp(context.jump, 1);  // NOLINT: libpng's interface
}
void ignore(png_structp, png_const_charp) {}

void read_bytes(png_structp png, png_bytep to, size_t count) {
  auto& context = *static_cast<Context*>(png_get_io_ptr(png));
  if (count > context.left) png_error(png, "the file is cut off");
  std::memcpy(to, context.in, count);
  context.in += count;
  context.left -= count;
}

void write_bytes(png_structp png, png_bytep from, size_t count) {
  auto& out = *static_cast<Context*>(png_get_io_ptr(png))->out;
  out.insert(out.end(), from, from + count);
}

template <class Body>
bool guarded(Context& context, const Body& body) {
  if (setjmp(context.jump) != 0) return false;  // NOLINT: libpng's interface
  body();
  return true;
}

class Reader {
 public:
  explicit Reader(std::span<const uint8_t> file) {
    context_.in = file.data();
    context_.left = file.size();
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &context_, fail, ignore);
    if (png_) info_ = png_create_info_struct(png_);
    LOOMIX_CHECK(info_ != nullptr, MemoryError, "[decode_image] libpng has no memory.");
  }
  ~Reader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  template <class Body>
  void call(const Body& body) {
    LOOMIX_CHECK(guarded(context_, body), FileError, "[decode_image] the PNG is damaged or cut off: {}.",
                 context_.text);
  }

  void decode(std::span<const uint8_t> file, Color color, Image& out) {
    call([&] {
      png_set_read_fn(png_, &context_, read_bytes);
      png_set_chunk_malloc_max(png_, 64 << 20);
      png_read_info(png_, info_);
    });
    const int64_t width = png_get_image_width(png_, info_), height = png_get_image_height(png_, info_);
    const int stored_bits = png_get_bit_depth(png_, info_) * png_get_channels(png_, info_);
    // Deflate makes at most 1032 bytes of one.
    LOOMIX_CHECK(width * height <= kMaxPixels &&
                     height * ((width * stored_bits + 7) / 8) / 1032 <= int64_t(file.size()),
                 FileError, "[decode_image] the PNG says that it has {} x {} pixels, too many for {} bytes.",
                 width, height, file.size());
    int channels = 0;
    call([&] {
      png_set_expand(png_);
      png_set_strip_16(png_);
      png_set_packing(png_);
      if (color != Color::unchanged) png_set_strip_alpha(png_);
      if (color == Color::rgb || png_get_color_type(png_, info_) == PNG_COLOR_TYPE_GRAY_ALPHA)
        png_set_gray_to_rgb(png_);
      passes_ = png_set_interlace_handling(png_);
      png_read_update_info(png_, info_);
      channels = png_get_channels(png_, info_);
    });
    out.reshape(static_cast<int>(height), static_cast<int>(width), channels);
    call([&] {
      for (int pass = 0; pass < passes_; ++pass) {
        for (int y = 0; y < out.height(); ++y) png_read_row(png_, out.row(y), nullptr);
      }
      png_read_end(png_, nullptr);
    });
    const int wanted = channels_for(color, channels);
    if (wanted == channels) return;
    Image converted(out.height(), out.width(), wanted);
    for (int y = 0; y < out.height(); ++y)
      convert_row(out.row(y), channels, converted.row(y), wanted, out.width());
    out = std::move(converted);
  }

 private:
  Context context_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  int passes_ = 1;
};

}  // namespace

void decode_png(std::span<const uint8_t> file, Color color, Image& out) {
  Reader(file).decode(file, color, out);
}

std::vector<uint8_t> encode_png(const ImageView& image, int compression) {
  LOOMIX_CHECK(image.channels == 1 || image.channels == 3 || image.channels == 4, ValueError,
               "[encode_png] the image has {} channels; expected 1, 3 or 4.", image.channels);
  LOOMIX_CHECK(image.width > 0 && image.height > 0, ValueError, "[encode_png] the image has {} x {} pixels.",
               image.width, image.height);
  LOOMIX_CHECK(compression >= 0 && compression <= 9, ValueError,
               "[encode_png] compression is {}; expected 0 to 9.", compression);
  std::vector<uint8_t> out;
  Context context;
  context.out = &out;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &context, fail, ignore);
  png_infop info = png ? png_create_info_struct(png) : nullptr;
  const bool ok =
      info && guarded(context, [&] {
        const int type = image.channels == 1   ? PNG_COLOR_TYPE_GRAY
                         : image.channels == 3 ? PNG_COLOR_TYPE_RGB
                                               : PNG_COLOR_TYPE_RGB_ALPHA;
        png_set_write_fn(png, &context, write_bytes, nullptr);
        png_set_compression_level(png, compression);
        if (compression <= 3) png_set_filter(png, 0, PNG_FILTER_SUB);
        png_set_IHDR(png, info, static_cast<png_uint_32>(image.width), static_cast<png_uint_32>(image.height),
                     8, type, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
        png_write_info(png, info);
        for (int y = 0; y < image.height; ++y) png_write_row(png, image.row(y));
        png_write_end(png, info);
      });
  png_destroy_write_struct(&png, &info);
  LOOMIX_CHECK(ok, InternalError, "[encode_png] libpng failed.");
  return out;
}

}  // namespace loomix::io
