// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <exception>
#include <functional>

#include <sys/wait.h>
#include <unistd.h>

namespace loomix::engine {

#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitizer = true;  // does not support threads started after a fork
#else
inline constexpr bool kThreadSanitizer = false;
#endif

// Runs `body` in a forked child; its exit status, or -1 if it did not exit by itself within 30 seconds.
inline int in_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    int status = 99;
    try {
      status = body();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    _exit(status);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace loomix::engine
