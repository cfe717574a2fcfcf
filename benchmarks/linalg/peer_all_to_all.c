/* SPDX-License-Identifier: Apache-2.0 */
/* The peer of remap.py: an n by n matrix of floats goes from rows to columns by MPI_Alltoallv. Prints seconds of the fastest of `times`,
   of the call alone ("plain": what goes to each rank lies together already, and stays so) or with the copies before it that a remap
   needs ("packed").
     mpicc -O2 peer_all_to_all.c
     peer_all_to_all plain|packed n times */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int packs = strcmp(argv[1], "packed") == 0, n = atoi(argv[2]), times = atoi(argv[3]);
  int me, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int rows = n / ranks, columns = n / ranks, each = rows * columns;
  const size_t count = (size_t)rows * n;
  float *from = malloc(count * 4), *to = malloc(count * 4), *packed = malloc(count * 4);
  int *counts = malloc(ranks * sizeof(int)), *places = malloc(ranks * sizeof(int));
  for (size_t i = 0; i < count; ++i) from[i] = (float)i, to[i] = packed[i] = 0;
  /* What stays does not travel: it is copied, as a remap does. */
  for (int r = 0; r < ranks; ++r) counts[r] = r == me ? 0 : each, places[r] = r * each;
  double best = 1e30;
  for (int turn = 0; turn <= times; ++turn) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    const float* sent = from;
    if (packs) {
      sent = packed;
      for (int r = 0; r < ranks; ++r) {
        float* place = r == me ? to + (size_t)r * each : packed + (size_t)r * each;
        for (int i = 0; i < rows; ++i)
          memcpy(place + (size_t)i * columns, from + (size_t)i * n + (size_t)r * columns, columns * 4);
      }
    }
    MPI_Alltoallv(sent, counts, places, MPI_FLOAT, to, counts, places, MPI_FLOAT, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    const double taken = MPI_Wtime() - begin;
    if (turn > 0 && taken < best) best = taken;
  }
  if (me == 0) printf("seconds %g %s\n", best, argv[1]);
  MPI_Finalize();
  return 0;
}
