// SPDX-License-Identifier: Apache-2.0
// Finds things in a picture with a trained detector, prints them, and writes the picture with boxes around them.
//
//     detect MODEL-symbol.json MODEL-0000.params picture.png --shape 3,64,64 --synset names.txt --output found.png
//
// The network's output has a row for each box: class (-1: none), score, left, top, right, bottom, the sides as parts of the
// picture's. MultiBoxDetection and box_nms give that.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <vector>

#include "arguments.h"
#include "image.h"
#include "predictor.h"

namespace {

constexpr unsigned char kColours[][3] = {
    {255, 140, 0}, {0, 255, 0}, {0, 255, 255}, {255, 0, 255}, {255, 255, 0}};

struct Box {
  int number;
  float score, left, top, right, bottom;
};

std::vector<Box> boxes_in(const std::vector<float>& rows, float least) {
  std::vector<Box> boxes;
  for (size_t i = 0; i + 6 <= rows.size(); i += 6) {
    if (rows[i] < 0 || rows[i + 1] < least) continue;
    boxes.push_back({int(rows[i]), rows[i + 1], rows[i + 2], rows[i + 3], rows[i + 4], rows[i + 5]});
  }
  std::sort(boxes.begin(), boxes.end(), [](const Box& a, const Box& b) { return a.score > b.score; });
  return boxes;
}

void detect(const Arguments& options, const std::vector<float>& input, Image& image) {
  const Stopwatch loading;
  Predictor predictor(options);
  if (predictor.row() != 6) throw std::runtime_error("the network's output has no rows of 6 numbers: boxes");
  std::printf("loaded in %.1f ms\n", loading.milliseconds());
  double best = 1e300;
  std::vector<float> rows;
  for (int i = 0; i < options.repeat; ++i) {
    const Stopwatch one;
    rows = predictor.predict(input);
    best = std::min(best, one.milliseconds());
  }
  std::printf("predicted %d times: %.2f ms at best\n", options.repeat, best);

  const std::vector<std::string> names = read_names(options.synset);
  // The middle part of the picture that the network saw (make_input).
  const float across = float(image.width) / float(options.width),
              down = float(image.height) / float(options.height);
  const float step = std::min(across, down);
  const float width = step * float(options.width), height = step * float(options.height);
  const float x0 = (float(image.width) - width) / 2, y0 = (float(image.height) - height) / 2;
  for (const Box& box : boxes_in(rows, options.least)) {
    const int left = int(x0 + box.left * width), top = int(y0 + box.top * height);
    const int right = int(x0 + box.right * width + 0.5f), bottom = int(y0 + box.bottom * height + 0.5f);
    draw_box(&image, left, top, right, bottom, kColours[size_t(box.number) % std::size(kColours)]);
    std::printf("%8.4f  %-12s at (%d, %d) to (%d, %d)\n", box.score,
                name_of(names, size_t(box.number)).c_str(), left, top, right, bottom);
  }
  if (write_png(options.output, &image) != 0) throw std::runtime_error("the picture was not written");
  std::printf("boxes are drawn in %s\n", options.output);
}

}  // namespace

int main(int count, char** words) {
  Arguments options;
  Image image;
  if (parse_arguments(count, words, &options) != 0 || read_image(options.image, &image) != 0) return 1;
  const std::unique_ptr<unsigned char, decltype(&std::free)> pixels(image.pixels, &std::free);
  try {
    std::vector<float> input(size_t(options.channels * options.height * options.width));
    make_input(&image, options.channels, options.height, options.width, options.mean, options.deviation,
               input.data());
    detect(options, input, image);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
