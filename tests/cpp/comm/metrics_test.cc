// SPDX-License-Identifier: Apache-2.0
#include "comm/metrics.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include <random>
#include <thread>

#include "tests/cpp/comm/collectives.h"
#include "tests/cpp/comm/fabric.h"

namespace loomix::comm {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

int dial(uint16_t port) {
  const int s = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(s, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
  const timeval patience{20, 0};
  setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  return s;
}

std::string ask(uint16_t port, std::string_view request) {
  const int s = dial(port);
  [[maybe_unused]] const ssize_t sent = send(s, request.data(), request.size(), MSG_NOSIGNAL);
  std::string answer;
  char bytes[4096];
  for (ssize_t count; (count = recv(s, bytes, sizeof(bytes), 0)) > 0;)
    answer.append(bytes, static_cast<size_t>(count));
  close(s);
  return answer;
}

TEST(Metrics, TextIsPrometheus) {
  MetricsText text;
  text.counter("a_total", "Counts.").value(3);
  text.gauge("b", "Is so.").value(0.5, {{"x", "q\"\\\n"}, {"y", "1"}}).value(1e15);
  EXPECT_EQ(text.text(),
            "# HELP a_total Counts.\n# TYPE a_total counter\na_total 3\n"
            "# HELP b Is so.\n# TYPE b gauge\nb{x=\"q\\\"\\\\\\n\",y=\"1\"} 0.5\nb 1e+15\n");
}

TEST(Metrics, GroupsTellWhatTheyCount) {
  using namespace std::chrono_literals;
  GroupOptions options{20s, 40s};
  options.metrics_port = 20'000 + getpid() % 10'000;
  auto groups = make_inproc_groups(2, options);
  std::vector<std::thread> ranks;
  for (auto& group : groups) {
    ranks.emplace_back([&group, &options] {
      const int me = group->rank();
      std::vector<float> values(1000, 1);
      WaitingGroup(*group).all_reduce(values.data(), values.data(), values.size(), DType::float32,
                                      Reduction::sum);
      const auto alone = group->subgroup(std::vector{me});
      WaitingGroup(*alone).barrier();
      const std::string text =
          ask(static_cast<uint16_t>(options.metrics_port + me), "GET /metrics HTTP/1.0\r\n\r\n");
      const auto other = std::to_string(1 - me), own = std::to_string(me);
      for (const std::string& line :
           {"loomix_node{role=\"rank\",rank=\"" + own + "\"} 1",
            std::string("loomix_group_calls_total{group=\"1\",ranks=\"0,1\"} 1"),
            "loomix_group_calls_total{group=\"2\",ranks=\"" + own + "\"} 1",
            "loomix_group_sent_bytes_total{group=\"1\",rank=\"" + other + "\"} 4000",
            "loomix_group_received_bytes_total{group=\"1\",rank=\"" + other + "\"} 4000",
            std::string("loomix_group_broken{group=\"1\",ranks=\"0,1\"} 0")})
        EXPECT_THAT(text, HasSubstr(line + "\n"));
      const std::string waited = "loomix_group_waited_seconds_total{group=\"1\",ranks=\"0,1\"} ";
      ASSERT_THAT(text, HasSubstr(waited));
      const double seconds = std::stod(text.substr(text.find(waited) + waited.size()));
      EXPECT_GT(seconds, 0);
      EXPECT_LT(seconds, 10);
      WaitingGroup(*group).barrier();
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

TEST(Metrics, ANodeTellsWhatItCounts) {
  InprocFabric fabric;
  Endpoint a(fabric.attach("a"), {server(0), new_incarnation()}, quick_options());
  Endpoint b(fabric.attach("b"), {worker(3), new_incarnation()}, quick_options());
  a.serve(0, echo);
  b.connect(server(0), a.address());
  for (int i = 0; i < 5; ++i) b.call(server(0), 0, message_of({}, {pattern(1000, 1)}), within(20s));
  MetricsServer metrics("127.0.0.1", 0, [&] {
    MetricsText text;
    add_endpoint_metrics(text, b);
    return text.text();
  });
  const std::string answer = ask(metrics.port(), "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.0 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("\nloomix_requests_total 5\n"));
  EXPECT_THAT(answer, HasSubstr("\nloomix_peer_up{peer=\"server 0\",route=\"inproc\"} 1\n"));
  EXPECT_THAT(answer, HasSubstr("\nloomix_peer_sent_bytes_total{peer=\"server 0\",route=\"inproc\"} 5000\n"));
  EXPECT_THAT(answer,
              HasSubstr("\nloomix_peer_received_bytes_total{peer=\"server 0\",route=\"inproc\"} 5000\n"));
}

TEST(Metrics, OddRequestsHarmNobody) {
  MetricsServer metrics("127.0.0.1", 0, [] { return std::string(3 << 20, 'x'); });
  const uint16_t port = metrics.port();
  EXPECT_THAT(ask(port, "PUT / HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.0 400 "));
  EXPECT_THAT(ask(port, "GET /etc/passwd HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.0 404 "));
  EXPECT_THAT(ask(port,
                  "GET"
                  "\n\n"),
              StartsWith("HTTP/1.0 404 "));
  EXPECT_THAT(ask(port, std::string(20000, 'a')), testing::AnyOf(StartsWith("HTTP/1.0 400 "), ""));
  std::mt19937 dice(5);
  for (int i = 0; i < 200; ++i) {
    std::string bytes(dice() % 400, '\0');
    for (char& byte : bytes) byte = static_cast<char>(dice());
    const int s = dial(port);
    [[maybe_unused]] const ssize_t sent = send(s, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    close(s);
  }
  // Readers that say nothing, or do not read, are not waited for for ever.
  std::vector<int> idle;
  for (int i = 0; i < 40; ++i) idle.push_back(dial(port));
  for (int i = 0; i < 3; ++i) {
    [[maybe_unused]] const ssize_t sent =
        send(idle[static_cast<size_t>(i)], "GET / HTTP/1.0\r\n\r\n", 18, MSG_NOSIGNAL);
  }
  EXPECT_TRUE(eventually([&] { return ask(port, "GET / HTTP/1.0\r\n\r\n").size() > (3 << 20); }, 40s));
  for (const int s : idle) close(s);
  EXPECT_THROW(MetricsServer("127.0.0.1", port, [] { return std::string(); }), NetworkError);
}

TEST(Metrics, AnErrorIsAnAnswer) {
  MetricsServer metrics("127.0.0.1", 0, []() -> std::string { throw NetworkError("[x] nothing to tell."); });
  const std::string answer = ask(metrics.port(), "GET / HTTP/1.0\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.0 500 "));
  EXPECT_THAT(answer, HasSubstr("nothing to tell"));
}

}  // namespace
}  // namespace loomix::comm
