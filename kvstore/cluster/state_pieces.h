// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "comm/message.h"

// A group's state on its way to the next place of the chain: a list of items (an encoded GroupState, then each array), cut to
// pieces that fit into messages, however many items there are and however large they are.
namespace loomix::kvstore {

struct PieceLimits {
  size_t bytes = size_t{16} << 20;
  size_t parts = 256;

  static PieceLimits within(const comm::Limits& limits);
};

struct PiecePlan {
  struct Part {
    size_t item = 0;
    size_t begin = 0;  // bytes
    size_t end = 0;
  };
  std::vector<Part> parts;
  bool goes_on = false;  // the next piece begins with more of the last part's item
};
// Only items that are larger than a piece are cut.
std::vector<PiecePlan> plan_pieces(std::span<const size_t> item_bytes, const PieceLimits& limits);

// Puts a state together from its pieces, which are added in their order. Takes memory for what came, not for what is announced.
class StateBuilder {
 public:
  void add(std::vector<comm::Buffer> parts, bool goes_on);
  std::vector<comm::Buffer> take();  // the items, of which there is at least one; throws NetworkError

 private:
  std::vector<comm::Buffer> items_;
  std::vector<comm::Buffer> cut_;  // of the item that goes on
};

}  // namespace loomix::kvstore
