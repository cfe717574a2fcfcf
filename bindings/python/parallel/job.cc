// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/settings.h"
#include "bindings/python/parallel/core.h"
#include "comm/link_times.h"
#include "engine/engine.h"
#include "kvstore/cluster_store.h"
#include "kvstore/group_store.h"
#include "linalg/collective/collective_group.h"

namespace loomix::python {
namespace {

// Never deleted: arrays that Python's teardown forgets may be used by its messages.
std::atomic<linalg::JobRef*> running{nullptr};

void start(const std::string& kind, uintptr_t communicator) {
  LOOMIX_CHECK(running.load() == nullptr, StateError,
               "[parallel] the ranks were started already; start once, before the first matrix.");
  Runtime& runtime = core().runtime();
  std::shared_ptr<comm::ProcessGroup> group;
  {
    const py::gil_scoped_release release;
    const comm::GroupOptions options = kvstore::group_options(settings(), &runtime.engine().trace());
    if (kind == "mpi") group = comm::make_mpi_group(options, communicator);
    else if (kind == "network") group = kvstore::make_network_group(settings(), options);
    else group = std::move(comm::make_inproc_groups(1, options).front());
  }
  LOOMIX_CHECK(
      group->size() == 1 || settings().engine_type != "NaiveEngine", StateError,
      "[parallel] NaiveEngine runs each task at its call, so {} ranks would wait in their first message; "
      "expected another LOOMIX_ENGINE_TYPE.",
      group->size());
  auto made = std::make_unique<linalg::JobRef>(std::make_shared<linalg::Job>(runtime, std::move(group)));
  running.store(made.release());
}

py::dict to_dict(const comm::GroupTraffic& counts) {
  py::dict result;
  result["calls"] = counts.calls;
  result["sent"] = counts.sent;
  result["received"] = counts.received;
  result["waited_s"] = counts.waited_s;
  return result;
}

// The name of the group of these ranks, for attributes of operators. Every one of them calls it, alike; nothing travels.
std::string collective_group(const std::vector<int>& ranks) {
  static std::map<std::vector<int>, std::string> made;  // guarded by the GIL
  if (const auto found = made.find(ranks); found != made.end()) return found->second;
  const std::string name = fmt::format("ranks {}", fmt::join(ranks, ","));
  std::shared_ptr<comm::ProcessGroup> group = job()->group().subgroup(ranks);
  linalg::add_collective_group(
      make_ref<linalg::CollectiveGroup>(name, core().runtime().engine(), std::move(group)));
  return made[ranks] = name;
}

// As rank, whether it is on this machine, bytes, seconds one way, and with another message the other way.
std::vector<std::tuple<int, bool, size_t, double, double>> link_times(const std::vector<size_t>& sizes) {
  const linalg::JobRef used = job();
  const py::gil_scoped_release release;
  std::vector<std::tuple<int, bool, size_t, double, double>> times;
  for (const comm::LinkTime& one : comm::measure_links(used->group(), sizes))
    times.emplace_back(one.rank, one.same_machine, one.bytes, one.one_way_s, one.both_ways_s);
  return times;
}

}  // namespace

const linalg::JobRef& job() {
  const linalg::JobRef* const made = running.load();
  LOOMIX_CHECK(made != nullptr, StateError, "[parallel] the ranks are not started.");
  return *made;
}

void add_job(py::module_& m) {
  m.def("start", &start);
  m.def("started", [] { return running.load() != nullptr; });
  m.def("rank", [] { return job()->rank(); });
  m.def("size", [] { return job()->size(); });
  m.def("kind", [] { return job()->group().kind(); });
  m.def("traffic", [] { return to_dict(job()->group().traffic()); });
  m.def("collective_group", &collective_group);
  m.def("group_traffic", [](const std::string& name) {
    return to_dict(linalg::find_collective_group(name)->group().traffic());
  });
  m.def("link_times", &link_times);
  m.def("give_up", [](const std::string& why) { job()->group().give_up(why); });
  m.def("barrier", [] {
    const linalg::JobRef all = job();
    const py::gil_scoped_release release;
    comm::wait_for_call([&](comm::ProcessGroup::Done done) { all->group().barrier(std::move(done)); });
  });
  m.def("set_cache", [](int64_t bytes) {
    LOOMIX_CHECK(bytes >= 0, ValueError, "[parallel] a cache of {} bytes; expected 0 or more.", bytes);
    job()->kept().set_limit(bytes);
  });
  m.def("set_buffers", [](int count) {
    LOOMIX_CHECK(count >= 2 && count <= 64, ValueError, "[parallel] {} buffers; expected 2 to 64.", count);
    job()->buffers = count;
  });
  m.def("set_links", [](double bytes_per_s, double latency_s, double flops) {
    LOOMIX_CHECK(
        bytes_per_s > 0 && latency_s >= 0 && flops > 0, ValueError,
        "[parallel] links of {} bytes/s and {} s, ranks of {} operations/s; expected positive numbers.",
        bytes_per_s, latency_s, flops);
    job()->links = {bytes_per_s, latency_s, flops};
  });
}

}  // namespace loomix::python
