// src/resilin/dist/store/operations.cpp -- what each request does to a store.
#include <utility>

#include "resilin/base/error.h"
#include "resilin/dist/store/check.h"
#include "resilin/dist/store/machine.h"

namespace resilin::dist {
namespace {

Reply invalid(std::string error) { return {.status = StoreStatus::Invalid, .error = std::move(error)}; }

}  // namespace

Reply StoreMachine::perform(const RequestArrived& arrived) {
  const Request& request = arrived.request;
  switch (request.op) {
    case StoreOp::Txn: return transact(arrived);
    case StoreOp::Add: return add(request);
    case StoreOp::Append: return append(request);
    case StoreOp::Get:
    case StoreOp::Watch: return values(request);
    case StoreOp::Wait: return {};
    case StoreOp::Check: return {.number = is_satisfied(request) ? 1 : 0};
    case StoreOp::NumKeys: return {.number = static_cast<i64>(keys_.size())};
    case StoreOp::List: return {.keys = keys_.list(request.keys[0])};
    case StoreOp::Push: return push(request);
    case StoreOp::Pop: return pop(request);
    case StoreOp::QueueLength: {
      const auto at = queues_.find(request.keys[0]);
      return {.number = at == queues_.end() ? 0 : static_cast<i64>(at->second.size())};
    }
  }
  throw InternalError("store: unknown request");
}

bool StoreMachine::is_satisfied(const Request& request) const {
  if (request.op == StoreOp::Pop) return queues_.contains(request.keys[0]);
  for (std::size_t i = 0; i < request.keys.size(); ++i) {
    const StoreValue* value = keys_.find(request.keys[i]);
    if (request.op != StoreOp::Watch) {
      if (value == nullptr) return false;
    } else if ((value == nullptr ? 0 : value->version) != request.versions[i]) {
      return true;
    }
  }
  return request.op != StoreOp::Watch;
}

bool StoreMachine::holds(const Compare& compare) const {
  const StoreValue* value = keys_.find(compare.key);
  if (compare.match == Match::Bytes) return value != nullptr && value->bytes == compare.bytes;
  return (value == nullptr ? 0 : value->version) == compare.version;
}

Reply StoreMachine::values(const Request& request) const {
  Reply reply;
  for (const std::string& key : request.keys) {
    const StoreValue* value = keys_.find(key);
    reply.values.push_back(value == nullptr ? StoreValue() : *value);
  }
  return reply;
}

Reply StoreMachine::transact(const RequestArrived& arrived) {
  const Request& request = arrived.request;
  Reply reply;
  for (const Compare& compare : request.compares) {
    if (!holds(compare)) reply.status = StoreStatus::Refused;
  }
  if (reply.status == StoreStatus::Refused) {
    for (const Compare& compare : request.compares) {
      const StoreValue* value = keys_.find(compare.key);
      reply.values.push_back(value == nullptr ? StoreValue() : *value);
    }
    return reply;
  }
  if (!request.writes.empty()) reply.version = keys_.next_version();
  for (const Write& write : request.writes) {
    changed_.push_back(write.key);
    if (write.kind == WriteKind::Remove) {
      reply.number += keys_.remove(write.key) ? 1 : 0;
    } else {
      keys_.set(write, {write.bytes, reply.version, request.writer}, arrived.connection, now_ms_);
    }
  }
  return reply;
}

void StoreMachine::update(const Request& request, std::string bytes, Reply& reply) {
  reply.version = keys_.next_version();
  keys_.update(request.keys[0], {std::move(bytes), reply.version, request.writer}, now_ms_);
  changed_.push_back(request.keys[0]);
}

Reply StoreMachine::add(const Request& request) {
  const StoreValue* value = keys_.find(request.keys[0]);
  Reply reply;
  i64 before = 0;
  try {
    if (value != nullptr) before = parse_integer(value->bytes);
  } catch (const ArgumentError&) {
    return invalid(
        cat("add: key \"", request.keys[0], "\" holds no number: ", value->bytes.size(), " bytes; it must be a decimal integer"));
  }
  if (__builtin_add_overflow(before, request.amount, &reply.number)) {
    return invalid(
        cat("add: the sum does not fit 64 bits: key \"", request.keys[0], "\" holds ", before, ", ", request.amount, " is added"));
  }
  update(request, cat(reply.number), reply);
  return reply;
}

Reply StoreMachine::append(const Request& request) {
  const StoreValue* value = keys_.find(request.keys[0]);
  std::string bytes = value == nullptr ? "" : value->bytes;
  if (std::string fault = fault_of_value(request.op, bytes.size() + request.bytes.size(), limits_); !fault.empty()) return invalid(fault);
  bytes += request.bytes;
  Reply reply{.number = static_cast<i64>(bytes.size())};
  update(request, std::move(bytes), reply);
  return reply;
}

Reply StoreMachine::push(const Request& request) {
  std::deque<std::string>& queue = queues_[request.keys[0]];
  queue.push_back(request.bytes);
  filled_.push_back(request.keys[0]);
  return {.number = static_cast<i64>(queue.size())};
}

Reply StoreMachine::pop(const Request& request) {
  const auto at = queues_.find(request.keys[0]);
  if (at == queues_.end()) return {.status = StoreStatus::Expired};
  Reply reply;
  reply.values.push_back({std::move(at->second.front()), 0, {}});
  at->second.pop_front();
  reply.number = static_cast<i64>(at->second.size());
  if (at->second.empty()) queues_.erase(at);
  return reply;
}

}  // namespace resilin::dist
