/* SPDX-License-Identifier: Apache-2.0 */
#include "arguments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char kUsage[] =
    "usage: %s SYMBOL.json WEIGHTS.params IMAGE [--shape 3,224,224] [--mean M] [--std S] [--synset FILE]\n"
    "       [--data NAME] [--softmax] [--repeat N] [--least SCORE] [--output FILE.png]\n"
    "Values of pixels, from 0 to 255, become (value - M) / S, with one number or one a channel.\n";

/* Up to `most` numbers with commas between; their count, or 0 if the text is something else. */
static int read_numbers(const char* text, int most, float* numbers) {
  int count = 0;
  for (char* end; count < most; text = end + 1) {
    numbers[count++] = strtof(text, &end);
    if (end == text) return 0;
    if (*end == '\0') return count;
    if (*end != ',') return 0;
  }
  return 0;
}

static int read_channels(const char* text, float numbers[3]) {
  const int count = read_numbers(text, 3, numbers);
  if (count == 1) numbers[1] = numbers[2] = numbers[0];
  return count > 0;
}

static int read_option(const char* name, const char* value, Arguments* to) {
  float numbers[3];
  if (strcmp(name, "--synset") == 0) return to->synset = value, 1;
  if (strcmp(name, "--data") == 0) return to->data = value, 1;
  if (strcmp(name, "--output") == 0) return to->output = value, 1;
  if (strcmp(name, "--mean") == 0) return read_channels(value, to->mean);
  if (strcmp(name, "--std") == 0) return read_channels(value, to->deviation);
  if (strcmp(name, "--least") == 0) return read_numbers(value, 1, &to->least) == 1;
  if (strcmp(name, "--repeat") == 0) return (to->repeat = atoi(value)) > 0;
  if (strcmp(name, "--shape") == 0) {
    if (read_numbers(value, 3, numbers) != 3) return 0;
    to->channels = (int)numbers[0], to->height = (int)numbers[1], to->width = (int)numbers[2];
    return (to->channels == 1 || to->channels == 3) && to->height > 0 && to->width > 0 &&
           to->height <= 8192 && to->width <= 8192;
  }
  return 0;
}

int parse_arguments(int count, char** words, Arguments* to) {
  const char** const files[] = {&to->symbol, &to->params, &to->image};
  int given = 0;
  const Arguments usual = {.output = "found.png",
                           .data = "data",
                           .channels = 3,
                           .height = 224,
                           .width = 224,
                           .deviation = {1, 1, 1},
                           .least = 0.5f,
                           .repeat = 10};
  *to = usual;
  for (int i = 1; i < count; ++i) {
    if (strcmp(words[i], "--softmax") == 0) {
      to->softmax = 1;
    } else if (words[i][0] == '-') {
      if (i + 1 == count || !read_option(words[i], words[i + 1], to)) {
        fprintf(stderr, "%s %s is not understood\n", words[i], i + 1 == count ? "" : words[i + 1]);
        given = -1;
        break;
      }
      ++i;
    } else if (given < 3) {
      *files[given++] = words[i];
    } else {
      given = -1;
      break;
    }
  }
  if (given == 3) return 0;
  fprintf(stderr, kUsage, words[0]);
  return -1;
}
