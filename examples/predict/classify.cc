// SPDX-License-Identifier: Apache-2.0
// Classifies a picture with a trained network, from C++, and prints the five most likely classes.
//
//     classify_cpp MODEL-symbol.json MODEL-0000.params picture.jpg --synset names.txt
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <numeric>
#include <vector>

#include "arguments.h"
#include "image.h"
#include "predictor.h"

namespace {

void softmax(std::vector<float>& scores) {
  const float top = *std::max_element(scores.begin(), scores.end());
  for (float& score : scores) score = std::exp(score - top);
  const float sum = std::accumulate(scores.begin(), scores.end(), 0.0f);
  for (float& score : scores) score /= sum;
}

void classify(const Arguments& options, const std::vector<float>& input) {
  const Stopwatch loading;
  Predictor predictor(options);
  std::printf("loaded in %.1f ms\n", loading.milliseconds());

  std::vector<float> scores;
  std::vector<double> times;
  for (int i = 0; i < options.repeat; ++i) {
    const Stopwatch one;
    scores = predictor.predict(input);
    times.push_back(one.milliseconds());
  }
  std::printf("predicted %d times: %.2f ms at best, %.2f ms on average\n", options.repeat,
              *std::min_element(times.begin(), times.end()),
              std::accumulate(times.begin(), times.end(), 0.0) / options.repeat);

  if (options.softmax) softmax(scores);
  const std::vector<std::string> names = read_names(options.synset);
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const size_t best = std::min<size_t>(5, order.size());
  std::partial_sort(order.begin(), order.begin() + std::ptrdiff_t(best), order.end(),
                    [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  for (size_t i = 0; i < best; ++i)
    std::printf("%8.4f  %s\n", scores[order[i]], name_of(names, order[i]).c_str());
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
    classify(options, input);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
