// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <utility>

#include <fmt/core.h>

namespace loomix {

enum class LogLevel { debug, info, warning, error };

// Messages go to the standard error, one line each, if LOOMIX_LOG_LEVEL lets them. Any thread may log. Errors that
// are thrown are not logged as well.
bool log_enabled(LogLevel level);
void log(LogLevel level, std::string_view message);

// Formats only if the message will be printed.
template <class First, class... Args>
void log(LogLevel level, fmt::format_string<First, Args...> format, First&& first, Args&&... args) {
  if (log_enabled(level)) {
    log(level,
        std::string_view(fmt::format(format, std::forward<First>(first), std::forward<Args>(args)...)));
  }
}

}  // namespace loomix
