// src/resilin/dist/store/key_table.cpp -- the keys of a store, with their versions and how long they stay.
#include "resilin/dist/store/key_table.h"

#include <limits>

namespace resilin::dist {

const StoreValue* KeyTable::find(std::string_view key) const {
  const Entries::const_iterator at = entries_.find(key);
  return at == entries_.end() ? nullptr : &at->second.value;
}

void KeyTable::set(const Write& write, StoreValue value, std::uint64_t connection, std::uint64_t now_ms) {
  KeyEntry& entry = entries_[write.key];
  detach(write.key, entry);
  entry = {std::move(value), write.life, write.ttl_ms, connection, now_ms + write.ttl_ms};
  attach(write.key, entry);
}

void KeyTable::update(const std::string& key, StoreValue value, std::uint64_t now_ms) {
  KeyEntry& entry = entries_[key];
  detach(key, entry);
  entry.value = std::move(value);
  entry.deadline_ms = now_ms + entry.ttl_ms;
  attach(key, entry);
}

bool KeyTable::remove(const std::string& key) {
  const Entries::iterator at = entries_.find(key);
  if (at == entries_.end()) return false;
  detach(key, at->second);
  entries_.erase(at);
  return true;
}

std::vector<std::string> KeyTable::close(std::uint64_t connection) {
  const std::map<std::uint64_t, std::set<std::string>>::iterator at = bound_.find(connection);
  if (at == bound_.end()) return {};
  const std::vector<std::string> keys(at->second.begin(), at->second.end());
  for (const std::string& key : keys) remove(key);
  return keys;
}

std::vector<std::string> KeyTable::expire(std::uint64_t now_ms) {
  std::vector<std::string> keys;
  for (const auto& [deadline_ms, key] : leases_) {
    if (deadline_ms > now_ms) break;
    keys.push_back(key);
  }
  for (const std::string& key : keys) remove(key);
  return keys;
}

void KeyTable::extend_leases(std::uint64_t gap_ms) {
  std::set<std::pair<std::uint64_t, std::string>> later;
  for (const auto& [deadline_ms, key] : leases_) {
    entries_[key].deadline_ms = deadline_ms + gap_ms;
    later.emplace_hint(later.end(), deadline_ms + gap_ms, key);
  }
  leases_ = std::move(later);
}

std::uint64_t KeyTable::next_deadline_ms() const {
  return leases_.empty() ? std::numeric_limits<std::uint64_t>::max() : leases_.begin()->first;
}

std::vector<std::string> KeyTable::list(std::string_view prefix) const {
  std::vector<std::string> keys;
  for (Entries::const_iterator at = entries_.lower_bound(prefix); at != entries_.end() && at->first.starts_with(prefix); ++at) {
    keys.push_back(at->first);
  }
  return keys;
}

void KeyTable::restore(std::uint64_t last_version, std::vector<std::pair<std::string, KeyEntry>> entries, std::uint64_t now_ms) {
  last_version_ = last_version;
  for (auto& [key, entry] : entries) {
    if (entry.life == Life::Connection) continue;
    entry.deadline_ms = now_ms + entry.ttl_ms;
    attach(key, entry);
    entries_.emplace(std::move(key), std::move(entry));
  }
}

void KeyTable::attach(const std::string& key, const KeyEntry& entry) {
  if (entry.life == Life::Connection) bound_[entry.connection].insert(key);
  if (entry.life == Life::Ttl) leases_.emplace(entry.deadline_ms, key);
}

void KeyTable::detach(const std::string& key, const KeyEntry& entry) {
  if (entry.life == Life::Ttl) leases_.erase({entry.deadline_ms, key});
  if (entry.life != Life::Connection) return;
  const std::map<std::uint64_t, std::set<std::string>>::iterator at = bound_.find(entry.connection);
  at->second.erase(key);
  if (at->second.empty()) bound_.erase(at);
}

}  // namespace resilin::dist
