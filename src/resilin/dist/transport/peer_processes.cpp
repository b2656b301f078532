// src/resilin/dist/transport/peer_processes.cpp -- process descriptors in an epoll set.
#include "resilin/dist/transport/peer_processes.h"

#include <cerrno>
#include <utility>

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "resilin/base/error.h"
#include "resilin/base/text.h"

namespace resilin::dist {
namespace {

bool add(const Descriptor& set, int descriptor, int number) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = static_cast<std::uint64_t>(number);
  return epoll_ctl(set.get(), EPOLL_CTL_ADD, descriptor, &event) == 0;
}

}  // namespace

PeerProcesses::PeerProcesses(int engine_descriptor) : ends_(epoll_create1(EPOLL_CLOEXEC)), sleep_(epoll_create1(EPOLL_CLOEXEC)) {
  if (!ends_ || !sleep_ || !add(sleep_, ends_.get(), 0) || !add(sleep_, engine_descriptor, 1)) {
    throw UnsupportedError("transport: the system gives no descriptor to wait for processes; epoll is needed");
  }
}

void PeerProcesses::watch(int peer, std::int64_t process) {
  Descriptor descriptor(static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(process), 0)));
  if (!descriptor && errno == ESRCH) return gone_.push_back(peer);
  if (!descriptor || !add(ends_, descriptor.get(), peer)) {
    throw StoreError(cat("connect: process ", process, " of rank ", peer, " cannot be watched; pidfd_open must work in this system"));
  }
  processes_[peer] = std::move(descriptor);
}

std::optional<int> PeerProcesses::next_ended() {
  if (gone_.empty()) {
    epoll_event event{};
    if (epoll_wait(ends_.get(), &event, 1, 0) == 1) {
      gone_.push_back(static_cast<int>(event.data.u64));
      processes_.erase(gone_.back());
    }
  }
  if (gone_.empty()) return std::nullopt;
  const int peer = gone_.front();
  gone_.pop_front();
  return peer;
}

}  // namespace resilin::dist
