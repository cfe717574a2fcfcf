// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace loomix::ops {

// Lets go code that was generated for kernels which are no more. Kernels that are prepared keep theirs. Others that are made
// later for the same sizes generate theirs anew.
void release_generated_code();

}  // namespace loomix::ops
