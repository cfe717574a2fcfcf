// SPDX-License-Identifier: Apache-2.0
#include <loomix/nn.h>

using namespace loomix::nn;

int main() {
  const Array sum = Array{1, 2} + Array{3, 4};
  return sum.to_vector() == std::vector<float>{4, 6} ? 0 : 1;
}
