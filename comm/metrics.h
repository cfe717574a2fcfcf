// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace loomix::comm {

class Endpoint;

// Writes numbers in Prometheus' text format. A family's values follow its head.
class MetricsText {
 public:
  using Labels = std::initializer_list<std::pair<std::string_view, std::string>>;
  MetricsText& counter(std::string_view name, std::string_view help) { return family(name, help, "counter"); }
  MetricsText& gauge(std::string_view name, std::string_view help) { return family(name, help, "gauge"); }
  MetricsText& value(double number, Labels labels = {});
  const std::string& text() const { return text_; }

 private:
  MetricsText& family(std::string_view name, std::string_view help, std::string_view kind);
  std::string name_, text_;
};

// What an endpoint counts: bytes and messages of each peer, queues, retries, heartbeats.
void add_endpoint_metrics(MetricsText& metrics, const Endpoint& endpoint);

// Serves a text at http://host:port/metrics from a thread of its own, to a few readers at a time; each gets a few seconds. Whatever they
// send harms nobody: a request is read up to 8 KiB, and only its first line is looked at.
class MetricsServer {
 public:
  // Port 0: any. `make_text` runs on the server's thread. Throws NetworkError where the port cannot be had.
  MetricsServer(const std::string& host, uint16_t port, std::function<std::string()> make_text);
  ~MetricsServer();
  uint16_t port() const;

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace loomix::comm
