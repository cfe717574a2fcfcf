// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>
#include <iostream>
#include <sstream>
#include <string>

#include "loomix/cpp/base.h"

// The macros that MXNet's examples log and check with.
namespace loomix::cpp::detail {

// A line on standard error, written when it ends.
class LogLine {
 public:
  LogLine(const char* file, int line) {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    localtime_r(&now, &parts);
    char clock[16];
    std::strftime(clock, sizeof clock, "%H:%M:%S", &parts);
    text_ << '[' << clock << "] " << file << ':' << line << ": ";
  }
  LogLine(const LogLine&) = delete;
  LogLine& operator=(const LogLine&) = delete;
  ~LogLine() { std::cerr << text_.str() + "\n" << std::flush; }
  std::ostream& stream() { return text_; }

 private:
  std::ostringstream text_;
};

// Throws what it was given when it ends.
class FatalLine {
 public:
  FatalLine(const char* file, int line) { text_ << file << ':' << line << ": "; }
  FatalLine(const FatalLine&) = delete;
  FatalLine& operator=(const FatalLine&) = delete;
  ~FatalLine() noexcept(false) { throw Error(text_.str()); }
  std::ostream& stream() { return text_; }

 private:
  std::ostringstream text_;
};

}  // namespace loomix::cpp::detail

#define LOOMIX_LOG_INFO ::loomix::cpp::detail::LogLine(__FILE__, __LINE__)
#define LOOMIX_LOG_WARNING LOOMIX_LOG_INFO
#define LOOMIX_LOG_ERROR LOOMIX_LOG_INFO
#define LOOMIX_LOG_FATAL ::loomix::cpp::detail::FatalLine(__FILE__, __LINE__)
#ifndef LOG
#define LOG(severity) LOOMIX_LOG_##severity.stream()
#endif
#ifndef LG
#define LG LOG(INFO)
#endif
#ifndef CHECK
#define CHECK(condition) \
  if (!(condition)) LOG(FATAL) << "Check failed: " #condition " "
#define CHECK_EQ(a, b) CHECK((a) == (b))
#define CHECK_NE(a, b) CHECK((a) != (b))
#define CHECK_LT(a, b) CHECK((a) < (b))
#define CHECK_LE(a, b) CHECK((a) <= (b))
#define CHECK_GT(a, b) CHECK((a) > (b))
#define CHECK_GE(a, b) CHECK((a) >= (b))
#define CHECK_NOTNULL(pointer) \
  ((pointer) == nullptr ? throw ::loomix::cpp::Error("Check notnull: " #pointer) : (pointer))
#endif
