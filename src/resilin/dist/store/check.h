// src/resilin/dist/store/check.h -- Internal: what a store refuses before it looks at its keys.
#pragma once

#include <string>

#include "resilin/dist/store/machine.h"

namespace resilin::dist {

/// Why the request is refused, as a message; empty when it is fine.
std::string fault_of(const Request& request, const StoreLimits& limits);
/// A value of that many bytes is kept; else why not.
std::string fault_of_value(StoreOp op, std::size_t size_bytes, const StoreLimits& limits);
/// The request changes the store, so its reply is remembered.
bool changes_store(const Request& request);

}  // namespace resilin::dist
