/* SPDX-License-Identifier: Apache-2.0 */
#include "image.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <png.h>

enum { kMostPixels = 1 << 28 };

/* libjpeg calls this instead of exit(). */
struct failure {
  struct jpeg_error_mgr manager;
  jmp_buf back;
};

static void leave(j_common_ptr info) {
  char text[JMSG_LENGTH_MAX];
  info->err->format_message(info, text);
  fprintf(stderr, "JPEG: %s\n", text);
  longjmp(((struct failure*)info->err)->back, 1);
}

static int read_jpeg(FILE* file, Image* image) {
  struct jpeg_decompress_struct info;
  struct failure failure;
  info.err = jpeg_std_error(&failure.manager);
  failure.manager.error_exit = leave;
  image->pixels = NULL;
  if (setjmp(failure.back)) {
    jpeg_destroy_decompress(&info);
    free(image->pixels);
    return -1;
  }
  jpeg_create_decompress(&info);
  jpeg_stdio_src(&info, file);
  jpeg_read_header(&info, TRUE);
  info.out_color_space = JCS_RGB;
  jpeg_start_decompress(&info);
  image->width = (int)info.output_width;
  image->height = (int)info.output_height;
  const size_t row = (size_t)image->width * 3;
  if (row / 3 * (size_t)image->height <= kMostPixels) image->pixels = malloc(row * (size_t)image->height);
  if (!image->pixels) {
    fprintf(stderr, "JPEG: %d x %d pixels are too many\n", image->width, image->height);
    jpeg_destroy_decompress(&info);
    return -1;
  }
  while (info.output_scanline < info.output_height) {
    JSAMPROW to = image->pixels + info.output_scanline * row;
    jpeg_read_scanlines(&info, &to, 1);
  }
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
  return 0;
}

static int read_png(FILE* file, Image* image) {
  const png_color white = {255, 255, 255}; /* behind what is transparent */
  png_image png;
  memset(&png, 0, sizeof png);
  png.version = PNG_IMAGE_VERSION;
  image->pixels = NULL;
  if (!png_image_begin_read_from_stdio(&png, file)) goto failed;
  png.format = PNG_FORMAT_RGB;
  image->width = (int)png.width;
  image->height = (int)png.height;
  if ((size_t)png.width * png.height <= kMostPixels) image->pixels = malloc(PNG_IMAGE_SIZE(png));
  if (!image->pixels) {
    fprintf(stderr, "PNG: %d x %d pixels are too many\n", image->width, image->height);
    png_image_free(&png);
    return -1;
  }
  if (png_image_finish_read(&png, &white, image->pixels, 0, NULL)) return 0;
failed:
  fprintf(stderr, "PNG: %s\n", png.message);
  png_image_free(&png);
  free(image->pixels);
  return -1;
}

int read_image(const char* path, Image* image) {
  unsigned char start[8] = {0};
  FILE* const file = fopen(path, "rb");
  if (!file) {
    perror(path);
    return -1;
  }
  const size_t got = fread(start, 1, sizeof start, file);
  rewind(file);
  int result = -1;
  if (got == 8 && png_sig_cmp(start, 0, 8) == 0) result = read_png(file, image);
  else if (got >= 2 && start[0] == 0xff && start[1] == 0xd8) result = read_jpeg(file, image);
  else fprintf(stderr, "%s is neither a JPEG nor a PNG file\n", path);
  fclose(file);
  return result;
}

int write_png(const char* path, const Image* image) {
  png_image png;
  memset(&png, 0, sizeof png);
  png.version = PNG_IMAGE_VERSION;
  png.format = PNG_FORMAT_RGB;
  png.width = (png_uint_32)image->width;
  png.height = (png_uint_32)image->height;
  if (png_image_write_to_file(&png, path, 0, image->pixels, 0, NULL)) return 0;
  fprintf(stderr, "%s: %s\n", path, png.message);
  return -1;
}

/* The mean of one channel over the pixels that [left, right) x [top, bottom) covers, in parts where it cuts them; so small
 * pictures are enlarged smoothly enough, and large ones lose no line. */
static float mean_of(const Image* image, int channel, float left, float top, float right, float bottom) {
  float sum = 0, area = 0;
  for (int y = (int)top; y < image->height && (float)y < bottom; ++y) {
    const float rows = (bottom < (float)y + 1 ? bottom : (float)y + 1) - (top > (float)y ? top : (float)y);
    for (int x = (int)left; x < image->width && (float)x < right; ++x) {
      const float columns =
          (right < (float)x + 1 ? right : (float)x + 1) - (left > (float)x ? left : (float)x);
      sum += rows * columns *
             (float)image->pixels[((size_t)y * (size_t)image->width + (size_t)x) * 3 + (size_t)channel];
      area += rows * columns;
    }
  }
  return area > 0 ? sum / area : 0;
}

void make_input(const Image* image, int channels, int height, int width, const float* mean,
                const float* deviation, float* input) {
  static const float kBrightness[3] = {0.299f, 0.587f, 0.114f};
  const float across = (float)image->width / (float)width, down = (float)image->height / (float)height;
  const float step = across < down ? across : down;
  const float left = ((float)image->width - step * (float)width) / 2;
  const float top = ((float)image->height - step * (float)height) / 2;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      float colour[3];
      for (int c = 0; c < 3; ++c)
        colour[c] = mean_of(image, c, left + step * (float)x, top + step * (float)y,
                            left + step * (float)(x + 1), top + step * (float)(y + 1));
      if (channels == 1)
        colour[0] = kBrightness[0] * colour[0] + kBrightness[1] * colour[1] + kBrightness[2] * colour[2];
      for (int c = 0; c < channels; ++c)
        input[((size_t)c * (size_t)height + (size_t)y) * (size_t)width + (size_t)x] =
            (colour[c] - mean[c]) / deviation[c];
    }
  }
}

static void fill(Image* image, int left, int top, int right, int bottom, const unsigned char colour[3]) {
  for (int y = top < 0 ? 0 : top; y < bottom && y < image->height; ++y) {
    for (int x = left < 0 ? 0 : left; x < right && x < image->width; ++x)
      memcpy(image->pixels + ((size_t)y * (size_t)image->width + (size_t)x) * 3, colour, 3);
  }
}

void draw_box(Image* image, int left, int top, int right, int bottom, const unsigned char colour[3]) {
  const int thick = 1 + (image->width < image->height ? image->width : image->height) / 250;
  fill(image, left, top, right, top + thick, colour);
  fill(image, left, bottom - thick, right, bottom, colour);
  fill(image, left, top, left + thick, bottom, colour);
  fill(image, right - thick, top, right, bottom, colour);
}
