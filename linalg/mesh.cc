// SPDX-License-Identifier: Apache-2.0
#include "linalg/mesh.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"

namespace loomix::linalg {

Mesh::Mesh(std::vector<Axis> axes) : axes_(std::move(axes)) {
  constexpr int kMostRanks = 1 << 24;
  LOOMIX_CHECK(!axes_.empty(), ValueError, "[Mesh] there is no axis; expected one at least, as in data=2.");
  for (const Axis& axis : axes_) {
    LOOMIX_CHECK(!axis.name.empty(), ValueError, "[Mesh] an axis has no name.");
    LOOMIX_CHECK(axis.size >= 1 && axis.size <= kMostRanks / size_, ValueError,
                 "[Mesh] axis {} has {} ranks; expected one at least, and {} at most in all.", axis.name,
                 axis.size, kMostRanks);
    const auto named = [&](const Axis& other) { return other.name == axis.name; };
    LOOMIX_CHECK(std::count_if(axes_.begin(), axes_.end(), named) == 1, ValueError,
                 "[Mesh] axis {} comes twice.", axis.name);
    size_ *= axis.size;
  }
}

size_t Mesh::place_of(std::string_view axis) const {
  for (size_t i = 0; i < axes_.size(); ++i) {
    if (axes_[i].name == axis) return i;
  }
  detail::throw_error<KeyError>("[Mesh] there is no axis '{}'; the mesh has {}.", axis, to_string());
}

std::vector<int> Mesh::coordinates(int rank) const {
  LOOMIX_CHECK(rank >= 0 && rank < size_, IndexError,
               "[Mesh] rank {} is out of range; the mesh ({}) has 0 to {}.", rank, to_string(), size_ - 1);
  std::vector<int> result(axes_.size());
  for (size_t i = axes_.size(); i-- > 0; rank /= axes_[i].size) result[i] = rank % axes_[i].size;
  return result;
}

int Mesh::rank_at(std::span<const int> coordinates) const {
  LOOMIX_CHECK(coordinates.size() == axes_.size(), ValueError,
               "[Mesh] {} coordinates came for the {} axes of the mesh ({}).", coordinates.size(),
               axes_.size(), to_string());
  int rank = 0;
  for (size_t i = 0; i < axes_.size(); ++i) {
    LOOMIX_CHECK(coordinates[i] >= 0 && coordinates[i] < axes_[i].size, IndexError,
                 "[Mesh] place {} on axis {} is out of range; expected 0 to {}.", coordinates[i],
                 axes_[i].name, axes_[i].size - 1);
    rank = rank * axes_[i].size + coordinates[i];
  }
  return rank;
}

std::vector<int> Mesh::line(int rank, std::string_view axis) const {
  const size_t place = place_of(axis);
  std::vector<int> at = coordinates(rank);
  std::vector<int> result;
  for (at[place] = 0; at[place] < axes_[place].size; ++at[place]) result.push_back(rank_at(at));
  return result;
}

void Mesh::check_ranks(int ranks) const {
  LOOMIX_CHECK(
      ranks == size_, ValueError,
      "[Mesh] the mesh ({}) is for {} ranks, and the job has {}; the sizes of the axes must multiply "
      "to the number of ranks.",
      to_string(), size_, ranks);
}

std::string Mesh::to_string() const {
  std::string text;
  for (const Axis& axis : axes_)
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", axis.name, axis.size);
  return text;
}

}  // namespace loomix::linalg
