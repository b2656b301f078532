// src/resilin/dist/store/check.cpp -- what a store refuses before it looks at its keys.
#include "resilin/dist/store/check.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace resilin::dist {
namespace {

std::string fault_of_key(StoreOp op, std::string_view key, const StoreLimits& limits) {
  if (key.size() <= limits.key_bytes) return "";
  return cat(enum_name(op), ": a key is too long: ", key.size(), " bytes, \"", key.substr(0, 32), "...\"; at most ", limits.key_bytes,
             " are taken");
}

/// How many keys the op takes; -1 for any number.
int key_count(StoreOp op) {
  switch (op) {
    case StoreOp::Txn:
    case StoreOp::NumKeys: return 0;
    case StoreOp::Get:
    case StoreOp::Wait:
    case StoreOp::Check:
    case StoreOp::Watch: return -1;
    case StoreOp::Add:
    case StoreOp::Append:
    case StoreOp::List:
    case StoreOp::Push:
    case StoreOp::Pop:
    case StoreOp::QueueLength: return 1;
  }
  return -1;
}

std::string fault_of_writes(const Request& request, const StoreLimits& limits) {
  std::vector<std::string_view> names;
  for (const Write& write : request.writes) {
    if (const std::string fault = fault_of_key(request.op, write.key, limits); !fault.empty()) return fault;
    if (const std::string fault = fault_of_value(request.op, write.bytes.size(), limits); !fault.empty()) return fault;
    if ((write.life == Life::Ttl) != (write.ttl_ms != 0)) {
      return cat("txn: key \"", write.key, "\" has the life ", enum_name(write.life), " and ttl_ms ", write.ttl_ms,
                 "; a life of ttl, and no other, takes a time");
    }
    names.push_back(write.key);
  }
  std::ranges::sort(names);
  const std::vector<std::string_view>::const_iterator twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) return cat("txn: key \"", *twice, "\" is written twice; a transaction writes each key once");
  return "";
}

}  // namespace

std::string fault_of_value(StoreOp op, std::size_t size_bytes, const StoreLimits& limits) {
  if (size_bytes <= limits.value_bytes) return "";
  return cat(enum_name(op), ": a value is too long: ", size_bytes, " bytes; at most ", limits.value_bytes, " are taken");
}

std::string fault_of(const Request& request, const StoreLimits& limits) {
  const int count = key_count(request.op);
  if (count >= 0 && request.keys.size() != static_cast<std::size_t>(count)) {
    return cat(enum_name(request.op), ": ", request.keys.size(), " keys are given; it takes ", count);
  }
  if (request.op == StoreOp::Watch && request.versions.size() != request.keys.size()) {
    return cat("watch: ", request.keys.size(), " keys and ", request.versions.size(), " versions are given; each key takes one");
  }
  for (const std::string& key : request.keys) {
    if (const std::string fault = fault_of_key(request.op, key, limits); !fault.empty()) return fault;
  }
  for (const Compare& compare : request.compares) {
    if (const std::string fault = fault_of_key(request.op, compare.key, limits); !fault.empty()) return fault;
  }
  if (const std::string fault = fault_of_value(request.op, request.bytes.size(), limits); !fault.empty()) return fault;
  return fault_of_writes(request, limits);
}

bool changes_store(const Request& request) {
  switch (request.op) {
    case StoreOp::Txn: return !request.writes.empty();
    case StoreOp::Add:
    case StoreOp::Append:
    case StoreOp::Push:
    case StoreOp::Pop: return true;
    case StoreOp::Get:
    case StoreOp::Wait:
    case StoreOp::Check:
    case StoreOp::Watch:
    case StoreOp::NumKeys:
    case StoreOp::List:
    case StoreOp::QueueLength: return false;
  }
  return false;
}

}  // namespace resilin::dist
