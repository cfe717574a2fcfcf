// SPDX-License-Identifier: Apache-2.0
#include "comm/network.h"

#include "base/error.h"
#include "engine/device/device_runtime.h"

namespace loomix::comm {
namespace {

const NetworkModule& network_module() {
  static const NetworkModule& module = []() -> const NetworkModule& {
    const NetworkModule* found = nullptr;
    try {
      found = static_cast<const NetworkModule*>(
          engine::load_module_symbol("loomix_network", "loomix_network_module",
                                     "talking to other processes needs the network module: build Loomix with "
                                     "OpenSSL and Protocol Buffers "
                                     "(libssl-dev, libprotobuf-dev, protobuf-compiler)"));
    } catch (const DeviceError& error) {
      throw NetworkError(error.what());
    }
    LOOMIX_CHECK(
        found->interface_version == kNetworkModuleVersion, NetworkError,
        "[comm] the network module was built for another version of Loomix (interface {}, not {}); install "
        "both from the same build.",
        found->interface_version, kNetworkModuleVersion);
    return *found;
  }();
  return module;
}

}  // namespace

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
