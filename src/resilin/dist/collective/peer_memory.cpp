// src/resilin/dist/collective/peer_memory.cpp -- process_vm_readv in pieces that it takes.
#include "resilin/dist/collective/peer_memory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/uio.h>
#include <unistd.h>

#include "resilin/dist/environment.h"

namespace resilin::dist {
namespace {

const volatile std::uint64_t* probe() {
  static const std::uint64_t word = machine_random().next();
  return &word;
}

}  // namespace

bool read_process_memory(std::int64_t process, std::uint64_t address, std::span<std::byte> into) {
  if (process == ::getpid()) {
    if (!into.empty()) std::memcpy(into.data(), reinterpret_cast<const void*>(address), into.size());
    return true;
  }
  while (!into.empty()) {
    const iovec here{into.data(), into.size()};
    const iovec there{reinterpret_cast<void*>(address), into.size()};
    const ssize_t count = ::process_vm_readv(static_cast<pid_t>(process), &here, 1, &there, 1, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    into = into.subspan(static_cast<std::size_t>(count));
    address += static_cast<std::uint64_t>(count);
  }
  return true;
}

std::int64_t own_process() { return ::getpid(); }

std::uint64_t probe_address() { return reinterpret_cast<std::uint64_t>(probe()); }
std::uint64_t probe_word() { return *probe(); }

}  // namespace resilin::dist
