// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

// Headers of this tree that kernels include which are compiled when a program runs. embedded.txt lists them, and CMake
// writes the file that defines them (loomix_embed_sources).
namespace loomix::cuda {

struct EmbeddedSource {
  const char* name;  // as it is included
  const char* text;
};
extern const std::span<const EmbeddedSource> kEmbeddedSources;

}  // namespace loomix::cuda
