// src/resilin/dist/store/key_table.h -- Internal: the keys of a store, with their versions and how long they stay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "resilin/dist/store/request.h"

namespace resilin::dist {

/// A key as it is kept. Connections and times have a meaning only within one life of the store.
struct KeyEntry {
  StoreValue value;
  Life life = Life::Lasting;
  std::uint64_t ttl_ms = 0;
  std::uint64_t connection = 0;
  std::uint64_t deadline_ms = 0;
  static constexpr auto fields() {
    return std::tuple{field("value", &KeyEntry::value), field("life", &KeyEntry::life), field("ttl_ms", &KeyEntry::ttl_ms)};
  }
};

class KeyTable {
 public:
  using Entries = std::map<std::string, KeyEntry, std::less<>>;

  /// Null when the key is absent.
  const StoreValue* find(std::string_view key) const;
  /// The number of the write that follows all others; writes of one transaction share one.
  std::uint64_t next_version() { return ++last_version_; }
  void set(const Write& write, StoreValue value, std::uint64_t connection, std::uint64_t now_ms);
  /// A new value of a key that keeps its life, or of a lasting one.
  void update(const std::string& key, StoreValue value, std::uint64_t now_ms);
  bool remove(const std::string& key);

  /// Removes what ends with the connection, or at this time; gives back the keys.
  std::vector<std::string> close(std::uint64_t connection);
  std::vector<std::string> expire(std::uint64_t now_ms);
  /// Moves the deadlines of all leases: the time passed without anybody watching.
  void extend_leases(std::uint64_t gap_ms);
  /// The earliest deadline of a lease; the greatest number when there is none.
  std::uint64_t next_deadline_ms() const;

  std::size_t size() const { return entries_.size(); }
  std::vector<std::string> list(std::string_view prefix) const;
  const Entries& entries() const { return entries_; }
  std::uint64_t last_version() const { return last_version_; }
  /// Takes over what a snapshot holds: leases begin anew, and what was bound to a connection is gone with it.
  void restore(std::uint64_t last_version, std::vector<std::pair<std::string, KeyEntry>> entries, std::uint64_t now_ms);

 private:
  void attach(const std::string& key, const KeyEntry& entry);
  void detach(const std::string& key, const KeyEntry& entry);

  Entries entries_;
  std::uint64_t last_version_ = 0;
  std::map<std::uint64_t, std::set<std::string>> bound_;    // connection -> its keys
  std::set<std::pair<std::uint64_t, std::string>> leases_;  // (deadline, key)
};

}  // namespace resilin::dist
