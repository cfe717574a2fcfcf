// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "loomix/nn/base.h"

// The text of the error of a call.
template <class Work>
std::string message(const Work& call) {
  try {
    call();
  } catch (const loomix::nn::Error& error) {
    return error.what();
  }
  return "no error";
}
