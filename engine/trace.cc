// SPDX-License-Identifier: Apache-2.0
#include "engine/trace.h"

#include <cstring>
#include <fstream>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "base/error.h"

namespace loomix::engine {
namespace {

void append_quoted(std::string& out, const std::string& text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

bool is_by_device(const char* category) {
  for (const char* const known : {"device", "kernel", "copy", "fill"}) {
    if (std::strcmp(category, known) == 0) return true;
  }
  return false;
}

}  // namespace

Trace::~Trace() {
  if (TraceSource* const source = source_.load()) source->forget(*this);
}

void Trace::start(std::function<int64_t()> memory) {
  const std::lock_guard lock(mutex_);
  memory_ = std::move(memory);
  tracks_.clear();
  events_.clear();
  dropped_ = 0;
  origin_ = now();
  unix_origin_ = std::chrono::duration_cast<std::chrono::nanoseconds>(
                     std::chrono::system_clock::now().time_since_epoch())
                     .count();
  enabled_.store(true);
}

void Trace::stop() {
  enabled_.store(false);
  if (TraceSource* const source = source_.exchange(nullptr)) source->stop();
}
void Trace::resume() { enabled_.store(true); }

// Whichever comes first, this or stop(), the other one sees it.
void Trace::attach(TraceSource& source) {
  if (source_.load(std::memory_order_relaxed) != &source) source_.store(&source);
  if (!enabled_.load()) stop();
}

void Trace::add(const std::string& track, std::string name, const char* category, int64_t begin_ns,
                int64_t end_ns) {
  const std::lock_guard lock(mutex_);
  const bool by_device = is_by_device(category);
  if (by_device && begin_ns < origin_) return;
  if (events_.size() >= kLimit) {
    ++dropped_;
    return;
  }
  const int number = tracks_.try_emplace(track, static_cast<int>(tracks_.size()) + 1).first->second;
  events_.push_back(
      {number, std::move(name), category, begin_ns, end_ns, memory_ && !by_device ? memory_() : -1});
}

// Not by fmt::format_to: a program has a copy of all of its formatting, 80 kB.
std::string Trace::to_json() const {
  if (TraceSource* const source = source_.load()) source->tell();
  const std::lock_guard lock(mutex_);
  const int process = getpid();
  std::string out = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  out += fmt::format("{{\"ph\":\"M\",\"pid\":{},\"name\":\"process_name\",\"args\":{{\"name\":\"loomix\"}}}}",
                     process);
  for (const auto& [name, number] : tracks_) {
    out += fmt::format(
        ",\n{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"thread_name\",\"args\":{{\"name\":", process,
        number);
    append_quoted(out, name);
    out += "}}";
  }
  for (const Event& event : events_) {
    out += fmt::format(
        ",\n{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{:.3f},\"dur\":{:.3f},\"cat\":\"{}\",\"name\":",
        process, event.track, static_cast<double>(event.begin - origin_) / 1000.0,
        static_cast<double>(event.end - event.begin) / 1000.0, event.category);
    append_quoted(out, event.name);
    out += '}';
    if (event.memory < 0) continue;
    out += fmt::format(
        ",\n{{\"ph\":\"C\",\"pid\":{},\"ts\":{:.3f},\"cat\":\"memory\",\"name\":\"Memory: "
        "cpu/0\",\"args\":{{\"bytes\":{}}}}}",
        process, static_cast<double>(event.end - origin_) / 1000.0, event.memory);
  }
  out += fmt::format("\n],\"otherData\":{{\"dropped_events\":{},\"origin_ns\":{},\"unix_origin_ns\":{}}}}}\n",
                     dropped_, origin_, unix_origin_);
  return out;
}

void Trace::write(const std::string& path) const {
  std::ofstream file(path, std::ios::binary);
  file << to_json();
  file.close();
  LOOMIX_CHECK(file.good(), FileError,
               "[profiler] cannot write the trace to '{}'; is the folder there and writable?", path);
}

}  // namespace loomix::engine
