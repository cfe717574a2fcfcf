/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures for the programs beside this file: 8 bits a channel, red, green, blue. */
#ifndef IMAGE_H_
#define IMAGE_H_

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  int width, height;
  unsigned char* pixels; /* height x width x 3; free() it */
} Image;

/* Reads a JPEG or PNG file. Returns 0, or -1 after a message to standard error. */
int read_image(const char* path, Image* image);

/* The same for writing a PNG file. */
int write_png(const char* path, const Image* image);

/* The middle of the picture in the proportions of width x height, brought to that size, as floats (channels, height, width):
 * (value - mean) / deviation. One channel is the brightness. mean and deviation have a number a channel. */
void make_input(const Image* image, int channels, int height, int width, const float* mean,
                const float* deviation, float* input);

/* Draws the outline of a box, whose corners are given in pixels, as thick as the picture's size asks for. */
void draw_box(Image* image, int left, int top, int right, int bottom, const unsigned char colour[3]);

#ifdef __cplusplus
}
#endif

#endif /* IMAGE_H_ */
