// SPDX-License-Identifier: Apache-2.0
#include <curl/curl.h>
#include <dlfcn.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include "base/error.h"
#include "io/record/source.h"

namespace loomix::io {
namespace {

using Clock = std::chrono::steady_clock;

// The functions of libcurl, loaded when the first address is opened: a program that reads only files maps none of its
// thirty libraries.
struct Curl {
  decltype(&curl_global_init) global_init;
  decltype(&curl_easy_init) easy_init;
  decltype(&curl_easy_setopt) easy_setopt;
  decltype(&curl_easy_perform) easy_perform;
  decltype(&curl_easy_getinfo) easy_getinfo;
  decltype(&curl_easy_cleanup) easy_cleanup;
  decltype(&curl_easy_strerror) easy_strerror;
  decltype(&curl_slist_append) slist_append;
  decltype(&curl_slist_free_all) slist_free_all;
};

template <class F>
void load(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  LOOMIX_CHECK(function != nullptr, NotImplementedError, "[recordio] the machine's libcurl has no {}.", name);
}

Curl load_curl() {
  void* library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  LOOMIX_CHECK(library != nullptr, NotImplementedError,
               "[recordio] reading over HTTP needs libcurl, which is not installed (package libcurl4): {}.",
               dlerror());
  Curl curl;
  load(library, "curl_global_init", curl.global_init);
  load(library, "curl_easy_init", curl.easy_init);
  load(library, "curl_easy_setopt", curl.easy_setopt);
  load(library, "curl_easy_perform", curl.easy_perform);
  load(library, "curl_easy_getinfo", curl.easy_getinfo);
  load(library, "curl_easy_cleanup", curl.easy_cleanup);
  load(library, "curl_easy_strerror", curl.easy_strerror);
  load(library, "curl_slist_append", curl.slist_append);
  load(library, "curl_slist_free_all", curl.slist_free_all);
  LOOMIX_CHECK(curl.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK, NotImplementedError,
               "[recordio] libcurl did not start.");
  return curl;
}

const Curl& curl() {
  static const Curl functions = load_curl();
  return functions;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char c) { return 'A' <= c && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return result;
}

// What one try brought.
struct Answer {
  std::span<uint8_t> out;
  size_t got = 0;
  bool too_long = false;
  long status = 0;
  std::optional<uint64_t> first;  // of Content-Range: bytes FIRST-LAST/TOTAL
  std::optional<uint64_t> total;
  std::string etag;
};

size_t take_body(char* bytes, size_t, size_t n, void* user) {
  auto& answer = *static_cast<Answer*>(user);
  if (n > answer.out.size() - answer.got) {  // also the whole file from a server that ignores ranges
    answer.too_long = true;
    return 0;
  }
  std::memcpy(answer.out.data() + answer.got, bytes, n);
  answer.got += n;
  return n;
}

std::optional<uint64_t> number(std::string_view text) {
  uint64_t value;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

size_t take_header(char* bytes, size_t, size_t n, void* user) {
  auto& answer = *static_cast<Answer*>(user);
  std::string_view line(bytes, n);
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  if (line.starts_with("HTTP/")) {  // another answer, after a redirection
    answer.first = answer.total = std::nullopt;
    answer.etag.clear();
  }
  const size_t colon = line.find(':');
  if (colon == line.npos) return n;
  const std::string name = lower(line.substr(0, colon));
  std::string_view value = line.substr(colon + 1);
  while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
  if (name == "etag") answer.etag = value;
  if (name == "content-range" && lower(value).starts_with("bytes ")) {
    const size_t dash = value.find('-');
    const size_t slash = value.find('/');
    if (dash < slash) answer.first = number(value.substr(6, dash - 6));
    if (slash != value.npos) answer.total = number(value.substr(slash + 1));
  }
  return n;
}

class HttpSource final : public ByteSource {
 public:
  HttpSource(const std::string& address, const HttpOptions& options)
      : ByteSource(address), options_(options), handle_(curl().easy_init()) {
    LOOMIX_CHECK(handle_ != nullptr, NetworkError, "[recordio] {}: libcurl has no memory.", address);
    set(CURLOPT_URL, address.c_str());
    set(CURLOPT_FOLLOWLOCATION, 1L);
    set(CURLOPT_MAXREDIRS, 10L);
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_TCP_KEEPALIVE, 1L);
    set(CURLOPT_USERAGENT, "loomix");
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout_ms));
    set(CURLOPT_WRITEFUNCTION, &take_body);
    set(CURLOPT_HEADERFUNCTION, &take_header);
    set(CURLOPT_ERRORBUFFER, error_text_);
    uint8_t first[1];
    fetch(0, first);  // tells the size, and whether the server knows ranges
  }
  ~HttpSource() override { curl().easy_cleanup(handle_); }
  HttpSource(const HttpSource&) = delete;

  size_t read_at(uint64_t offset, std::span<uint8_t> out, size_t) override {
    if (offset >= size_ || out.empty()) return 0;
    out = out.first(std::min<uint64_t>(out.size(), size_ - offset));
    fetch(offset, out);
    return out.size();
  }

  std::optional<uint64_t> size() const override { return size_; }
  size_t read_ahead() const override { return 4 << 20; }
  size_t least_read() const override { return 128 << 10; }

 private:
  template <class T>
  void set(CURLoption option, T value) {
    curl().easy_setopt(handle_, option, value);
  }

  // Fills `out`, trying again after what may pass: lost connections, time-outs, short answers, 408, 429 and 5xx.
  void fetch(uint64_t offset, std::span<uint8_t> out) {
    const auto deadline = Clock::now() + std::chrono::milliseconds(options_.deadline_ms);
    int64_t delay = options_.first_delay_ms;
    std::string reason;
    for (int tries = 1;; ++tries) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
      if (left > 0 && try_once(offset, out, static_cast<long>(left), reason)) return;
      const bool late = left <= delay;
      if (tries >= options_.tries || late) {
        throw NetworkError(fmt::format("[recordio] {}: {} bytes at offset {} could not be read: {}; {} {}.",
                                       name(), out.size(), offset, reason.empty() ? "no time left" : reason,
                                       late ? "gave up at the deadline after tries:" : "tries:", tries));
      }
      // Half of the delay is random, so that many workers do not come back at once.
      std::this_thread::sleep_for(std::chrono::milliseconds(delay / 2 + jitter_() % (delay / 2 + 1)));
      delay *= 2;
    }
  }

  // True if `out` was filled; false, with a reason, if trying again may help. Throws if it cannot help.
  bool try_once(uint64_t offset, std::span<uint8_t> out, long left_ms, std::string& reason) {
    Answer answer{.out = out, .first = {}, .total = {}, .etag = {}};
    const std::string range = fmt::format("{}-{}", offset, offset + out.size() - 1);
    set(CURLOPT_RANGE, range.c_str());
    set(CURLOPT_TIMEOUT_MS, left_ms);
    set(CURLOPT_WRITEDATA, &answer);
    set(CURLOPT_HEADERDATA, &answer);
    error_text_[0] = '\0';
    const CURLcode code = curl().easy_perform(handle_);
    curl().easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &answer.status);

    if (answer.status == 416 && !known_) {  // no first byte: the file is empty
      known_ = true;
      return true;
    }
    if (answer.status == 408 || answer.status == 429 || answer.status >= 500) {
      reason = fmt::format("the server answered {}", answer.status);
      return false;
    }
    LOOMIX_CHECK(answer.status < 400, FileError, "[recordio] {}: the server answered {}.", name(),
                 answer.status);
    LOOMIX_CHECK(
        answer.status != 200, FileError,
        "[recordio] {}: the server does not serve byte ranges; it answered 200 where 206 was expected.",
        name());
    if (code != CURLE_OK && !answer.too_long) {
      reason = error_text_[0] != '\0' ? error_text_ : curl().easy_strerror(code);
      return false;
    }
    if (answer.status != 206 || answer.too_long || answer.first != offset || !answer.total) {
      reason = fmt::format("the server answered {} with other bytes than were asked for", answer.status);
      return false;
    }
    LOOMIX_CHECK(!known_ || (answer.total == size_ && answer.etag == etag_), FileError,
                 "[recordio] {} changed while it was read, at offset {}: it had {} bytes and has {}.", name(),
                 offset, size_, *answer.total);
    known_ = true;
    size_ = *answer.total;
    etag_ = answer.etag;
    if (answer.got < out.size()) reason = fmt::format("the answer ends after {} bytes", answer.got);
    return answer.got == out.size();
  }

  const HttpOptions options_;
  CURL* handle_;
  char error_text_[CURL_ERROR_SIZE] = {};
  bool known_ = false;  // size and etag
  uint64_t size_ = 0;
  std::string etag_;
  std::minstd_rand jitter_{std::random_device{}()};
};

}  // namespace

std::unique_ptr<ByteSource> open_http_source(const std::string& address, const HttpOptions& options) {
  return std::make_unique<HttpSource>(address, options);
}

}  // namespace loomix::io
