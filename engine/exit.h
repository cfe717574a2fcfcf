// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace loomix::engine {

class Engine;

// Before shutdown(), when the program is to end at once: tasks that compute or copy arrays and have not started are dropped,
// with an error in what they would have written. Files and messages whose data is there are still written and sent; shutdown()
// waits for them for at most kDropDeadlineMs. Any thread may call it, also while another waits in shutdown().
void drop_computing(Engine& engine);

inline constexpr int kDropDeadlineMs = 5000;

}  // namespace loomix::engine
