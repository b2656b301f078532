// src/resilin/dist/store/request.h -- what a store is asked and what it answers, as plain values.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "resilin/base/reflect.h"

namespace resilin::dist {

/// Who asked for a write: one life of a process, and the number of its request. Instance 0 is nobody: its requests are not recognised again.
struct Writer {
  std::uint64_t instance = 0;
  std::uint64_t nonce = 0;
  static constexpr auto fields() { return std::tuple{field("instance", &Writer::instance), field("nonce", &Writer::nonce)}; }
  friend bool operator==(const Writer&, const Writer&) = default;
};

/// A key's value. Versions are numbers of the store's writes: a later write of any key has a greater one. Version 0: the key is absent.
struct StoreValue {
  std::string bytes = {};
  std::uint64_t version = 0;
  Writer writer = {};
  bool exists() const { return version != 0; }
  static constexpr auto fields() {
    return std::tuple{field("bytes", &StoreValue::bytes), field("version", &StoreValue::version), field("writer", &StoreValue::writer)};
  }
};

/// What must hold of a key before a transaction writes.
enum class Match { Version, Bytes };
constexpr std::array<std::string_view, 2> enum_names(Match*) { return {"version", "bytes"}; }

struct Compare {
  std::string key = {};
  Match match = Match::Version;
  std::uint64_t version = 0;  // 0: the key must be absent
  std::string bytes = {};
  static constexpr auto fields() {
    return std::tuple{field("key", &Compare::key), field("match", &Compare::match), field("version", &Compare::version),
                      field("bytes", &Compare::bytes)};
  }
};

/// How long a key stays: until it is removed, until the writer's connection closes, or for ttl_ms after its last write.
enum class Life { Lasting, Connection, Ttl };
constexpr std::array<std::string_view, 3> enum_names(Life*) { return {"lasting", "connection", "ttl"}; }

enum class WriteKind { Set, Remove };
constexpr std::array<std::string_view, 2> enum_names(WriteKind*) { return {"set", "remove"}; }

struct Write {
  std::string key = {};
  std::string bytes = {};
  WriteKind kind = WriteKind::Set;
  Life life = Life::Lasting;
  std::uint64_t ttl_ms = 0;
  static constexpr auto fields() {
    return std::tuple{field("key", &Write::key), field("bytes", &Write::bytes), field("kind", &Write::kind), field("life", &Write::life),
                      field("ttl_ms", &Write::ttl_ms)};
  }
};

/// Which fields of a request each takes, and what the reply holds:
///
///   Txn          compares, writes    Ok when all compares held: all writes are done; number = keys that were removed, version of the writes.
///                                    Else Refused; values of the compared keys. Set, compare-and-set and delete are such.
///   Add          keys[0], amount     number = the sum, which is kept as decimal text; an absent key counts 0
///   Append       keys[0], bytes      number = bytes of the value afterwards
///   Get          keys, wait_ms       values of all keys; waits until all exist
///   Wait         keys, wait_ms       as Get, without the values
///   Check        keys                number = 1 when all exist, else 0
///   Watch        keys, versions      values of all keys, as soon as one has another version than the one given for it; wait_ms
///   NumKeys                          number of keys, queues not counted
///   List         keys[0]             keys that begin so, sorted
///   Push         keys[0], bytes      number = items of the queue afterwards; queues are apart from keys and vanish when empty
///   Pop          keys[0], wait_ms    values[0] = the oldest item; waits for one; number = items that are left
///   QueueLength  keys[0]             number of items
enum class StoreOp { Txn, Add, Append, Get, Wait, Check, Watch, NumKeys, List, Push, Pop, QueueLength };
constexpr std::array<std::string_view, 12> enum_names(StoreOp*) {
  return {"txn", "add", "append", "get", "wait", "check", "watch", "num_keys", "list", "push", "pop", "queue_length"};
}

struct Request {
  StoreOp op = StoreOp::Get;
  Writer writer = {};
  std::uint64_t answered = 0;  // the writer holds the replies of all its nonces up to this one, so the store may forget them
  std::vector<std::string> keys = {};
  std::vector<std::uint64_t> versions = {};
  std::string bytes = {};
  std::int64_t amount = 0;
  std::vector<Compare> compares = {};
  std::vector<Write> writes = {};
  std::uint64_t wait_ms = 0;  // 0: answer at once with what there is
  static constexpr auto fields() {
    return std::tuple{field("op", &Request::op),          field("writer", &Request::writer),     field("answered", &Request::answered),
                      field("keys", &Request::keys),      field("versions", &Request::versions), field("bytes", &Request::bytes),
                      field("amount", &Request::amount),  field("compares", &Request::compares), field("writes", &Request::writes),
                      field("wait_ms", &Request::wait_ms)};
  }
};

/// Refused: a compare did not hold. Expired: wait_ms passed; values are what there is. Invalid: `error` says why; nothing was done.
enum class StoreStatus { Ok, Refused, Expired, Invalid };
constexpr std::array<std::string_view, 4> enum_names(StoreStatus*) { return {"ok", "refused", "expired", "invalid"}; }

struct Reply {
  StoreStatus status = StoreStatus::Ok;
  std::uint64_t version = 0;
  std::int64_t number = 0;
  std::vector<StoreValue> values = {};
  std::vector<std::string> keys = {};
  std::string error = {};
  static constexpr auto fields() {
    return std::tuple{field("status", &Reply::status), field("version", &Reply::version), field("number", &Reply::number),
                      field("values", &Reply::values), field("keys", &Reply::keys),       field("error", &Reply::error)};
  }
};

}  // namespace resilin::dist
