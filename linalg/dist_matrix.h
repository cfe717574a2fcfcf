// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "linalg/job.h"
#include "linalg/layout.h"
#include "linalg/remap.h"
#include "ndarray/ndarray.h"

namespace loomix::linalg {

enum class Arithmetic : uint8_t { add, subtract, multiply, divide };

// Numbers by place: element (i, j) of a matrix of n columns takes number i * n + j, so the matrix is the same for any layout and number
// of ranks.
struct Distribution {
  enum class Kind : uint8_t { uniform, normal } kind = Kind::uniform;
  double first = 0;   // lowest, or mean
  double second = 1;  // below this, or standard deviation
};

// A matrix whose blocks lie on the ranks of a job, as a layout says. All ranks call the same functions with the same layouts, and each
// gets its part. Lazy as NDArrays are: calls return at once, reading a block waits. An error of a block comes with what is
// computed from it, on other ranks, too.
//
// A handle: copies share the blocks. Types are the floating ones; blocks are on the host.
//
//   const JobRef job = std::make_shared<Job>(runtime, comm::make_mpi_group());
//   const auto a = DistMatrix::random(job, Layout::by_rows(4096, 4096, job->size()), DType::float32, {}, 7);
//   const NDArray sums = (a + a.transposed()).sum(0);   // on every rank
class DistMatrix {
 public:
  // One array for each block that this rank owns, in the order of Layout::blocks_of; they are shared, not copied. ShapeError, TypeError.
  static DistMatrix from_local(const JobRef& job, const Layout& layout, DType dtype,
                               std::vector<NDArray> blocks);
  // Of an array of `root`; what other ranks give is not looked at and may be none.
  static DistMatrix from_global(const JobRef& job, const NDArray& array, const Layout& layout, DType dtype,
                                int root = 0);
  static DistMatrix uninitialised(const JobRef& job, const Layout& layout, DType dtype);
  static DistMatrix filled(const JobRef& job, const Layout& layout, DType dtype, double value);
  static DistMatrix random(const JobRef& job, const Layout& layout, DType dtype,
                           const Distribution& distribution, uint64_t seed);

  const JobRef& job() const { return job_; }
  const Layout& layout() const { return layout_; }
  DType dtype() const { return dtype_; }
  int64_t rows() const { return layout_.rows(); }
  int64_t columns() const { return layout_.columns(); }
  const std::vector<NDArray>& local() const { return blocks_; }  // as for from_local
  std::string to_string() const;                                 // "(4096, 4096) float32, rows on 4 ranks"

  // The whole on every rank, or on one; none on the others.
  NDArray to_global() const;
  NDArray to_global(int root) const;
  // The whole on every rank, to be read. Ranks keep it as Job::kept() allows, so the next call sends nothing, unless a block was
  // written meanwhile on any rank. Calls after the first one of a matrix ask all ranks that, and wait for their word.
  NDArray replicated() const;
  // The same numbers in another layout, type, or transposed: each element travels once at most, in the smaller of the two types. The
  // matrix itself where that is all the same.
  //
  // By a code less travels, and what comes is less exact; what is there already is copied as it is. What 2bit and topk leave out is kept
  // with this matrix, and added when it goes to the same layout by the same code again. TypeError where a code does not know the type.
  DistMatrix remap(const Layout& layout, const RemapOptions& options = {}) const;
  DistMatrix astype(DType dtype) const { return remap(layout_, {.dtype = dtype}); }
  DistMatrix transposed() const {
    return remap(layout_.transposed(), {.transpose = true});
  }  // nothing travels
  // By the relabelling of the remap that made it, over all ranks; else 0.
  int64_t bytes_spared() const { return bytes_spared_; }

  // Copies of the whole that ranks keep. kept_here(): this rank's, as a replicated matrix; none where it has none or a block was written.
  const std::shared_ptr<MatrixIdentity>& identity() const { return identity_; }
  std::optional<DistMatrix> kept_here() const;

  // Element by element. The other one is remapped to this one's layout and type; ShapeError where the sizes differ.
  DistMatrix with(Arithmetic operation, const DistMatrix& other) const;
  // Of a number; `reverse`: number - matrix.
  DistMatrix with(Arithmetic operation, double number, bool reverse = false) const;
  // Of a vector that each rank has whole: of shape (columns,) or (1, columns) for each row, (rows, 1) for each column.
  DistMatrix with(Arithmetic operation, const NDArray& vector, bool reverse = false) const;

  // Added up over axis 0 (a vector of columns), 1 (of rows), or both (one element), in the order of ranks. Every rank gets it.
  NDArray sum(std::optional<int> axis = {}) const;
  NDArray norm() const;  // the root of the sum of squares; one element

 private:
  DistMatrix(JobRef job, Layout layout, DType dtype)
      : job_(std::move(job)),
        layout_(std::move(layout)),
        dtype_(dtype),
        identity_(std::make_shared<MatrixIdentity>()) {}
  template <class Each>
  DistMatrix each_block(Each&& each) const;
  template <class Each>
  NDArray added_up(int64_t size, const char* what, Each&& each) const;

  JobRef job_;
  Layout layout_;
  DType dtype_ = DType::float32;
  std::vector<NDArray> blocks_;
  std::shared_ptr<MatrixIdentity> identity_;
  int64_t bytes_spared_ = 0;
};

// The matrices, each as its replicated copy where all ranks have a good one. Asks them, and waits for their word, if one was kept ever.
std::vector<DistMatrix> by_kept_copies(std::vector<DistMatrix> matrices, const std::string& what);

inline DistMatrix operator+(const DistMatrix& a, const DistMatrix& b) { return a.with(Arithmetic::add, b); }
inline DistMatrix operator-(const DistMatrix& a, const DistMatrix& b) {
  return a.with(Arithmetic::subtract, b);
}
inline DistMatrix operator*(const DistMatrix& a, const DistMatrix& b) {
  return a.with(Arithmetic::multiply, b);
}
inline DistMatrix operator/(const DistMatrix& a, const DistMatrix& b) {
  return a.with(Arithmetic::divide, b);
}

}  // namespace loomix::linalg
