// SPDX-License-Identifier: Apache-2.0
#include "comm/network.h"

#include "base/error.h"
#include "engine/device/device_runtime.h"

namespace loomix::comm {
namespace {

const NetworkModule& network_module() {
  static const auto& module =
      network_module_part<NetworkModule>("loomix_network_module", kNetworkModuleVersion);
  return module;
}

}  // namespace

const void* network_module_part(const char* name, int interface_version) {
  const void* found = nullptr;
  try {
    found = engine::load_module_symbol("loomix_network", name,
                                       "talking to other processes needs the network module: build Loomix "
                                       "with OpenSSL and Protocol Buffers "
                                       "(libssl-dev, libprotobuf-dev, protobuf-compiler)");
  } catch (const DeviceError& error) {
    throw NetworkError(error.what());
  }
  const int there = *static_cast<const int*>(found);
  LOOMIX_CHECK(there == interface_version, NetworkError,
               "[comm] the network module was built for another version of Loomix (interface {}, not {}); "
               "install both from the same build.",
               there, interface_version);
  return found;
}

std::unique_ptr<Transport> make_network_transport(NetworkOptions options) {
  return network_module().open(std::move(options));
}
NewKeys new_keys(const std::vector<std::vector<Role>>& roles) { return network_module().new_keys(roles); }
bool has_network_module() noexcept {
  try {
    network_module();
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace loomix::comm
