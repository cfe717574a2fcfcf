// SPDX-License-Identifier: Apache-2.0
// Who is not let in, and what both sides hear about it; connections whose bytes vanish.
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "base/log.h"
#include "comm/network/codec.h"
#include "comm/network/stream.h"
#include "tests/cpp/comm/network/talk.h"

namespace loomix::comm {
namespace {

// One that the caller gets from a server.
std::string error_of_call(Endpoint& from, NodeName to = server(0)) {
  try {
    from.call(to, 0, {}, within(1s));
  } catch (const NetworkError& error) {
    return error.what();
  }
  return "no error";
}

void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\n  lacks: " << part;
}

// Nodes with different keys; the one that is called serves.
class Refusals : public testing::Test {
 protected:
  std::unique_ptr<Endpoint> serving(const NetworkOptions& options, EndpointOptions more = quick_options()) {
    auto made = std::make_unique<Endpoint>(loomix_network_module.open(options),
                                           NodeId{server(0), new_incarnation()}, std::move(more));
    made->serve(0, [this](Incoming&& incoming) {
      ++handled;
      incoming.responder.reply({});
    });
    return made;
  }
  std::string error_at(const Endpoint& called, const NetworkOptions& options, NodeName self = worker(0)) {
    const auto caller = node(self, options);
    caller->connect(server(0), called.address());
    return error_of_call(*caller);
  }
  // Lines of the log since the last call.
  std::string log_lines() { return testing::internal::GetCapturedStderr(); }
  std::atomic<int> handled{0};
};

NetworkOptions with(const Keys& keys) {
  NetworkOptions options;
  options.keys = keys;
  return options;
}

TEST_F(Refusals, ForeignCertificates) {
  const auto called = serving(with(keys_of_all_roles()));
  testing::internal::CaptureStderr();
  expect_in(error_at(*called, with(keys_of_all_roles())), "its certificate is not accepted");
  EXPECT_EQ(handled, 0);
  log_lines();
  // The caller believes whom it calls, and is not believed.
  Keys keys = keys_of_all_roles();
  const auto other = serving(with(keys));
  const Keys foreign = keys_of_all_roles();
  keys.own = foreign.own;
  testing::internal::CaptureStderr();
  expect_in(error_at(*other, with(keys)), "it does not accept this node's certificate");
  expect_in(log_lines(), "its certificate is not accepted");
  EXPECT_EQ(handled, 0);
}

// Who refuses may be gone when somebody asks why.
TEST_F(Refusals, TheReasonBeforeTheLastIsKept) {
  auto called = serving(with(keys_of_all_roles()));
  const auto caller = node(worker(0), with(keys_of_all_roles()));
  caller->connect(server(0), called->address());
  testing::internal::CaptureStderr();
  expect_in(error_of_call(*caller), "its certificate is not accepted");
  log_lines();
  called.reset();
  const auto trouble = [&] { return caller->peers().at(0).trouble; };
  const TimePoint until = Clock::now() + std::chrono::seconds(10);
  while (trouble().find("Connection refused") == std::string::npos && Clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  expect_in(trouble(), "Connection refused; before: its certificate is not accepted");
}

TEST_F(Refusals, KeysOnOneSideOnly) {
  const auto secure = serving(with(keys_of_all_roles())), plain = serving({});
  testing::internal::CaptureStderr();
  expect_in(error_at(*secure, {}), "it may want keys, and this node has none");
  expect_in(log_lines(), "it does not use TLS: it has no keys, or is no peer");
  testing::internal::CaptureStderr();
  expect_in(error_at(*plain, with(keys_of_all_roles())), "no keys");
  expect_in(log_lines(), "it has keys, and this node has none");
  EXPECT_EQ(handled, 0);
}

TEST_F(Refusals, RolesThatACertificateDoesNotName) {
  const NewKeys made = loomix_network_module.new_keys({{Role::server}, {Role::worker}});
  const NetworkOptions of_server = with({made.authority, made.own[0]}),
                       of_worker = with({made.authority, made.own[1]});
  const auto called = serving(of_server);
  EXPECT_EQ(error_at(*called, of_worker), "no error");
  EXPECT_EQ(handled, 1);
  testing::internal::CaptureStderr();
  const std::string reason = "it calls itself a server, and its certificate is for worker";
  expect_in(error_at(*called, of_worker, server(1)), reason);
  expect_in(log_lines(), reason);
  // Nor does a caller believe a worker that it is a server.
  const auto impostor = serving(of_worker);
  expect_in(error_at(*impostor, of_worker), reason);
  EXPECT_EQ(handled, 1);
}

TEST_F(Refusals, OtherClustersAndVersions) {
  EndpointOptions other = quick_options();
  other.cluster = "other";
  const auto called = serving({}, other);
  expect_in(error_at(*called, {}), "it belongs to cluster 'loomix', which is not that of server 0");
  HeaderCodec codec;
  PacketHeader hello;
  hello.kind = PacketKind::hello;
  hello.hello = Hello{kProtocolVersion + 1, 2, 7, 1, "other", "", ""};
  testing::internal::CaptureStderr();
  std::this_thread::sleep_for(1100ms);  // one line a second
  send_raw(called->address(), std::string(Stream::kGreeting) + record(codec.encode(hello)));
  expect_in(log_lines(), fmt::format("it speaks version {} of the protocol; server 0 speaks {}",
                                     kProtocolVersion + 1, kProtocolVersion));
  EXPECT_EQ(handled, 0);
}

TEST_F(Refusals, WhatIsNotThere) {
  const auto caller = node(worker(0));
  uint16_t port;
  {
    const auto gone = serving({});
    port = port_of(gone->address());
  }
  caller->connect(server(0), fmt::format("tcp://127.0.0.1:{}", port));
  expect_in(error_of_call(*caller), "was not reached within 1.0 s: Connection refused");
  NetworkOptions trusting;
  trusting.trusted_network = true;
  const auto far = node(worker(1), trusting);
  far->connect(server(0), "tcp://no.such.host.invalid:1");
  expect_in(error_of_call(*far), "the host 'no.such.host.invalid' is not known");
  caller->connect(server(1), "tcp://192.0.2.1:4000");
  expect_in(error_of_call(*caller, server(1)), "this node has no keys");
  for (const char* text :
       {"tcp://127.0.0.1", "udp://127.0.0.1:1", "tcp://:1", "tcp://127.0.0.1:65536", "x"}) {
    caller->connect(server(2), text);
    expect_in(error_of_call(*caller, server(2)), "is no address; expected tcp://host:port");
  }
  NetworkOptions open;
  open.listen = "tcp://0.0.0.0:*";
  EXPECT_THROW(loomix_network_module.open(open), ValueError);
}

TEST_F(Refusals, KeysThatAreNone) {
  const Keys good = keys_of_all_roles();
  const std::string certificate = good.own.substr(good.own.find("-----BEGIN CERT"));
  const std::string key = good.own.substr(0, good.own.size() - certificate.size());
  const std::string other_key = [] {
    const std::string own = keys_of_all_roles().own;
    return own.substr(0, own.find("-----BEGIN CERT"));
  }();
  for (const auto& [authority, own, text] :
       {std::tuple<std::string, std::string, std::string>{"nothing", good.own, "authority's file has no"},
        {good.authority, "nothing", "lack a certificate"},
        {good.authority, certificate, "lack a private key"},
        {good.authority, key, "lack a certificate"},
        {good.authority, other_key + certificate, "do not fit"},
        {"", good.own, "authority's file has no"}}) {
    try {
      loomix_network_module.open(with({authority, own}));
      ADD_FAILURE() << text;
    } catch (const ValueError& error) {
      expect_in(error.what(), text);
    }
  }
}

// In a network of its own, which it may switch off.
bool set_loopback(bool up) {
  const File socket(::socket(AF_INET, SOCK_DGRAM, 0));
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = up ? IFF_UP : 0;
  return ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0;
}

// 0: it was noticed; 2: this system gives no networks to tests.
int notice_a_black_hole() {
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0 || !set_loopback(true)) return 2;
  NetworkOptions options;
  options.shared_memory = false;
  options.dead_after = 1s;
  EndpointOptions patient =
      quick_options();  // who hears nothing does not give up, so it is the connection that ends
  patient.dead_after = patient.heartbeat_every = 300s;
  Endpoint a(loomix_network_module.open(options), {server(0), 1}, patient);
  Endpoint b(loomix_network_module.open(options), {worker(0), 2}, patient);
  a.serve(0, echo);
  b.connect(server(0), a.address());
  b.call(server(0), 0, {}, within(10s));
  std::atomic<bool> lost{false};
  b.on_peer([&](const PeerEvent& event) { lost = lost || event.state == PeerState::lost; });
  if (!set_loopback(false)) return 2;
  b.request(server(0), 0, message_of({1}), within(60s), [](Reply&&) {});
  return eventually([&] { return lost.load(); }, 20s) ? 0 : 1;
}

TEST(Connections, BytesThatVanishAreNoticed) {
  const pid_t child = fork();
  if (child == 0) std::_Exit(notice_a_black_hole());
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "this system gives no networks of their own to tests";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace loomix::comm
