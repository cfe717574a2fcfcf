// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "io/record/source.h"

namespace loomix::io {

std::unique_ptr<ByteSource> open_http_source(const std::string& address, const HttpOptions&) {
  throw NotImplementedError(fmt::format(
      "[recordio] {}: this build of Loomix cannot read over HTTP; it was configured without libcurl "
      "(libcurl4-openssl-dev).",
      address));
}

}  // namespace loomix::io
