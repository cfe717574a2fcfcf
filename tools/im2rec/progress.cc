// SPDX-License-Identifier: Apache-2.0
#include "tools/im2rec/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include <fmt/core.h>

namespace loomix::tools {

Progress::Progress(std::string what, uint64_t done, uint64_t all)
    : what_(std::move(what)), begin_(done), all_(all), terminal_(isatty(STDERR_FILENO) != 0), done_(done) {}

Progress::~Progress() { draw(done_, true); }

bool Progress::show(uint64_t done) {
  done_ = done;
  const auto now = std::chrono::steady_clock::now();
  if (now - drawn_ >= std::chrono::milliseconds(terminal_ ? 100 : 10'000)) {
    drawn_ = now;
    draw(done, false);
  }
  if (now - second_ < std::chrono::seconds(1)) return false;
  second_ = now;
  return true;
}

void Progress::draw(uint64_t done, bool last) {
  constexpr int kWidth = 30;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const double rate = seconds > 0 ? static_cast<double>(done - begin_) / seconds : 0;
  const double part = all_ > 0 ? static_cast<double>(done) / static_cast<double>(all_) : 1;
  const int filled = static_cast<int>(part * kWidth);
  const std::string bar =
      std::string(static_cast<size_t>(filled), '#') + std::string(static_cast<size_t>(kWidth - filled), '.');
  const double left = rate > 0 ? static_cast<double>(all_ - std::min(done, all_)) / rate : 0;
  fmt::print(stderr, "{}{} [{}] {}/{}  {:.0f}/s  {:.0f} s {}", terminal_ ? "\r" : "", what_, bar, done, all_,
             rate, last ? seconds : left, last ? "in all  " : "left    ");
  if (!terminal_ || last) std::fputc('\n', stderr);
  std::fflush(stderr);
}

}  // namespace loomix::tools
