// src/resilin/dist/store/store.cpp -- the verbs of a store's client over its one door.
#include "resilin/dist/store/store.h"

#include <algorithm>
#include <utility>

namespace resilin::dist {
namespace {

std::vector<std::string> texts(std::vector<StoreValue> values) {
  std::vector<std::string> result;
  for (StoreValue& value : values) result.push_back(std::move(value.bytes));
  return result;
}

}  // namespace

StoreError Store::given_up(StoreOp op) {
  return StoreError(cat("store: ", enum_name(op), " has no answer yet; who asked was told not to wait for one"));
}

Reply Store::checked(Request request) {
  Reply reply = ask(std::move(request));
  if (reply.status == StoreStatus::Invalid) throw StoreError(cat("store: ", reply.error));
  return reply;
}

Reply Store::waited(Request request, std::chrono::milliseconds timeout) {
  request.wait_ms = static_cast<std::uint64_t>(std::max<i64>(0, timeout.count()));
  const std::string_view op = enum_name(request.op);
  const std::vector<std::string> keys = request.keys;
  const bool looks_once = request.wait_ms == 0;
  Reply reply = checked(std::move(request));
  bool complete = reply.status == StoreStatus::Ok;
  if (looks_once) {
    for (const StoreValue& value : reply.values) complete = complete && (op == "pop" || op == "watch" || value.exists());
  }
  if (!complete) {
    throw TimeoutError(cat(op, ": wait timeout after ", timeout.count(), "ms, keys: ", keys, "; another process must write them in time"));
  }
  return reply;
}

void Store::set(std::string_view key, std::string_view bytes) { txn({}, {{.key = std::string(key), .bytes = std::string(bytes)}}); }

std::string Store::get(std::string_view key, std::chrono::milliseconds timeout) {
  return std::move(waited({.op = StoreOp::Get, .keys = {std::string(key)}}, timeout).values[0].bytes);
}

std::vector<std::string> Store::multi_get(const std::vector<std::string>& keys, std::chrono::milliseconds timeout) {
  return texts(waited({.op = StoreOp::Get, .keys = keys}, timeout).values);
}

std::int64_t Store::add(std::string_view key, std::int64_t amount) {
  return checked({.op = StoreOp::Add, .keys = {std::string(key)}, .amount = amount}).number;
}

std::int64_t Store::append(std::string_view key, std::string_view bytes) {
  return checked({.op = StoreOp::Append, .keys = {std::string(key)}, .bytes = std::string(bytes)}).number;
}

std::string Store::compare_set(std::string_view key, std::string_view expected, std::string_view desired) {
  const std::vector<Write> write = {{.key = std::string(key), .bytes = std::string(desired)}};
  Reply reply = txn({{.key = std::string(key), .match = Match::Bytes, .bytes = std::string(expected)}}, write);
  const bool is_absent = reply.status == StoreStatus::Refused && !reply.values[0].exists();
  if (is_absent && !expected.empty()) return std::string(expected);
  if (is_absent) reply = txn({{.key = std::string(key)}}, write);
  return reply.status == StoreStatus::Ok ? std::string(desired) : std::move(reply.values[0].bytes);
}

Reply Store::txn(std::vector<Compare> compares, std::vector<Write> writes) {
  return checked({.op = StoreOp::Txn, .compares = std::move(compares), .writes = std::move(writes)});
}

void Store::wait(const std::vector<std::string>& keys, std::chrono::milliseconds timeout) {
  if (timeout.count() > 0) {
    waited({.op = StoreOp::Wait, .keys = keys}, timeout);
  } else if (!check(keys)) {
    throw TimeoutError(cat("wait: wait timeout after 0ms, keys: ", keys, "; another process must write them in time"));
  }
}

bool Store::check(const std::vector<std::string>& keys) { return checked({.op = StoreOp::Check, .keys = keys}).number != 0; }

bool Store::remove(std::string_view key) { return txn({}, {{.key = std::string(key), .kind = WriteKind::Remove}}).number != 0; }

std::int64_t Store::num_keys() { return checked({.op = StoreOp::NumKeys}).number; }

std::vector<std::string> Store::list(std::string_view prefix) { return checked({.op = StoreOp::List, .keys = {std::string(prefix)}}).keys; }

StoreValue Store::watch(std::string_view key, std::uint64_t version, std::chrono::milliseconds timeout) {
  Reply reply = waited({.op = StoreOp::Watch, .keys = {std::string(key)}, .versions = {version}}, timeout);
  return std::move(reply.values[0]);
}

std::int64_t Store::push(std::string_view queue, std::string_view bytes) {
  return checked({.op = StoreOp::Push, .keys = {std::string(queue)}, .bytes = std::string(bytes)}).number;
}

std::string Store::pop(std::string_view queue, std::chrono::milliseconds timeout) {
  return std::move(waited({.op = StoreOp::Pop, .keys = {std::string(queue)}}, timeout).values[0].bytes);
}

std::int64_t Store::queue_length(std::string_view queue) {
  return checked({.op = StoreOp::QueueLength, .keys = {std::string(queue)}}).number;
}

}  // namespace resilin::dist
