// SPDX-License-Identifier: Apache-2.0
//
// What the network module has for kvstore/cluster_store.h: nodes as separate processes, made as the settings say.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "comm/network.h"
#include "kvstore/cluster/dist_store.h"
#include "kvstore/cluster/scheduler.h"
#include "kvstore/cluster/server.h"
#include "kvstore/cluster_store.h"

namespace loomix::kvstore {
namespace {

constexpr int kNodesOfHalfASecond = 300;                              // more send heartbeats more seldom
constexpr comm::Duration kRankGone = std::chrono::milliseconds(500);  // after its connection broke
constexpr auto kLook = std::chrono::milliseconds(50);
constexpr auto kFarewell = std::chrono::milliseconds(500);  // in which others hear of a failure
constexpr auto kMostFarewell = std::chrono::seconds(5);     // for those who are slow

comm::Duration seconds(double count) {
  return std::chrono::duration_cast<comm::Duration>(std::chrono::duration<double>(count));
}

// The IPv4 address of a host.
std::string address_of_host(const std::string& host) {
  addrinfo hints = {};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  LOOMIX_CHECK(error == 0, NetworkError, "[KVStore] the host '{}' is not known: {}.", host,
               gai_strerror(error));
  char text[INET_ADDRSTRLEN] = {};
  inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(found->ai_addr)->sin_addr, text, sizeof text);
  freeaddrinfo(found);
  return text;
}

std::string address_of_interface(const std::string& name) {
  ifaddrs* all = nullptr;
  LOOMIX_CHECK(getifaddrs(&all) == 0, NetworkError, "[KVStore] the network interfaces cannot be listed: {}.",
               std::strerror(errno));
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(all, freeifaddrs);
  std::string known;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    char text[INET_ADDRSTRLEN] = {};
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, text, sizeof text);
    if (name == one->ifa_name) return text;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", one->ifa_name);
  }
  detail::throw_error<ValueError>(
      "[KVStore] there is no network interface '{}' with an IPv4 address (LOOMIX_KV_INTERFACE, "
      "DMLC_INTERFACE); "
      "there are {}.",
      name, known);
}

// The own address on the way to `address`; nothing is sent.
std::string address_towards(const std::string& address) {
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(9);
  inet_pton(AF_INET, address.c_str(), &to.sin_addr);
  const int file = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in own = {};
  socklen_t size = sizeof own;
  const bool found = file >= 0 && connect(file, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 &&
                     getsockname(file, reinterpret_cast<sockaddr*>(&own), &size) == 0;
  if (file >= 0) close(file);
  LOOMIX_CHECK(found, NetworkError, "[KVStore] no network leads to {}.", address);
  char text[INET_ADDRSTRLEN] = {};
  inet_ntop(AF_INET, &own.sin_addr, text, sizeof text);
  return text;
}

// On the way to another one, if nothing else is said.
std::string own_host(const Settings& settings, const std::string& other) {
  if (!settings.kv_host.empty()) return settings.kv_host;
  if (!settings.kv_interface.empty()) return address_of_interface(settings.kv_interface);
  return address_towards(address_of_host(other));
}

constexpr const char* kAuthorityFile = "ca.pem";
constexpr comm::Role kRoles[] = {comm::Role::scheduler, comm::Role::server, comm::Role::worker};

std::string key_file(comm::Role role) { return fmt::format("{}.pem", name_of(role)); }

// `secret`: others must not be able to read it.
std::string read_key_file(const std::string& folder, const std::string& name, bool secret) {
  const std::string path = folder + '/' + name;
  std::ifstream file(path);
  struct stat info = {};
  LOOMIX_CHECK(file && stat(path.c_str(), &info) == 0, FileError,
               "[KVStore] the key file {} cannot be read: {}; make keys with `python -m loomix keys {}`.",
               path, std::strerror(errno), folder);
  LOOMIX_CHECK(!secret || (info.st_mode & 077) == 0, FileError,
               "[KVStore] the key file {} has the mode {:o}; others must not be able to read it, so 600 is "
               "expected.",
               path, info.st_mode & 0777u);
  return {std::istreambuf_iterator<char>(file), {}};
}

// From a folder with ca.pem and the role's file (server.pem); throws where others can read that.
comm::Keys read_keys(const std::string& folder, comm::Role role) {
  return {read_key_file(folder, kAuthorityFile, false), read_key_file(folder, key_file(role), true)};
}

comm::NetworkOptions network_options(const Settings& settings, comm::Role role) {
  comm::NetworkOptions options;
  options.trusted_network = settings.kv_trusted_network;
  options.shared_memory = settings.kv_shared_memory;
  options.dead_after = seconds(settings.kv_dead_after);
  if (!settings.kv_keys.empty()) options.keys = read_keys(settings.kv_keys, role);
  return options;
}

// A name that everybody knows would let clusters mix that can reach each other.
std::string cluster_name(const Settings& settings) {
  if (!settings.kv_cluster.empty()) return settings.kv_cluster;
  LOOMIX_CHECK(
      address_of_host(settings.kv_scheduler_host).starts_with("127."), ValueError,
      "[KVStore] a cluster that other machines reach needs a name; set LOOMIX_KV_CLUSTER on all nodes "
      "to one that no other cluster has. (`python -m loomix launch` chooses one.)");
  return "loomix";
}

// `nodes`: so many are in touch with one.
comm::EndpointOptions endpoint_options(const Settings& settings, std::string cluster, int nodes) {
  comm::EndpointOptions options;
  options.cluster = std::move(cluster);
  options.dead_after = seconds(settings.kv_dead_after);
  // Each has less than 2,000 messages a second from 1,000 nodes.
  options.heartbeat_every *= std::max(1, nodes / kNodesOfHalfASecond);
  options.heartbeat_every = std::min(options.heartbeat_every, options.dead_after / 4);
  options.reconnect_within = std::min(options.reconnect_within, options.dead_after);
  return options;
}

// All are in touch with the scheduler.
comm::EndpointOptions endpoint_options(const Settings& settings) {
  return endpoint_options(settings, cluster_name(settings), settings.kv_servers + settings.kv_workers);
}

// By its name, which each attempt to call it resolves anew: a scheduler that is started again may have another address. Where only this
// machine may be called, by the number.
std::string scheduler_address(const Settings& settings, const comm::NetworkOptions& network) {
  LOOMIX_CHECK(
      settings.kv_scheduler_port > 0, ValueError,
      "[KVStore] this process was not started as part of a cluster: it is not told the scheduler's port. Use "
      "`python -m loomix launch`, or set DMLC_PS_ROOT_URI and DMLC_PS_ROOT_PORT.");
  const std::string number = address_of_host(settings.kv_scheduler_host);
  const bool anywhere = network.trusted_network || !network.keys.empty();
  return fmt::format("tcp://{}:{}", anywhere ? settings.kv_scheduler_host : number,
                     settings.kv_scheduler_port);
}

NodeOptions node_options(const Settings& settings, comm::Role role, const comm::NetworkOptions& network) {
  NodeOptions options;
  options.scheduler = scheduler_address(settings, network);
  options.deadline = seconds(settings.kv_deadline);
  options.late_deadline = seconds(settings.kv_late_deadline);
  options.without_scheduler = seconds(settings.kv_without_scheduler);
  options.endpoint = endpoint_options(settings);
  options.rank = settings.kv_rank;
  const int count = role == comm::Role::server ? settings.kv_servers : settings.kv_workers;
  LOOMIX_CHECK(options.rank < count, ValueError,
               "[KVStore] this {} has the rank {}; expected 0 to {}. Check LOOMIX_KV_RANK (DMLC_WORKER_ID, "
               "DMLC_SERVER_ID), DMLC_NUM_WORKER and DMLC_NUM_SERVER.",
               name_of(role), options.rank, count - 1);
  if (options.rank < 0) {
    comm::NetworkOptions only_calls = network;
    only_calls.listen.clear();
    options.rank = ask_for_rank(comm::make_network_transport(std::move(only_calls)), role, options);
  }
  return options;
}

DeadWorker policy_of(const std::string& text) {
  return text == "fail" ? DeadWorker::fail : text == "wait" ? DeadWorker::wait : DeadWorker::go_on;
}

std::unique_ptr<Scheduler> make_scheduler(const Settings& settings) {
  ClusterOptions options;
  options.servers = settings.kv_servers;
  options.workers = settings.kv_workers;
  options.replicas = settings.kv_replicas;
  options.policy = policy_of(settings.kv_policy);
  options.complete_within = options.deadline = seconds(settings.kv_deadline);
  options.endpoint = endpoint_options(settings);
  comm::NetworkOptions network = network_options(settings, comm::Role::scheduler);
  const std::string port = settings.kv_scheduler_port == 0 ? "*" : std::to_string(settings.kv_scheduler_port);
  network.listen = fmt::format("tcp://{}:{}", address_of_host(settings.kv_scheduler_host), port);
  return std::make_unique<Scheduler>(comm::make_network_transport(std::move(network)), options);
}

std::unique_ptr<Server> make_server(Runtime& runtime, const Settings& settings, CodeOptimizerMaker code) {
  comm::NetworkOptions network = network_options(settings, comm::Role::server);
  NodeOptions options = node_options(settings, comm::Role::server, network);
  const std::string host = own_host(settings, settings.kv_scheduler_host);
  network.listen = fmt::format("tcp://{}:*", address_of_host(host));
  network.advertise = host;
  options.snapshots = {settings.kv_snapshot_dir, settings.kv_snapshot_every, settings.kv_restore};
  if (!settings.kv_allow_pickle) code = {};
  return std::make_unique<Server>(runtime, comm::make_network_transport(std::move(network)), options,
                                  std::move(code));
}

// A process that torchrun, or who knows its variables, has started.
comm::NetworkRank network_rank(const Settings& settings) {
  LOOMIX_CHECK(settings.group_rank >= 0 && settings.group_size > 0 && settings.group_port > 0, ValueError,
               "[KVStore] this process was not started as a rank of a job: RANK is {}, WORLD_SIZE {} and "
               "MASTER_PORT {}. "
               "Use torchrun, or set them and MASTER_ADDR.",
               settings.group_rank, settings.group_size, settings.group_port);
  LOOMIX_CHECK(settings.group_rank < settings.group_size, ValueError,
               "[KVStore] this process has the RANK {}; expected 0 to {}, by WORLD_SIZE.",
               settings.group_rank, settings.group_size - 1);
  const bool all_here = settings.group_local_size == settings.group_size;
  const std::string host = all_here ? "127.0.0.1" : settings.group_host;
  const std::string number = address_of_host(host);
  const int port = settings.group_port + (settings.group_port_taken ? 1 : 0);
  comm::NetworkOptions network = network_options(settings, comm::Role::worker);
  const std::string own =
      settings.group_rank == 0 || number.starts_with("127.") ? number : own_host(settings, host);
  const bool first = settings.group_rank == 0;
  network.listen = fmt::format("tcp://{}:{}", address_of_host(own), first ? std::to_string(port) : "*");
  network.advertise = own;
  comm::NetworkRank rank;
  // Others may come to this port later; and its name is known to nobody who was not told the port.
  rank.endpoint = endpoint_options(
      settings, fmt::format("{} group {}:{} of {}", settings.kv_cluster, number, port, settings.group_size),
      settings.group_size);
  rank.endpoint.reconnect_within = std::min(rank.endpoint.reconnect_within, kRankGone);
  rank.meeting = {settings.group_rank, settings.group_size, fmt::format("tcp://{}:{}", number, port)};
  rank.transport = comm::make_network_transport(std::move(network));
  return rank;
}

template <class Node>
void wait_for_end(const Node& node, const std::string& who, const std::function<bool()>& go_on) {
  Standing standing;
  while (go_on()) {
    standing = node.standing();
    if (standing.ended || !standing.failure.empty()) break;
    std::this_thread::sleep_for(kLook);
  }
  if (standing.failure.empty()) return;
  const comm::TimePoint until = comm::Clock::now() + kMostFarewell;
  std::this_thread::sleep_for(kFarewell);
  while (go_on() && !node.standing().told && comm::Clock::now() < until) std::this_thread::sleep_for(kLook);
  detail::throw_error<NetworkError>("[KVStore] the cluster of this {} has failed: {}", who, standing.failure);
}

std::unique_ptr<ClusterStore> make_store(Runtime& runtime, const std::string& type, int64_t staleness,
                                         const Settings& settings) {
  comm::NetworkOptions network = network_options(settings, comm::Role::worker);
  network.listen.clear();
  const NodeOptions options = node_options(settings, comm::Role::worker, network);
  return std::make_unique<DistStore>(runtime, type, staleness,
                                     comm::make_network_transport(std::move(network)), options);
}

void run_node(Runtime& runtime, const Settings& settings, const std::function<bool()>& go_on,
              CodeOptimizerMaker code) {
  LOOMIX_CHECK(settings.kv_role != "worker", ValueError,
               "[KVStore] a worker does not serve; expected the role server or scheduler (LOOMIX_KV_ROLE, "
               "DMLC_ROLE).");
  if (settings.kv_role == "scheduler") {
    wait_for_end(*make_scheduler(settings), settings.kv_role, go_on);
  } else {
    wait_for_end(*make_server(runtime, settings, std::move(code)), fmt::format("server {}", settings.kv_rank),
                 go_on);
  }
}

std::map<std::string, std::string> make_key_files() {
  std::vector<std::vector<comm::Role>> roles;
  for (const comm::Role role : kRoles) roles.push_back({role});
  comm::NewKeys made = comm::new_keys(roles);
  std::map<std::string, std::string> files = {{kAuthorityFile, std::move(made.authority)}};
  for (size_t i = 0; i < roles.size(); ++i) files[key_file(kRoles[i])] = std::move(made.own[i]);
  return files;
}

}  // namespace
}  // namespace loomix::kvstore

// The module's door: see comm::network_module_part().
extern "C" [[gnu::visibility("default")]] const loomix::kvstore::ClusterModule loomix_cluster_module;
const loomix::kvstore::ClusterModule loomix_cluster_module = {
    loomix::kvstore::kClusterModuleVersion, &loomix::kvstore::make_store, &loomix::kvstore::run_node,
    &loomix::kvstore::make_key_files, &loomix::kvstore::network_rank};
