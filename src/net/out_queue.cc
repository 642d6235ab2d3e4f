#include "net/out_queue.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace phalanx::net {
namespace {
constexpr std::size_t kMergeBelow = 4096;    // small pieces share a segment …
constexpr std::size_t kSegment = 16 * 1024;  // … of at most this size
constexpr std::size_t kGather = 16;          // segments a system call
}  // namespace

void OutQueue::push(std::string bytes) {
  if (bytes.empty()) return;
  bytes_ += bytes.size();
  if (bytes.size() < kMergeBelow && !segments_.empty()) {
    Segment& last = segments_.back();
    if (!last.shared && last.own.size() + bytes.size() <= kSegment) {
      last.own += bytes;
      return;
    }
  }
  segments_.push_back({std::move(bytes), nullptr, 0});
}

void OutQueue::push(std::shared_ptr<const std::string> bytes) {
  if (!bytes || bytes->empty()) return;
  bytes_ += bytes->size();
  segments_.push_back({{}, std::move(bytes), 0});
}

void OutQueue::clear() {
  segments_.clear();
  bytes_ = 0;
}

OutQueue::Written OutQueue::write_to(int fd) {
  while (!empty()) {
    std::array<iovec, kGather> pieces{};
    const std::size_t count = std::min(segments_.size(), kGather);
    for (std::size_t i = 0; i < count; ++i) {
      const std::string_view rest = segments_[i].rest();
      pieces[i] = {const_cast<char*>(rest.data()), rest.size()};  // sendmsg only reads
    }
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = count;
    const ssize_t sent = ::sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno == EAGAIN ? Written::Blocked : Written::Broken;
    consume(static_cast<std::size_t>(sent));
  }
  return Written::All;
}

void OutQueue::consume(std::size_t count) {
  bytes_ -= count;
  while (count > 0) {
    Segment& first = segments_.front();
    const std::size_t size = first.rest().size();
    if (count < size) {
      first.sent += count;
      return;
    }
    count -= size;
    segments_.pop_front();
  }
}

}  // namespace phalanx::net
