// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace loomix::c {

// The arrays of a file, dense and as float32 whatever they are in the file.
class NamedArrays {
 public:
  struct Item {
    std::string name;
    std::vector<uint32_t> shape;
    std::vector<float> elements;
  };
  explicit NamedArrays(std::span<const std::byte> file);
  size_t size() const { return items_.size(); }
  const Item& at(size_t index) const;

 private:
  std::vector<Item> items_;
};

}  // namespace loomix::c
