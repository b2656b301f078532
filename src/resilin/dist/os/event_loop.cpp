// src/resilin/dist/os/event_loop.cpp -- epoll, with waits finer than milliseconds.
#include "resilin/dist/os/event_loop.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "resilin/base/error.h"
#include "resilin/base/text.h"

namespace resilin::dist {
namespace {

constexpr std::chrono::nanoseconds kLongestWait = std::chrono::hours(1);

[[noreturn]] void fail(std::string_view what) {
  throw UnsupportedError(cat("event loop: ", what, " failed: ", std::generic_category().message(errno), "; descriptors must be left"));
}

/// The ticket of a descriptor travels with its events, so that an event of a closed one is not given to its successor.
std::uint64_t pack(int descriptor, std::uint64_t ticket) { return ticket << 32 | static_cast<std::uint32_t>(descriptor); }

int wait_for_events(int epoll, std::array<epoll_event, 64>& events, std::optional<std::chrono::nanoseconds> timeout) {
  if (!timeout) return epoll_wait(epoll, events.data(), events.size(), -1);
  const std::chrono::nanoseconds bounded = std::clamp(*timeout, std::chrono::nanoseconds(0), kLongestWait);
  const std::chrono::seconds seconds = std::chrono::duration_cast<std::chrono::seconds>(bounded);
  const timespec time{static_cast<time_t>(seconds.count()), static_cast<long>((bounded - seconds).count())};
  const int count = epoll_pwait2(epoll, events.data(), events.size(), &time, nullptr);
  if (count >= 0 || errno != ENOSYS) return count;
  const i64 milliseconds = (bounded + std::chrono::milliseconds(1) - std::chrono::nanoseconds(1)) / std::chrono::milliseconds(1);
  return epoll_wait(epoll, events.data(), events.size(), static_cast<int>(milliseconds));
}

}  // namespace

EventLoop::EventLoop() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_) fail("epoll_create1");
  wake_ = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_) fail("eventfd");
  add(wake_.get(), [this](Ready) {
    std::uint64_t count = 0;
    while (read(wake_.get(), &count, sizeof count) > 0) continue;
  });
}

void EventLoop::add(int descriptor, Callback callback) {
  const std::uint64_t ticket = ++last_ticket_ & 0xffffffffu;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = pack(descriptor, ticket);
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) fail("epoll_ctl");
  watched_[descriptor] = {ticket, std::make_shared<Callback>(std::move(callback))};
}

void EventLoop::watch_writing(int descriptor, bool wanted) {
  const std::map<int, Watched>::iterator found = watched_.find(descriptor);
  if (found == watched_.end()) return;
  epoll_event event{};
  event.events = EPOLLIN;
  if (wanted) event.events |= EPOLLOUT;
  event.data.u64 = pack(descriptor, found->second.ticket);
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, descriptor, &event) != 0) fail("epoll_ctl");
}

void EventLoop::remove(int descriptor) {
  if (watched_.erase(descriptor) != 0) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
}

void EventLoop::run_once(std::optional<std::chrono::nanoseconds> timeout) {
  std::array<epoll_event, 64> events;
  const int count = wait_for_events(epoll_.get(), events, timeout);
  if (count < 0) {
    if (errno == EINTR) return;
    fail("epoll_wait");
  }
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    const int descriptor = static_cast<int>(event.data.u64 & 0xffffffffu);
    const std::map<int, Watched>::const_iterator found = watched_.find(descriptor);
    if (found == watched_.end() || pack(descriptor, found->second.ticket) != event.data.u64) continue;
    const std::shared_ptr<Callback> callback = found->second.callback;  // it may remove itself
    (*callback)({(event.events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0, (event.events & EPOLLOUT) != 0});
  }
}

void EventLoop::wake() {
  const std::uint64_t one = 1;
  // A full counter wakes as well.
  if (write(wake_.get(), &one, sizeof one) < 0) return;
}

}  // namespace resilin::dist
