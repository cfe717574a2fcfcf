// SPDX-License-Identifier: Apache-2.0
#include "ops/linalg/blas.h"

#include <cmath>
#include <vector>

#include "ops/isa.h"

// BLAS and LAPACK in plain loops, but for products. Sums are doubles.
namespace loomix::ops {

namespace {

// A triangular matrix op(A), and one row or column of B at a time.
struct Triangle {
  const float* a;
  int64_t n, lda;
  bool lower, transpose, unit;  // unit: the diagonal counts as ones, whatever is there
  float at(int64_t i, int64_t j) const {
    if (unit && i == j) return 1;
    return transpose ? a[j * lda + i] : a[i * lda + j];
  }
  bool is_lower() const { return lower != transpose; }
};

// x = op(A) x, for elements `step` apart.
void multiply_line(const Triangle& t, float alpha, float* x, int64_t step) {
  for (int64_t s = 0; s < t.n; ++s) {
    const int64_t i = t.is_lower() ? t.n - 1 - s : s;
    double sum = 0;
    const int64_t begin = t.is_lower() ? 0 : i, end = t.is_lower() ? i + 1 : t.n;
    for (int64_t j = begin; j < end; ++j) sum += double(t.at(i, j)) * x[j * step];
    x[i * step] = static_cast<float>(alpha * sum);
  }
}

// op(A) x = alpha x.
void solve_line(const Triangle& t, float alpha, float* x, int64_t step) {
  for (int64_t s = 0; s < t.n; ++s) {
    const int64_t i = t.is_lower() ? s : t.n - 1 - s;
    double sum = double(alpha) * x[i * step];
    const int64_t begin = t.is_lower() ? 0 : i + 1, end = t.is_lower() ? i : t.n;
    for (int64_t j = begin; j < end; ++j) sum -= double(t.at(i, j)) * x[j * step];
    x[i * step] = static_cast<float>(sum / t.at(i, i));
  }
}

template <class Line>
void each_line(CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE ta, CBLAS_DIAG diagonal, int64_t m,
               int64_t n, const float* a, int64_t lda, float* b, int64_t ldb, Line&& line) {
  const bool left = side == CblasLeft;
  // X op(A) is op(A)^T X^T: its lines are rows.
  const Triangle t{
      a, left ? m : n, lda, uplo == CblasLower, left == (ta == CblasTrans), diagonal == CblasUnit};
  for (int64_t i = 0; i < (left ? n : m); ++i) line(t, b + i * (left ? 1 : ldb), left ? ldb : 1);
}

}  // namespace

void cblas_sgemm(CBLAS_ORDER, CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, blasint m, blasint n, blasint k,
                 float alpha, const float* a, blasint lda, const float* b, blasint ldb, float beta, float* c,
                 blasint ldc) {
  best_loops<BlasLoops>().gemm(ta == CblasTrans, tb == CblasTrans, m, n, k, alpha, a, lda, b, ldb, beta, c,
                               ldc);
}

void cblas_sgemv(CBLAS_ORDER, CBLAS_TRANSPOSE ta, blasint rows, blasint columns, float alpha, const float* a,
                 blasint lda, const float* x, blasint, float beta, float* y, blasint) {
  best_loops<BlasLoops>().gemv(ta == CblasTrans, rows, columns, alpha, a, lda, x, beta, y);
}

void cblas_strmm(CBLAS_ORDER, CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE ta, CBLAS_DIAG diagonal,
                 blasint m, blasint n, float alpha, const float* a, blasint lda, float* b, blasint ldb) {
  each_line(side, uplo, ta, diagonal, m, n, a, lda, b, ldb,
            [alpha](const Triangle& t, float* x, int64_t step) { multiply_line(t, alpha, x, step); });
}

void cblas_strsm(CBLAS_ORDER, CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE ta, CBLAS_DIAG diagonal,
                 blasint m, blasint n, float alpha, const float* a, blasint lda, float* b, blasint ldb) {
  each_line(side, uplo, ta, diagonal, m, n, a, lda, b, ldb,
            [alpha](const Triangle& t, float* x, int64_t step) { solve_line(t, alpha, x, step); });
}

// LAPACK's matrices are column-major; what it calls the upper triangle is the lower one of the rows here.
void spotrf_(const char*, const blasint* order, float* a, const blasint* lda, blasint* info, size_t) {
  const int64_t n = *order, ld = *lda;
  *info = 0;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      double sum = a[i * ld + j];
      for (int64_t k = 0; k < j; ++k) sum -= double(a[i * ld + k]) * a[j * ld + k];
      if (i != j) {
        a[i * ld + j] = static_cast<float>(sum / a[j * ld + j]);
      } else if (sum > 0) {
        a[i * ld + i] = static_cast<float>(std::sqrt(sum));
      } else {
        *info = static_cast<blasint>(i + 1);
        return;
      }
    }
  }
}

void spotri_(const char*, const blasint* order, float* a, const blasint* lda, blasint* info, size_t) {
  const int64_t n = *order, ld = *lda;
  std::vector<double> inverse(static_cast<size_t>(n * n));  // of the lower triangle
  *info = 0;
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = j; i < n; ++i) {
      double sum = i == j ? 1.0 : 0.0;
      for (int64_t k = j; k < i; ++k) sum -= double(a[i * ld + k]) * inverse[k * n + j];
      if (a[i * ld + i] == 0) *info = static_cast<blasint>(i + 1);
      inverse[i * n + j] = sum / a[i * ld + i];
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      double sum = 0;
      for (int64_t k = i; k < n; ++k) sum += inverse[k * n + i] * inverse[k * n + j];
      a[i * ld + j] = static_cast<float>(sum);
    }
  }
}

// Householder's reflections: H = 1 - tau v v^T, v = (1, what is below the diagonal).
namespace {

void reflect(int64_t rows, const float* v, double tau, float* column) {
  double sum = column[0];
  for (int64_t i = 1; i < rows; ++i) sum += double(v[i]) * column[i];
  sum *= tau;
  column[0] = static_cast<float>(column[0] - sum);
  for (int64_t i = 1; i < rows; ++i) column[i] = static_cast<float>(column[i] - sum * v[i]);
}

}  // namespace

void sgeqrf_(const blasint* m, const blasint* n, float* a, const blasint* lda, float* tau, float*,
             const blasint*, blasint* info) {
  *info = 0;
  for (int64_t j = 0; j < std::min(*m, *n); ++j) {
    float* v = a + j * *lda + j;
    const int64_t rows = *m - j;
    double norm = 0;
    for (int64_t i = 1; i < rows; ++i) norm += double(v[i]) * v[i];
    tau[j] = 0;
    if (norm == 0) continue;
    const double alpha = v[0], beta = -std::copysign(std::sqrt(alpha * alpha + norm), alpha);
    tau[j] = static_cast<float>((beta - alpha) / beta);
    for (int64_t i = 1; i < rows; ++i) v[i] = static_cast<float>(v[i] / (alpha - beta));
    for (int64_t other = j + 1; other < *n; ++other) reflect(rows, v, tau[j], a + other * *lda + j);
    v[0] = static_cast<float>(beta);
  }
}

void sorgqr_(const blasint* m, const blasint* n, const blasint* k, float* a, const blasint* lda,
             const float* tau, float*, const blasint*, blasint* info) {
  *info = 0;
  for (int64_t j = *k - 1; j >= 0; --j) {
    float* v = a + j * *lda + j;
    const int64_t rows = *m - j;
    for (int64_t other = j + 1; other < *n; ++other) reflect(rows, v, tau[j], a + other * *lda + j);
    for (int64_t i = 1; i < rows; ++i) v[i] *= -tau[j];
    v[0] = 1 - tau[j];
    std::fill(a + j * *lda, v, 0.0f);
  }
}

// Jacobi's rotations, until what is beside the diagonal is nothing.
void ssyevd_(const char*, const char*, const blasint* order, float* a, const blasint* lda, float* w, float*,
             const blasint*, blasint*, const blasint*, blasint* info, size_t, size_t) {
  constexpr int kMostSweeps = 60;
  const int64_t n = *order;
  std::vector<double> s(static_cast<size_t>(n * n)), v(s.size());
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) s[i * n + j] = i >= j ? a[i * *lda + j] : a[j * *lda + i];
    v[i * n + i] = 1;
  }
  *info = 1;
  for (int sweep = 0; sweep < kMostSweeps && *info != 0; ++sweep) {
    double beside = 0, all = 0;
    for (int64_t i = 0; i < n * n; ++i) {
      all += s[i] * s[i];
      if (i % n != i / n) beside += s[i] * s[i];
    }
    if (beside <= 1e-24 * all) *info = 0;
    for (int64_t p = 0; *info != 0 && p < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        if (s[p * n + q] == 0) continue;
        const double theta = (s[q * n + q] - s[p * n + p]) / (2 * s[p * n + q]);
        const double t = std::copysign(1 / (std::abs(theta) + std::sqrt(theta * theta + 1)), theta);
        const double cosine = 1 / std::sqrt(t * t + 1), sine = t * cosine;
        const auto rotate = [&](double& x, double& y) {
          const double before = x;
          x = cosine * before - sine * y;
          y = sine * before + cosine * y;
        };
        for (int64_t i = 0; i < n; ++i) rotate(s[i * n + p], s[i * n + q]);
        for (int64_t i = 0; i < n; ++i) rotate(s[p * n + i], s[q * n + i]);
        for (int64_t i = 0; i < n; ++i) rotate(v[p * n + i], v[q * n + i]);
      }
    }
  }
  std::vector<int64_t> by_value(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) by_value[i] = i;
  std::sort(by_value.begin(), by_value.end(),
            [&](int64_t i, int64_t j) { return s[i * n + i] < s[j * n + j]; });
  for (int64_t i = 0; i < n; ++i) {
    w[i] = static_cast<float>(s[by_value[i] * n + by_value[i]]);
    for (int64_t j = 0; j < n; ++j) a[i * *lda + j] = static_cast<float>(v[by_value[i] * n + j]);
  }
}

// In columns: a[i + j * lda].
void sgetrf_(const blasint* m, const blasint* order, float* a, const blasint* lda, blasint* pivots,
             blasint* info) {
  const int64_t rows = *m, n = *order, ld = *lda;
  *info = 0;
  for (int64_t j = 0; j < std::min(rows, n); ++j) {
    int64_t top = j;
    for (int64_t i = j + 1; i < rows; ++i) {
      if (std::abs(a[i + j * ld]) > std::abs(a[top + j * ld])) top = i;
    }
    pivots[j] = static_cast<blasint>(top + 1);
    if (a[top + j * ld] == 0) {
      if (*info == 0) *info = static_cast<blasint>(j + 1);
      continue;
    }
    for (int64_t c = 0; top != j && c < n; ++c) std::swap(a[j + c * ld], a[top + c * ld]);
    for (int64_t i = j + 1; i < rows; ++i) a[i + j * ld] /= a[j + j * ld];
    for (int64_t c = j + 1; c < n; ++c) {
      for (int64_t i = j + 1; i < rows; ++i) a[i + c * ld] -= a[i + j * ld] * a[j + c * ld];
    }
  }
}

void sgetri_(const blasint* order, float* a, const blasint* lda, const blasint* pivots, float*,
             const blasint*, blasint* info) {
  const int64_t n = *order, ld = *lda;
  std::vector<double> inverse(static_cast<size_t>(n * n));
  *info = 0;
  for (int64_t c = 0; c < n; ++c) {  // solves L U x = P e
    double* x = inverse.data() + c * n;
    x[c] = 1;
    for (int64_t i = 0; i < n; ++i) std::swap(x[i], x[pivots[i] - 1]);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < i; ++j) x[i] -= a[i + j * ld] * x[j];
    }
    for (int64_t i = n - 1; i >= 0; --i) {
      for (int64_t j = i + 1; j < n; ++j) x[i] -= a[i + j * ld] * x[j];
      x[i] /= a[i + i * ld];
    }
  }
  for (int64_t c = 0; c < n; ++c) {
    for (int64_t i = 0; i < n; ++i) a[i + c * ld] = static_cast<float>(inverse[c * n + i]);
  }
}

}  // namespace loomix::ops
