// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loomix::linalg {

// The ranks of a job in a grid with named axes. A value: it knows no MPI. Ranks are numbered in row-major order, so the last axis
// varies fastest: in Mesh({{"data", 2}, {"model", 3}}) rank 4 is at data 1, model 1.
class Mesh {
 public:
  struct Axis {
    std::string name;
    int size = 1;  // ranks
    bool operator==(const Axis&) const = default;
  };

  // Throws ValueError for no axes, a name that comes twice or is empty, and sizes below one.
  explicit Mesh(std::vector<Axis> axes);

  const std::vector<Axis>& axes() const { return axes_; }
  int size() const { return size_; }             // of all axes, multiplied
  size_t place_of(std::string_view axis) const;  // in axes(); KeyError lists the names
  int size_of(std::string_view axis) const { return axes_[place_of(axis)].size; }
  // Where a rank is, one number an axis; IndexError for a rank that the mesh does not have.
  std::vector<int> coordinates(int rank) const;
  int rank_at(std::span<const int> coordinates) const;
  // The ranks that differ from `rank` in this axis alone, itself among them, in the order of the axis: a group of the axis.
  std::vector<int> line(int rank, std::string_view axis) const;
  // Throws ValueError unless the job has as many ranks as the mesh.
  void check_ranks(int ranks) const;
  std::string to_string() const;  // "data=2, model=3"
  bool operator==(const Mesh&) const = default;

 private:
  std::vector<Axis> axes_;
  int size_ = 1;
};

}  // namespace loomix::linalg
