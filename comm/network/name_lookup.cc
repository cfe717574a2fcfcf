// SPDX-License-Identifier: Apache-2.0
#include "comm/network/name_lookup.h"

#include <fcntl.h>

#include <mutex>
#include <system_error>
#include <thread>

#include "base/error.h"
#include "comm/network/file.h"

namespace loomix::comm {

struct NameLookup::State {
  explicit State(File bell) : doorbell(std::move(bell)) {}
  const File doorbell;  // the threads' own: the caller's may be closed before they end
  std::mutex mutex;     // guards `found`
  std::vector<Found> found;

  void add(Found one) {
    {
      const std::lock_guard lock(mutex);
      found.push_back(std::move(one));
    }
    const uint64_t ring = 1;
    [[maybe_unused]] const ssize_t written = ::write(doorbell.get(), &ring, sizeof(ring));
  }
};

NameLookup::NameLookup(int doorbell)
    : state_(std::make_shared<State>(File(fcntl(doorbell, F_DUPFD_CLOEXEC, 0)))) {}

void NameLookup::start(LinkId link, Address address) {
  try {
    std::thread([state = state_, link, address = std::move(address)] {
      Found found{link, {}, {}};
      try {
        found.address = SocketAddress::resolve(address);
      } catch (const NetworkError&) {
        found.fault = fmt::format("the host '{}' is not known", address.host);
      }
      state->add(std::move(found));
    }).detach();
  } catch (const std::system_error&) {
    state_->add({link, {}, "there is no thread to look its name up"});
  }
}

std::vector<NameLookup::Found> NameLookup::take() {
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->found, {});
}

}  // namespace loomix::comm
