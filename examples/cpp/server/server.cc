// SPDX-License-Identifier: Apache-2.0
// Answers requests by HTTP with the classes of images, by the network that nn_lenet saved; requests that come together run as one
// batch. For a trusted network: it has no encryption.
//   server [file of the parameters [port]]
//   POST /classify  784 bytes, the pixels of an image  ->  {"class": 3, "scores": [...]}
//   GET /counts                                        ->  {"batches": 10, "requests": 80}
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <string_view>

#include "batcher.h"

using namespace loomix::nn;

namespace {

constexpr size_t kPixels = 784, kLongestHead = 8192, kMostConnections = 256;
constexpr size_t kMostBytes = 1 << 20;
std::atomic<size_t> connections{0};

std::string answer(int status, const std::string& body) {
  const char* const word = status == 200 ? "OK" : status == 503 ? "Service Unavailable" : "Bad Request";
  return "HTTP/1.1 " + std::to_string(status) + " " + word +
         "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         body;
}

std::string classify(Batcher& batcher, std::string_view pixels) {
  if (pixels.size() != kPixels)
    return answer(400, "{\"error\": \"" + std::to_string(pixels.size()) + " bytes came; expected 784\"}");
  Batcher::Row input(kPixels);
  for (size_t i = 0; i < kPixels; ++i)
    input[i] = static_cast<float>(static_cast<unsigned char>(pixels[i])) / 255;
  const Batcher::Row scores = batcher.ask(std::move(input)).get();
  std::string text;
  for (const float score : scores) text += (text.empty() ? "" : ", ") + std::to_string(score);
  const auto best = std::ranges::max_element(scores) - scores.begin();
  return answer(200, "{\"class\": " + std::to_string(best) + ", \"scores\": [" + text + "]}");
}

std::string respond(Batcher& batcher, std::string_view head, std::string_view body) {
  if (head.starts_with("POST /classify ")) return classify(batcher, body);
  if (head.starts_with("GET /counts ")) {
    const auto [batches, requests] = batcher.counts();
    return answer(200, "{\"batches\": " + std::to_string(batches) +
                           ", \"requests\": " + std::to_string(requests) + "}");
  }
  return answer(404, "{\"error\": \"expected POST /classify or GET /counts\"}");
}

bool send_all(int socket, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = send(socket, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    text.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

// The length that the head says; more than is allowed where it says nonsense.
size_t body_bytes(std::string head) {
  for (char& letter : head) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  const size_t at = head.find("\r\ncontent-length:");
  if (at == std::string::npos) return 0;
  const char* const from = head.c_str() + at + 17;
  char* end = nullptr;
  const unsigned long long bytes = std::strtoull(from, &end, 10);
  return end == from ? kMostBytes + 1 : static_cast<size_t>(bytes);
}

// Requests of one connection, one after the other, until the other side ends it or does not keep to the protocol.
void serve(int socket, Batcher& batcher) {
  std::string got;
  char piece[4096];
  const auto read_more = [&] {
    const ssize_t bytes = recv(socket, piece, sizeof piece, 0);
    if (bytes > 0) got.append(piece, static_cast<size_t>(bytes));
    return bytes > 0;
  };
  for (bool goes_on = true; goes_on;) {
    size_t end = 0;
    while ((end = got.find("\r\n\r\n")) == std::string::npos) {
      if (got.size() > kLongestHead || !read_more()) return;
    }
    const std::string head = got.substr(0, end + 2);
    got.erase(0, end + 4);
    const size_t bytes = body_bytes(head);
    if (bytes > kMostBytes) {
      send_all(socket, answer(400, "{\"error\": \"the body is too long\"}"));
      return;
    }
    while (got.size() < bytes) {
      if (!read_more()) return;
    }
    std::string response;
    try {
      response = respond(batcher, head, std::string_view(got).substr(0, bytes));
    } catch (const std::exception& error) {
      std::cerr << error.what() << '\n';
      response = answer(503, "{\"error\": \"the network failed\"}");
    }
    got.erase(0, bytes);
    goes_on = send_all(socket, response);
  }
}

int listen_at(int port) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (listener < 0 || bind(listener, any, size) || listen(listener, 128) || getsockname(listener, any, &size))
    throw Error(std::string("[server] port ") + std::to_string(port) + ": " + std::strerror(errno));
  std::cout << "listening at http://127.0.0.1:" << ntohs(address.sin_port) << std::endl;
  return listener;
}

void accept_all(int listener, Batcher& batcher) {
  for (;;) {
    const int socket = accept(listener, nullptr, nullptr);
    if (socket < 0) continue;
    const int on = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const timeval patience{30, 0};
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (++connections > kMostConnections) {
      send_all(socket, answer(503, "{\"error\": \"too many connections\"}"));
      close(socket);
      --connections;
      continue;
    }
    std::thread([socket, &batcher] {
      serve(socket, batcher);
      close(socket);
      --connections;
    }).detach();
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Sequential net(Conv2D(20, 5, {.activation = "tanh"}), MaxPool2D(2),  // as nn_lenet has it
                   Conv2D(50, 5, {.activation = "tanh"}), MaxPool2D(2),  //
                   Flatten(), Dense(500, {.activation = "tanh"}), Dense(10));
    net.load(argc > 1 ? argv[1] : "nn_lenet.params");
    net.hybridize();
    for (int64_t rows = 1; rows <= 64; rows *= 2) net(zeros({rows, 1, 28, 28})).wait();  // makes the graphs
    Batcher batcher(net, {1, 28, 28}, 64, std::chrono::milliseconds(1));
    const int listener = listen_at(argc > 2 ? std::atoi(argv[2]) : 8080);
    std::signal(SIGTERM, [](int) { std::_Exit(0); });
    accept_all(listener, batcher);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
