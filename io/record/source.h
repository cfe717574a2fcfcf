// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loomix::io {

// Where bytes come from: a file, a pipe, a web server. One thread at a time.
class ByteSource {
 public:
  explicit ByteSource(std::string name) : name_(std::move(name)) {}
  virtual ~ByteSource() = default;

  // Reads at `offset` into `out` and returns how many bytes it got: at least `least`, and perhaps more, or fewer where
  // the source ends. Throws FileError or NetworkError. A source that is not seekable takes only the offset where the
  // last read ended.
  virtual size_t read_at(uint64_t offset, std::span<uint8_t> out, size_t least) = 0;
  // The size now; a pipe has none.
  virtual std::optional<uint64_t> size() const = 0;
  virtual bool seekable() const { return true; }
  // Whether opening its name again would give the same source, so that it need not be.
  virtual bool is_current() const { return false; }
  // How much one read should fetch when bytes are read in order.
  virtual size_t read_ahead() const { return 256 << 10; }
  // How much one read should fetch at least, because the way costs more than the bytes.
  virtual size_t least_read() const { return 0; }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

// Limits of one read over HTTP. A failed try is repeated after `first_delay_ms`, then twice as long each time.
struct HttpOptions {
  int tries = 6;
  int first_delay_ms = 100;
  int connect_timeout_ms = 10'000;
  int deadline_ms = 60'000;  // of one read with all its tries
};

enum class Order { forward, random };

// Opens a path, `file://` path, `-` (standard input), `fd://N`, or `http://` and `https://` address. Files are read
// with pread; those in memory (tmpfs) that are read in random order through a GuardedMap, which is faster there. A file
// that shrinks gives short reads, never SIGBUS.
std::unique_ptr<ByteSource> open_source(const std::string& uri, const HttpOptions& http = {},
                                        Order order = Order::forward);

// Bytes in memory, which must outlive the source.
std::unique_ptr<ByteSource> memory_source(std::span<const uint8_t> bytes, std::string name = "memory");

// The source behind http:// and https://; throws NotImplementedError in a build without libcurl.
std::unique_ptr<ByteSource> open_http_source(const std::string& address, const HttpOptions& options);

// "a.rec;b.rec" as a list; empty names are left out.
std::vector<std::string> split_uris(std::string_view uris);

}  // namespace loomix::io
