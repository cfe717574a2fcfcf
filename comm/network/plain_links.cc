// SPDX-License-Identifier: Apache-2.0
#include "comm/network/plain_links.h"

#include <cstring>

#include "base/error.h"

namespace loomix::comm {
namespace {

constexpr std::string_view kAnswer = "plain ";
constexpr size_t kTokenBytes = 16;
constexpr size_t kSealBytes = kTokenBytes + sizeof(uint64_t) + Seal::kTagBytes;
constexpr uint64_t kLeast = 4096;  // smaller payloads are encrypted in no time
constexpr int kAtATime = 64;
constexpr size_t kMaxParts = 256;

std::string to_hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

// Empty for what is no such text.
std::string from_hex(std::string_view text, size_t bytes) {
  if (text.size() != 2 * bytes) return {};
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) return {};
    if (i % 2 == 0) {
      result += static_cast<char>(digit << 4);
    } else {
      result.back() = static_cast<char>(static_cast<unsigned char>(result.back()) | digit);
    }
  }
  return result;
}

}  // namespace

PlainLinks::PlainLinks(const ZmqContext& context, const std::string& endpoint, const std::string& host,
                       int64_t max_frame)
    : sockets_{ZmqSocket(context, ZMQ_ROUTER), ZmqSocket(context, ZMQ_ROUTER)} {
  for (ZmqSocket& socket : sockets_) socket.set_up_router(max_frame);
  events_[0] = sockets_[0].monitor(context, "inproc://plain-accepting", true);
  events_[1] = sockets_[1].monitor(context, "inproc://plain-dialling", false);
  if (endpoint.empty()) return;
  const std::string bound = sockets_[0].bind(endpoint);
  address_ = "tcp://" + host + bound.substr(bound.rfind(':'));
}

std::string PlainLinks::answer(LinkId link) {
  if (address_.empty()) return {};
  // Who calls says hello until it is welcomed.
  if (const auto known = links_.find(link); known != links_.end()) return known->second.answer;
  const std::string key = random_bytes(Seal::kKeyBytes), token = random_bytes(kTokenBytes);
  std::string answer = fmt::format("{}{} {} {}", kAnswer, address_, to_hex(key), to_hex(token));
  links_.emplace(link, Plain{.seal = Seal(key), .token = token, .id = {}, .endpoint = {}, .answer = answer});
  by_token_[token] = link;
  return answer;
}

bool PlainLinks::settle(LinkId link, std::string_view answer) {
  if (!answer.starts_with(kAnswer)) return false;
  if (const auto known = links_.find(link); known != links_.end()) {
    if (known->second.answer == answer) return true;
    close(link);
  }
  const std::string all(answer);
  answer.remove_prefix(kAnswer.size());
  const size_t first = answer.find(' '), second = answer.rfind(' ');
  if (first == std::string_view::npos || second <= first) return false;
  const std::string key = from_hex(answer.substr(first + 1, second - first - 1), Seal::kKeyBytes);
  const std::string token = from_hex(answer.substr(second + 1), kTokenBytes);
  if (key.empty() || token.empty()) return false;
  Plain plain{.seal = Seal(key),
              .token = token,
              .dialled = true,
              .id = fmt::format("plain-{}", ++dialled_),
              .endpoint = std::string(answer.substr(0, first)),
              .answer = all};
  sockets_[1].set(ZMQ_CONNECT_ROUTING_ID, plain.id);
  if (zmq_connect(sockets_[1].get(), plain.endpoint.c_str()) != 0) return false;
  by_token_[token] = link;
  Plain& kept = links_.emplace(link, std::move(plain)).first->second;
  send_sealed(kept, {}, {});  // so that the other side knows the connection
  return true;
}

void PlainLinks::close(LinkId link) {
  const auto found = links_.find(link);
  if (found == links_.end()) return;
  const Plain& plain = found->second;
  if (plain.dialled) {
    zmq_disconnect(sockets_[1].get(), plain.endpoint.c_str());
  } else {
    guard_.cut(plain.file);
  }
  by_token_.erase(plain.token);
  links_.erase(found);
}

bool PlainLinks::used(LinkId link) const {
  const auto found = links_.find(link);
  return found != links_.end() && found->second.ready;
}

bool PlainLinks::send(LinkId link, const Packet& packet, HeaderCodec& codec) {
  if (packet.body.empty()) return false;
  const auto found = links_.find(link);
  if (found == links_.end() || !found->second.ready || packet.body_bytes() < kLeast) return false;
  const std::string& header = codec.encode(packet.header);
  return send_sealed(found->second, std::as_bytes(std::span(header)), packet.body);
}

bool PlainLinks::send_sealed(Plain& plain, Bytes header, const std::vector<Buffer>& body) {
  ZmqSocket& socket = sockets_[plain.dialled];
  if (!send_part(socket, std::as_bytes(std::span(plain.id)), true)) return false;
  const uint64_t number = ++plain.sent;
  const Seal::Tag tag = plain.seal.sign(plain.dialled, number, header, body);
  char seal[kSealBytes];
  std::memcpy(seal, plain.token.data(), kTokenBytes);
  std::memcpy(seal + kTokenBytes, &number, sizeof(number));
  std::memcpy(seal + kTokenBytes + sizeof(number), tag.data(), tag.size());
  bool good = send_part(socket, std::as_bytes(std::span(seal)), true);
  good = good && send_part(socket, header, !body.empty());
  for (size_t i = 0; good && i < body.size(); ++i) good = send_part(socket, body[i], i + 1 < body.size());
  return good;
}

bool PlainLinks::receive(HeaderCodec& codec, size_t header_bytes, TransportEvents& events) {
  const bool any = receive(false, codec, header_bytes, events);
  return receive(true, codec, header_bytes, events) || any;
}

bool PlainLinks::receive(bool dialled, HeaderCodec& codec, size_t header_bytes, TransportEvents& events) {
  for (int i = 0; i < kAtATime; ++i) {
    std::string id;
    std::vector<Buffer> frames;
    int file = -1;
    if (!receive_message(sockets_[dialled], kMaxParts, id, frames, file)) return i > 0;
    on_frames(dialled, id, std::move(frames), file, codec, header_bytes, events);
  }
  return true;
}

void PlainLinks::on_frames(bool dialled, std::string_view id, std::vector<Buffer>&& frames, int file,
                           HeaderCodec& codec, size_t header_bytes, TransportEvents& events) {
  const auto refuse = [&] {
    ++refused_;
    if (!dialled) guard_.cut(file);
  };
  if (frames.size() < 2 || frames[0].size() != kSealBytes || frames[1].size() > header_bytes) return refuse();
  const char* const seal = frames[0].text().data();
  const auto known = by_token_.find(std::string(seal, kTokenBytes));
  if (known == by_token_.end()) return refuse();
  const LinkId link = known->second;
  Plain& plain = links_.at(link);
  uint64_t number;
  Seal::Tag tag;
  std::memcpy(&number, seal + kTokenBytes, sizeof(number));
  std::memcpy(tag.data(), seal + kTokenBytes + sizeof(number), tag.size());
  const std::span<const Buffer> body = std::span(frames).subspan(2);
  if (plain.dialled != dialled || number <= plain.received ||
      !plain.seal.fits(tag, !dialled, number, frames[1].bytes(), body))
    return refuse();
  plain.received = number;
  plain.file = file;
  if (!dialled) {
    guard_.message_from(file);
    plain.id = id;
  }
  if (!plain.ready) {
    plain.ready = true;
    if (!dialled) send_sealed(plain, {}, {});
  }
  if (frames[1].empty()) return;
  Packet packet;
  if (!codec.decode(frames[1].bytes(), packet.header)) return refuse();
  packet.body.assign(std::make_move_iterator(frames.begin() + 2), std::make_move_iterator(frames.end()));
  events.on_packet(link, std::move(packet));
}

std::vector<int> PlainLinks::files() const {
  return {sockets_[0].file(), sockets_[1].file(), events_[0].file(), events_[1].file()};
}

bool PlainLinks::owns(int file) const {
  for (const int own : files()) {
    if (own == file) return true;
  }
  return false;
}

// Where the connection broke packets take the encrypted link, until there is a new one.
void PlainLinks::read_monitors() {
  for (const bool dialled : {false, true}) {
    SocketEvent event;
    while (receive_event(events_[dialled], event)) {
      if (event.kind == ZMQ_EVENT_ACCEPTED) {
        guard_.accepted(event.value);
      } else if (event.kind == ZMQ_EVENT_DISCONNECTED) {
        if (!dialled) guard_.gone(event.value);
        for (const auto& [link, plain] : links_) {
          if (plain.dialled != dialled || plain.file != event.value) continue;
          close(link);
          break;
        }
      }
    }
  }
}

}  // namespace loomix::comm
