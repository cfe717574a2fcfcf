// SPDX-License-Identifier: Apache-2.0
#include "ops/cuda/blas.h"

#include <cblas.h>

#include <algorithm>
#include <bit>
#include <type_traits>
#include <vector>

#include "ops/cuda/byte_products.h"
#include "ops/cuda/closed_product.h"
#include "tests/standin/stream.h"

// ops/cuda/blas.h, byte_products.h and closed_product.h by OpenBLAS; halves are made floats and back, and TF32 rounds its factors.
namespace loomix::cuda {
namespace {

CBLAS_TRANSPOSE transposed(bool on) { return on ? CblasTrans : CblasNoTrans; }
blasint row(int64_t distance, int64_t length) {
  return static_cast<blasint>(std::max<int64_t>({1, distance, length}));
}

template <class C>
void multiply(const Gemm& p, const C* a, int64_t row_a, const C* b, int64_t row_b, C* c, int64_t row_c) {
  constexpr auto call = [] {
    if constexpr (std::is_same_v<C, float>) return cblas_sgemm;
    else return cblas_dgemm;
  }();
  call(CblasRowMajor, transposed(p.transpose_a), transposed(p.transpose_b), blasint(p.m), blasint(p.n),
       blasint(p.k), C(p.alpha), a, row(row_a, p.transpose_a ? p.m : p.k), b,
       row(row_b, p.transpose_b ? p.k : p.n), C(p.beta), c, row(row_c, p.n));
}

// Rounded to the 10 bits of TF32's mantissa.
float as_tf32(float x) { return std::bit_cast<float>((std::bit_cast<uint32_t>(x) + 0x1000u) & ~0x1fffu); }

template <class T>
std::vector<float> brought(const T* from, int64_t rows, int64_t columns, int64_t distance,
                           bool tf32 = false) {
  std::vector<float> to(static_cast<size_t>(rows * columns));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const auto item = static_cast<float>(from[i * distance + j]);
      to[static_cast<size_t>(i * columns + j)] = tf32 ? as_tf32(item) : item;
    }
  }
  return to;
}

template <class T>
void multiply_item(const Gemm& p, const T* a, const T* b, T* c) {
  constexpr bool is_float = std::is_same_v<T, float>;
  if constexpr (is_float || std::is_same_v<T, double>) {
    if (!is_float || !p.tf32) return multiply(p, a, p.row_a, b, p.row_b, c, p.row_c);
  }
  if constexpr (!std::is_same_v<T, double>) {
    const int64_t rows_a = p.transpose_a ? p.k : p.m, columns_a = p.transpose_a ? p.m : p.k;
    const int64_t rows_b = p.transpose_b ? p.n : p.k, columns_b = p.transpose_b ? p.k : p.n;
    const std::vector<float> left = brought(a, rows_a, columns_a, p.row_a, is_float);
    const std::vector<float> right = brought(b, rows_b, columns_b, p.row_b, is_float);
    std::vector<float> result(static_cast<size_t>(p.m * p.n));
    if (p.beta != 0) result = brought(c, p.m, p.n, p.row_c);
    multiply(p, left.data(), columns_a, right.data(), columns_b, result.data(), p.n);
    for (int64_t i = 0; i < p.m; ++i) {
      for (int64_t j = 0; j < p.n; ++j)
        c[i * p.row_c + j] = static_cast<T>(result[static_cast<size_t>(i * p.n + j)]);
    }
  }
}

// As multiply_item() where C is dense and beta is 0, but what is there before rounding is ended.
template <class T>
void multiply_and_end(const Gemm& p, Ending ending, const T* a, const T* b, const T* bias, T* c) {
  using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;
  std::vector<Sum> result(static_cast<size_t>(p.m * p.n));
  if constexpr (std::is_same_v<T, double>) {
    multiply(p, a, p.row_a, b, p.row_b, result.data(), p.n);
  } else {
    const bool tf32 = std::is_same_v<T, float> && p.tf32;
    const int64_t columns_a = p.transpose_a ? p.m : p.k, columns_b = p.transpose_b ? p.k : p.n;
    const auto left = brought(a, p.transpose_a ? p.k : p.m, columns_a, p.row_a, tf32);
    const auto right = brought(b, p.transpose_b ? p.n : p.k, columns_b, p.row_b, tf32);
    multiply(p, left.data(), columns_a, right.data(), columns_b, result.data(), p.n);
  }
  for (int64_t i = 0; i < p.m * p.n; ++i) {
    Sum item = result[static_cast<size_t>(i)];
    if (ending.bias) item += static_cast<Sum>(bias[i % p.n]);
    if (ending.relu && item <= 0) item = 0;
    c[i / p.n * p.row_c + i % p.n] = static_cast<T>(item);
  }
}

class Product final : public ClosedProduct {
 public:
  Product(const Gemm& product, Ending ending) : product_(product), ending_(ending) {}
  bool run(const void* a, const void* b, const void* bias, void* c, cudaStream_t stream) const override {
    if (!are_aligned(a, b, bias, c)) return false;
    // What cuBLASLt answers by CUBLAS_STATUS_INVALID_VALUE.
    if (!a || !b || !c || (ending_.bias && !bias)) {
      standin::note_error("cuBLASLt was given no address of an array");
      return true;
    }
    standin::put_on(stream, [p = product_, ending = ending_, a, b, bias, c] {
      dispatch_floating(p.dtype, "closed product", [&]<class T>(Type<T>) {
        multiply_and_end(p, ending, static_cast<const T*>(a), static_cast<const T*>(b),
                         static_cast<const T*>(bias), static_cast<T*>(c));
      });
    });
    return true;
  }

 private:
  const Gemm product_;
  const Ending ending_;
};

template <class T>
void solve_batch(const TriangularSolve& p, const void* a, void* b) {
  constexpr auto call = [] {
    if constexpr (std::is_same_v<T, float>) return cblas_strsm;
    else return cblas_dtrsm;
  }();
  const int64_t n = p.rightside ? p.columns : p.rows;
  for (int64_t i = 0; i < p.batch; ++i) {
    call(CblasRowMajor, p.rightside ? CblasRight : CblasLeft, p.lower ? CblasLower : CblasUpper,
         transposed(p.transpose), CblasNonUnit, blasint(p.rows), blasint(p.columns), T(p.alpha),
         static_cast<const T*>(a) + i * n * n, blasint(n), static_cast<T*>(b) + i * p.rows * p.columns,
         blasint(p.columns));
  }
}

}  // namespace

void gemm(const Gemm& p, const void* a, const void* b, void* c, cudaStream_t stream) {
  if (p.m == 0 || p.n == 0) return;
  standin::put_on(stream, [=] {
    dispatch_floating(p.dtype, "gemm", [&]<class T>(Type<T>) {
      for (int64_t i = 0; i < p.batch; ++i) {
        multiply_item(p, static_cast<const T*>(a) + i * p.step_a, static_cast<const T*>(b) + i * p.step_b,
                      static_cast<T*>(c) + i * p.step_c);
      }
    });
  });
}

// Rows that are shorter than what they hold, several items, other numbers before the product and what is there: none of these is asked for.
std::unique_ptr<ClosedProduct> plan_closed_product(const Gemm& p, Ending ending) {
  if (p.m == 0 || p.n == 0 || p.k == 0) return nullptr;
  const bool is_taken = p.batch == 1 && p.alpha == 1 && p.beta == 0 && p.row_c >= p.n &&
                        p.row_a >= (p.transpose_a ? p.m : p.k) && p.row_b >= (p.transpose_b ? p.k : p.n);
  if (!is_taken) standin::note_error("cuBLASLt has no such product");
  return std::make_unique<Product>(p, ending);
}

void solve(const TriangularSolve& p, const void* a, void* b, cudaStream_t stream) {
  if (p.rows == 0 || p.columns == 0) return;
  standin::put_on(stream, [=] {
    if (p.dtype == DType::float64) solve_batch<double>(p, a, b);
    else solve_batch<float>(p, a, b);
  });
}

// By plain loops; what cuBLAS has no kernel for is an error.
void multiply_bytes(const ByteGemm& p, const int8_t* a, const int8_t* b, int32_t* c, cudaStream_t stream) {
  if (p.m == 0 || p.n == 0) return;
  const bool is_taken = takes_bytes(p.n, p.k) && p.row_c % 4 == 0 && p.step_a % 4 == 0 && p.step_b % 4 == 0 &&
                        is_word_aligned(a) && is_word_aligned(b) && is_word_aligned(c);
  if (!is_taken) return standin::note_error("cuBLAS has no such product of whole numbers");
  standin::put_on(stream, [=] {
    for (int64_t item = 0; item < p.batch; ++item) {
      for (int64_t i = 0; i < p.m * p.n; ++i) {
        const int8_t* const left = a + item * p.step_a + i / p.n * p.k;
        const int8_t* const right = b + item * p.step_b + i % p.n * p.k;
        int32_t sum = 0;
        for (int64_t k = 0; k < p.k; ++k) sum += int32_t{left[k]} * int32_t{right[k]};
        c[item * p.step_c + i / p.n * p.row_c + i % p.n] = sum;
      }
    }
  });
}

}  // namespace loomix::cuda
