// SPDX-License-Identifier: Apache-2.0
#include "ops/cuda/closed_product.h"

#include <cublasLt.h>

#include <array>
#include <cstdio>
#include <optional>
#include <string>

#include "ndarray/tuned_choices.h"
#include "ops/cuda/blas_handle_cublas.h"
#include "ops/cuda/handles.h"

namespace loomix::cuda {
namespace {

// For questions only: a handle of cuBLAS's takes a workspace.
struct LightHandle {
  explicit LightHandle(cudaStream_t) {
    check_blas(cublasLtCreate(&handle), "making a light handle");
    int device = 0;
    cudaDeviceProp properties{};
    if (cudaGetDevice(&device) != cudaSuccess || cudaGetDeviceProperties(&properties, device) != cudaSuccess)
      cudaGetLastError();
    device_name = properties.name;
  }
  LightHandle(const LightHandle&) = delete;
  LightHandle& operator=(const LightHandle&) = delete;
  cublasLtHandle_t handle = nullptr;
  std::string device_name;
};

// What was chosen, for later processes, too.
TunedChoices& chosen() {
  static auto& choices = *new TunedChoices(TunedChoices::file_in_cache("cublaslt.json"),
                                           fmt::format("cuBLASLt {}", cublasLtGetVersion()));
  return choices;
}

// cuBLASLt says that an algorithm may be kept as its bytes, for the same version.
constexpr size_t kWords = std::size(cublasLtMatmulAlgo_t{}.data);
std::string to_text(const cublasLtMatmulAlgo_t& algorithm) {
  std::string text;
  for (const uint64_t word : algorithm.data) text += fmt::format("{:016x}", word);
  return text;
}
std::optional<cublasLtMatmulAlgo_t> parsed(const std::optional<std::string>& text) {
  if (!text || text->size() != 16 * kWords ||
      text->find_first_not_of("0123456789abcdef") != std::string::npos)
    return {};
  cublasLtMatmulAlgo_t algorithm{};
  for (size_t i = 0; i < kWords; ++i) algorithm.data[i] = std::stoull(text->substr(16 * i, 16), nullptr, 16);
  return algorithm;
}

template <class Attribute, class T>
bool set(cublasLtMatmulDesc_t of, Attribute attribute, T value) {
  return cublasLtMatmulDescSetAttribute(of, attribute, &value, sizeof(value)) == CUBLAS_STATUS_SUCCESS;
}
template <class T>
bool set(cublasLtMatmulPreference_t of, cublasLtMatmulPreferenceAttributes_t attribute, T value) {
  return cublasLtMatmulPreferenceSetAttribute(of, attribute, &value, sizeof(value)) == CUBLAS_STATUS_SUCCESS;
}

// cuBLASLt is column-major, where a row-major C is its own transpose: C^T = op(B)^T op(A)^T. So a column of ours is a row there, for
// each of which its bias has an element.
class Product final : public ClosedProduct {
 public:
  Product(const Gemm& product, Ending ending) : product_(product), ending_(ending) {}

  // Whether the library has an algorithm for it.
  bool choose() {
    if (!describe_matrices()) return false;
    bool found = false;
    handles<LightHandle>().with(nullptr, [&](const LightHandle& light) {
      cublasLtMatmulDescOpaque_t how{};
      // The address matters to no choice, but that there is one may.
      if (!describe(&how, reinterpret_cast<const void*>(kAlignment))) return;
      const std::string question = this->question(light.device_name);
      const auto kept = parsed(chosen().find(question));
      found = kept && is_taken(light.handle, &how, *kept);
      if (!found && (found = ask(light.handle, &how))) chosen().add(question, to_text(algorithm_));
    });
    return found;
  }

  bool run(const void* a, const void* b, const void* bias, void* c, cudaStream_t stream) const override {
    if (!are_aligned(a, b, bias, c)) return false;
    const float one = 1, zero = 0;
    const double wide_one = 1, wide_zero = 0;
    const bool wide = product_.dtype == DType::float64;
    const void* const alpha = wide ? static_cast<const void*>(&wide_one) : &one;
    const void* const beta = wide ? static_cast<const void*>(&wide_zero) : &zero;
    bool is_done = false;
    handles<BlasHandle>().with(stream, [&](const BlasHandle& blas) {
      if (!blas.workspace && workspace_bytes_ > 0) return;
      // Made anew, as it has the address of the bias: several may run this at once.
      cublasLtMatmulDescOpaque_t how{};
      LOOMIX_INTERNAL_CHECK(describe(&how, bias));
      // Any handle of cuBLAS's is one of cuBLASLt's.
      const cublasStatus_t status = cublasLtMatmul(
          reinterpret_cast<cublasLtHandle_t>(blas.handle), &how, alpha, b, mutable_(b_), a, mutable_(a_),
          beta, c, mutable_(c_), c, mutable_(c_), &algorithm_, blas.workspace, workspace_bytes_, stream);
      // Kernels are prepared once for all devices: another kind of GPU may not have this algorithm.
      if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_ARCH_MISMATCH) return;
      check_blas(status, "a closed product of matrices");
      is_done = true;
    });
    return is_done;
  }

 private:
  using Layout = cublasLtMatrixLayoutOpaque_t;
  static cublasLtMatrixLayout_t mutable_(const Layout& layout) { return const_cast<Layout*>(&layout); }

  // Row-major (rows, columns).
  bool describe_matrix(Layout& to, int64_t rows, int64_t columns, int64_t row) const {
    return cublasLtMatrixLayoutInit(&to, type_of(product_.dtype), static_cast<uint64_t>(columns),
                                    static_cast<uint64_t>(rows), row) == CUBLAS_STATUS_SUCCESS;
  }
  bool describe_matrices() {
    const Gemm& p = product_;
    return describe_matrix(a_, p.transpose_a ? p.k : p.m, p.transpose_a ? p.m : p.k, p.row_a) &&
           describe_matrix(b_, p.transpose_b ? p.n : p.k, p.transpose_b ? p.k : p.n, p.row_b) &&
           describe_matrix(c_, p.m, p.n, p.row_c);
  }

  // A bias has the type of what is written, by default.
  bool describe(cublasLtMatmulDesc_t to, const void* bias) const {
    const Gemm& p = product_;
    const cudaDataType_t scale = p.dtype == DType::float64 ? CUDA_R_64F : CUDA_R_32F;
    const cublasLtEpilogue_t epilogue = ending_.bias && ending_.relu ? CUBLASLT_EPILOGUE_RELU_BIAS
                                        : ending_.bias               ? CUBLASLT_EPILOGUE_BIAS
                                        : ending_.relu               ? CUBLASLT_EPILOGUE_RELU
                                                                     : CUBLASLT_EPILOGUE_DEFAULT;
    return cublasLtMatmulDescInit(to, arithmetic_of(p), scale) == CUBLAS_STATUS_SUCCESS &&
           set(to, CUBLASLT_MATMUL_DESC_TRANSA, operation(p.transpose_b)) &&
           set(to, CUBLASLT_MATMUL_DESC_TRANSB, operation(p.transpose_a)) &&
           set(to, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue) &&
           (!ending_.bias || set(to, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias));
  }

  // Of an answer that is kept: this device and this library decide whether it holds.
  bool is_taken(cublasLtHandle_t handle, cublasLtMatmulDesc_t how, const cublasLtMatmulAlgo_t& algorithm) {
    cublasLtMatmulHeuristicResult_t result{};
    if (cublasLtMatmulAlgoCheck(handle, how, &b_, &a_, &c_, &c_, &algorithm, &result) !=
            CUBLAS_STATUS_SUCCESS ||
        result.state != CUBLAS_STATUS_SUCCESS)
      return false;
    return take(algorithm, result.workspaceSize);
  }

  bool ask(cublasLtHandle_t handle, cublasLtMatmulDesc_t how) {
    cublasLtMatmulPreferenceOpaque_t wanted{};
    if (cublasLtMatmulPreferenceInit(&wanted) != CUBLAS_STATUS_SUCCESS) return false;
    const auto alignment = static_cast<uint32_t>(kAlignment);
    // Parts of a sum are added up in the type of the arithmetic, so that halves are rounded once.
    const auto reductions = static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
    if (!set(&wanted, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t{kWorkspaceBytes}) ||
        !set(&wanted, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions))
      return false;
    for (const auto array :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
      if (!set(&wanted, array, alignment)) return false;
    }
    cublasLtMatmulHeuristicResult_t result{};
    int count = 0;
    return cublasLtMatmulAlgoGetHeuristic(handle, how, &b_, &a_, &c_, &c_, &wanted, 1, &result, &count) ==
               CUBLAS_STATUS_SUCCESS &&
           count > 0 && result.state == CUBLAS_STATUS_SUCCESS && take(result.algo, result.workspaceSize);
  }

  bool take(const cublasLtMatmulAlgo_t& algorithm, size_t bytes) {
    if (bytes > kWorkspaceBytes) return false;
    algorithm_ = algorithm;
    workspace_bytes_ = bytes;
    return true;
  }

  // All that the choice depends on.
  std::string question(const std::string& device) const {
    const Gemm& p = product_;
    return fmt::format("{}: {}{} {} x {} x {}, rows {}{} {}{} {}{}{}", device, name_of(p.dtype),
                       p.dtype == DType::float32 && p.tf32 ? " tf32" : "", p.m, p.n, p.k, p.row_a,
                       p.transpose_a ? "^T" : "", p.row_b, p.transpose_b ? "^T" : "", p.row_c,
                       ending_.bias ? " + bias" : "", ending_.relu ? ", relu" : "");
  }

  const Gemm product_;
  const Ending ending_;
  Layout a_{}, b_{}, c_{};
  cublasLtMatmulAlgo_t algorithm_{};
  size_t workspace_bytes_ = 0;
};

}  // namespace

std::unique_ptr<ClosedProduct> plan_closed_product(const Gemm& product, Ending ending) {
  if (product.m == 0 || product.n == 0 || product.k == 0) return nullptr;
  auto made = std::make_unique<Product>(product, ending);
  if (!made->choose()) return nullptr;
  return made;
}

}  // namespace loomix::cuda
