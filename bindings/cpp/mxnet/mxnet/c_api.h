// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "loomix/c_api.h"

// The functions of MXNet's C interface that programs for its cpp-package call themselves.
#ifndef LOOMIX_PREDICT_H_  // it declares this one, too
inline const char* MXGetLastError() { return LoomixGetLastError(); }
#endif
inline int MXNotifyShutdown() { return LoomixWaitAll(); }
inline int MXRandomSeed(int seed) { return LoomixSeed(static_cast<uint64_t>(seed)); }
inline int MXGetGPUCount(int* out) { return LoomixGetInfo(nullptr, out); }
