/* SPDX-License-Identifier: Apache-2.0 */
/* The peers of gemm.py: ScaLAPACK's p?gemm on all ranks of MPI, or one cblas_?gemm with threads of its own. Prints seconds of the fastest of
   `times` products of n by n matrices.
     mpicc -O2 peer_gemm.c -lscalapack-openmpi -lopenblas
     peer_gemm scalapack|openblas float|double n block times */
#include <cblas.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void Cblacs_pinfo(int*, int*);
void Cblacs_get(int, int, int*);
void Cblacs_gridinit(int*, const char*, int, int);
void Cblacs_gridinfo(int, int*, int*, int*, int*);
int numroc_(const int*, const int*, const int*, const int*, const int*);
void descinit_(int*, const int*, const int*, const int*, const int*, const int*, const int*, const int*, const int*, int*);
void psgemm_(const char*, const char*, const int*, const int*, const int*, const float*, const void*, const int*, const int*, const int*,
             const void*, const int*, const int*, const int*, const float*, void*, const int*, const int*, const int*);
void pdgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const void*, const int*, const int*, const int*,
             const void*, const int*, const int*, const int*, const double*, void*, const int*, const int*, const int*);

static void* filled(size_t count, int is_double) {
  void* data = malloc(count * (is_double ? 8 : 4));
  for (size_t i = 0; i < count; ++i) {
    const double value = (double)(i % 1009) / 1009;
    if (is_double) ((double*)data)[i] = value;
    else ((float*)data)[i] = (float)value;
  }
  return data;
}

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  const int scalapack = strcmp(argv[1], "scalapack") == 0, is_double = strcmp(argv[2], "double") == 0;
  const int n = atoi(argv[3]), block = atoi(argv[4]), times = atoi(argv[5]), zero = 0, one = 1;
  int me = 0, ranks = 1, context, p = 1, q, row = 0, column = 0, info, desc[9];
  MPI_Init(&argc, &argv);
  int rows = n, columns = n;
  if (scalapack) {
    Cblacs_pinfo(&me, &ranks);
    while ((p + 1) * (p + 1) <= ranks) ++p;
    while (ranks % p) --p;
    q = ranks / p;
    Cblacs_get(-1, 0, &context);
    Cblacs_gridinit(&context, "Row", p, q);
    Cblacs_gridinfo(context, &p, &q, &row, &column);
    rows = numroc_(&n, &block, &row, &zero, &p);
    columns = numroc_(&n, &block, &column, &zero, &q);
    const int lead = rows > 1 ? rows : 1;
    descinit_(desc, &n, &n, &block, &block, &zero, &zero, &context, &lead, &info);
  }
  const size_t count = (size_t)rows * (size_t)columns;
  void *a = filled(count, is_double), *b = filled(count, is_double), *c = filled(count, is_double);
  const float alpha = 1, beta = 0;
  const double alpha2 = 1, beta2 = 0;
  double best = 1e30;
  for (int i = 0; i <= times; ++i) { /* the first one does not count */
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    if (scalapack && is_double)
      pdgemm_("N", "N", &n, &n, &n, &alpha2, a, &one, &one, desc, b, &one, &one, desc, &beta2, c, &one, &one, desc);
    else if (scalapack) psgemm_("N", "N", &n, &n, &n, &alpha, a, &one, &one, desc, b, &one, &one, desc, &beta, c, &one, &one, desc);
    else if (is_double) cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, n, b, n, 0, c, n);
    else cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, n, b, n, 0, c, n);
    MPI_Barrier(MPI_COMM_WORLD);
    const double seconds = MPI_Wtime() - begin;
    if (i > 0 && seconds < best) best = seconds;
  }
  if (me == 0) printf("seconds %.6f\n", best);
  MPI_Finalize();
  return 0;
}
