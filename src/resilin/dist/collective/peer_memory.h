// src/resilin/dist/collective/peer_memory.h -- Internal: reading the memory of another process of this host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace resilin::dist {

/// Copies bytes at an address of a process; of this one too. False when the process is gone, does not have that memory or does not let this
/// one read it; then `into` holds whatever came.
bool read_process_memory(std::int64_t process, std::uint64_t address, std::span<std::byte> into);

/// This process, as `read_process_memory` names it.
std::int64_t own_process();

/// A word that peers read to find out whether they can; it holds `probe_word()` as long as the process lives.
std::uint64_t probe_address();
std::uint64_t probe_word();

}  // namespace resilin::dist
