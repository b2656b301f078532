// src/resilin/tensor/system_memory.h -- Internal: memory from the operating system, counted against the limit.
#pragma once

#include "resilin/base/text.h"

namespace resilin {

/// What the process may take: the knob allocator.limit_bytes, else the machine's and the control groups' limit.
i64 system_limit_bytes();
/// Bytes taken from the system and not given back, and the number of times it was asked.
i64 system_reserved_bytes();
i64 system_allocations();

/// Fresh zero pages at a multiple of `alignment` (a power of two); null when the limit or the system refuses. From 2 MiB on huge pages are advised.
void* map_pages(i64 size_bytes, i64 alignment) noexcept;
void unmap_pages(void* pages, i64 size_bytes) noexcept;
/// Uninitialised memory at a multiple of 64 bytes from the C heap, for blocks smaller than makes a mapping worthwhile.
void* take_heap(i64 size_bytes) noexcept;
void give_heap(void* memory, i64 size_bytes) noexcept;

}  // namespace resilin
