// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

// Takes the bytes for a model, its inputs and a sequence of calls of loomix/predict.h, and makes these calls. Each may fail, with
// a message; returns the number of those that did, or -1 if one failed without a message or a result broke a promise. The
// bytes are
//   flags, number of inputs; of each: length of the name, name, number of axes, a size (one byte) an axis, type
//   size of the JSON (2 bytes, little-endian), JSON, size of the parameters (3 bytes), parameters, calls
int try_predict(std::span<const uint8_t> bytes);

// Models and what is computed with them may take so much memory; call it before anything else.
void bound_memory();
