// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace loomix::tools {

// A bar on the terminal, redrawn ten times a second; a line every ten seconds where there is none.
class Progress {
 public:
  Progress(std::string what, uint64_t done, uint64_t all);
  ~Progress();
  Progress(const Progress&) = delete;

  // True once a second: a good moment to flush files.
  bool show(uint64_t done);

 private:
  void draw(uint64_t done, bool last);

  const std::string what_;
  const uint64_t begin_;
  const uint64_t all_;
  const bool terminal_;
  uint64_t done_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point drawn_ = start_;
  std::chrono::steady_clock::time_point second_ = start_;
};

}  // namespace loomix::tools
