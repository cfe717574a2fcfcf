// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "comm/network/header.pb.h"
#include "comm/transport.h"

namespace loomix::comm {

// Packet headers as Protocol Buffers. Keeps its memory from one to the next.
class HeaderCodec {
 public:
  // Valid until the next call.
  const std::string& encode(const PacketHeader& header);
  // False for bytes that are no header.
  bool decode(Bytes bytes, PacketHeader& header);

 private:
  wire::Header message_;
  std::string bytes_;
};

}  // namespace loomix::comm
