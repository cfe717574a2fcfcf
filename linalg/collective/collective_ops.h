// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/table.h"

namespace loomix::linalg {

// Operators on the ranks of a group, each of which has an array of its own. What differs is where parts are before and after, and what
// the gradient is:
//
//   _parallel_gather          parts -> the whole    reduce_scatter, or own
//   _parallel_reduce_scatter  summands -> parts     gather
//   _parallel_all_reduce      summands -> the sum   all_reduce, or the same
//   _parallel_all_to_all      cut along one axis -> along another one    all_to_all
//   _parallel_own             the whole -> parts    gather
//   _parallel_share           the whole, as it is   all_reduce
//
// The second gradient where there are two is for a value that all ranks go on to use alike (partial_gradient=False): its gradient is
// the same on each of them. Where each uses it in its own way, it has a part of the gradient, and they are added.
void register_collectives(ops::OpTable& table);

// _parallel_normalizer: what a batch normalisation subtracts from each channel, multiplies it by and adds to it, from the mean and the
// variance of the examples of all ranks in training, else from the moving ones. As BatchNorm, it updates these in its backward pass;
// what is added goes through it so that this pass runs whichever gradient is wanted.
void register_normalizer(ops::OpTable& table);

}  // namespace loomix::linalg
