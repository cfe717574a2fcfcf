/* SPDX-License-Identifier: Apache-2.0 */
/* Classifies a picture with a trained network, from C, and prints the five most likely classes.
 *
 *     classify MODEL-symbol.json MODEL-0000.params picture.jpg --synset names.txt */
#include <loomix/predict.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "arguments.h"
#include "image.h"

enum { kBest = 5, kLongestName = 200 };

static double milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* Whether a call succeeded; says why if not. */
static int ok(int code) {
  if (code != 0) fprintf(stderr, "%s\n", MXGetLastError());
  return code == 0;
}

/* A file's content with a zero behind it, or null after a message. */
static char* read_file(const char* path, int* size) {
  FILE* const file = fopen(path, "rb");
  char* content = NULL;
  if (file && fseek(file, 0, SEEK_END) == 0) {
    const long bytes = ftell(file);
    rewind(file);
    content = bytes >= 0 && bytes < 0x7fffffff ? malloc((size_t)bytes + 1) : NULL;
    if (content && fread(content, 1, (size_t)bytes, file) == (size_t)bytes) {
      content[bytes] = '\0';
      *size = (int)bytes;
    } else {
      free(content);
      content = NULL;
    }
  }
  if (file) fclose(file);
  if (!content) perror(path);
  return content;
}

static PredictorHandle load(const Arguments* options) {
  int json_size = 0, params_size = 0;
  char* const json = read_file(options->symbol, &json_size);
  char* const params = json ? read_file(options->params, &params_size) : NULL;
  const mx_uint bounds[] = {0, 4};
  const mx_uint shape[] = {1, (mx_uint)options->channels, (mx_uint)options->height, (mx_uint)options->width};
  PredictorHandle predictor = NULL;
  const double start = milliseconds();
  if (params && ok(MXPredCreate(json, params, params_size, 1, 0, 1, (const char**)&options->data, bounds,
                                shape, &predictor)))
    printf("loaded in %.1f ms\n", milliseconds() - start);
  free(json);
  free(params);
  return predictor;
}

/* Predicts as often as asked for; the outputs, or null. */
static float* predict(PredictorHandle predictor, const Arguments* options, const float* input,
                      mx_uint* classes) {
  const mx_uint size = (mx_uint)(options->channels * options->height * options->width);
  mx_uint *shape, axes;
  if (!ok(MXPredGetOutputShape(predictor, 0, &shape, &axes))) return NULL;
  *classes = 1;
  for (mx_uint i = 0; i < axes; ++i) *classes *= shape[i];
  float* const scores = malloc(*classes * sizeof(float));
  double all = 0, least = INFINITY;
  for (int i = 0; scores && i < options->repeat; ++i) {
    const double start = milliseconds();
    if (!ok(MXPredSetInput(predictor, options->data, input, size)) || !ok(MXPredForward(predictor)) ||
        !ok(MXPredGetOutput(predictor, 0, scores, *classes))) {
      free(scores);
      return NULL;
    }
    const double took = milliseconds() - start;
    all += took;
    if (took < least) least = took;
  }
  printf("predicted %d times: %.2f ms at best, %.2f ms on average\n", options->repeat, least,
         all / options->repeat);
  return scores;
}

static void softmax(float* scores, mx_uint count) {
  float top = scores[0], sum = 0;
  for (mx_uint i = 1; i < count; ++i) top = fmaxf(top, scores[i]);
  for (mx_uint i = 0; i < count; ++i) sum += scores[i] = expf(scores[i] - top);
  for (mx_uint i = 0; i < count; ++i) scores[i] /= sum;
}

/* The line of a file, without its end, or the number as text. */
static const char* name_of(const char* synset, mx_uint number, char name[kLongestName]) {
  FILE* const file = synset ? fopen(synset, "r") : NULL;
  snprintf(name, kLongestName, "class %u", number);
  for (mx_uint i = 0; file && i <= number; ++i) {
    char line[kLongestName];
    if (!fgets(line, sizeof line, file)) break;
    line[strcspn(line, "\r\n")] = '\0';
    if (i == number) memcpy(name, line, sizeof line);
  }
  if (file) fclose(file);
  return name;
}

static void print_best(float* scores, mx_uint classes, const Arguments* options) {
  if (options->softmax) softmax(scores, classes);
  for (int place = 0; place < kBest && place < (int)classes; ++place) {
    char name[kLongestName];
    mx_uint best = 0;
    for (mx_uint i = 1; i < classes; ++i) {
      if (scores[i] > scores[best]) best = i;
    }
    printf("%8.4f  %s\n", scores[best], name_of(options->synset, best, name));
    scores[best] = -INFINITY;
  }
}

int main(int count, char** words) {
  Arguments options;
  Image image;
  if (parse_arguments(count, words, &options) != 0 || read_image(options.image, &image) != 0) return 1;
  float* const input = malloc((size_t)(options.channels * options.height * options.width) * sizeof(float));
  if (input)
    make_input(&image, options.channels, options.height, options.width, options.mean, options.deviation,
               input);
  PredictorHandle predictor = input ? load(&options) : NULL;
  mx_uint classes = 0;
  float* const scores = predictor ? predict(predictor, &options, input, &classes) : NULL;
  if (scores) print_best(scores, classes, &options);
  if (predictor) MXPredFree(predictor);
  free(scores);
  free(input);
  free(image.pixels);
  return scores ? 0 : 1;
}
