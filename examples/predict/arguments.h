/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of the programs beside this file. */
#ifndef ARGUMENTS_H_
#define ARGUMENTS_H_

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const char *symbol, *params, *image; /* files */
  const char* output;                  /* --output: the picture that detect writes */
  const char* synset;                  /* --synset: a file with a name a line; or null */
  const char* data;                    /* --data: the network's input; "data" */
  int channels, height, width;         /* --shape: 3,224,224 */
  float mean[3], deviation[3];         /* --mean, --std: 0 and 1; one number, or one a channel */
  float least;                         /* --least: the lowest score of a box; 0.5 */
  int repeat;                          /* --repeat: predictions that are timed; 10 */
  int softmax;                         /* --softmax: outputs are no probabilities yet */
} Arguments;

/* Returns 0, or -1 after a message to standard error. */
int parse_arguments(int count, char** words, Arguments* arguments);

#ifdef __cplusplus
}
#endif

#endif /* ARGUMENTS_H_ */
