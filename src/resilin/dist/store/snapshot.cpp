// src/resilin/dist/store/snapshot.cpp -- a store as bytes, for the disk, and back.
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "resilin/base/error.h"
#include "resilin/base/hash.h"
#include "resilin/dist/store/machine.h"
#include "resilin/dist/wire/codec.h"

namespace resilin::dist {
namespace {

constexpr std::string_view kMagic = "rsl-store";
constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kLeastReader = 1;  // the oldest version whose readers understand these bytes

struct Head {
  std::uint32_t version = kVersion;
  std::uint32_t least_reader = kLeastReader;
  std::uint64_t hash = 0;  // of what follows
  static constexpr auto fields() {
    return std::tuple{field("version", &Head::version), field("least_reader", &Head::least_reader), field("hash", &Head::hash)};
  }
};
constexpr std::size_t kHeadBytes = kMagic.size() + 16;

struct NamedKey {
  std::string key;
  KeyEntry entry;
  static constexpr auto fields() { return std::tuple{field("key", &NamedKey::key), field("entry", &NamedKey::entry)}; }
};
struct NamedQueue {
  std::string name;
  std::vector<std::string> items;
  static constexpr auto fields() { return std::tuple{field("name", &NamedQueue::name), field("items", &NamedQueue::items)}; }
};
struct KnownReply {
  Writer writer;
  Reply reply;
  static constexpr auto fields() { return std::tuple{field("writer", &KnownReply::writer), field("reply", &KnownReply::reply)}; }
};
struct Answered {
  std::uint64_t instance = 0;
  std::uint64_t nonce = 0;
  static constexpr auto fields() { return std::tuple{field("instance", &Answered::instance), field("nonce", &Answered::nonce)}; }
};
struct Contents {
  std::uint64_t last_version = 0;
  std::vector<NamedKey> keys;
  std::vector<NamedQueue> queues;
  std::vector<Answered> answered;
  std::vector<KnownReply> replies;
  static constexpr auto fields() {
    return std::tuple{field("last_version", &Contents::last_version), field("keys", &Contents::keys), field("queues", &Contents::queues),
                      field("answered", &Contents::answered), field("replies", &Contents::replies)};
  }
};

Contents parse(std::string_view snapshot) {
  if (!snapshot.starts_with(kMagic) || snapshot.size() < kHeadBytes) {
    throw VersionError(
        cat("store: the bytes are no snapshot of a store: ", snapshot.size(), " bytes; they must begin with \"", kMagic, '"'));
  }
  const Head head = decode<Head>(snapshot.substr(kMagic.size(), kHeadBytes - kMagic.size()));
  if (head.least_reader > kVersion) {
    throw VersionError(
        cat("store: a snapshot of version ", head.version, " needs a reader of version ", head.least_reader, "; this one has ", kVersion));
  }
  const std::string_view body = snapshot.substr(kHeadBytes);
  if (hash_text(body) != head.hash) {
    throw VersionError(
        cat("store: a snapshot of ", snapshot.size(), " bytes is damaged: its content has another hash than it says; they must agree"));
  }
  return decode<Contents>(body);
}

}  // namespace

std::string StoreMachine::snapshot() const {
  Contents contents{.last_version = keys_.last_version(), .keys = {}, .queues = {}, .answered = {}, .replies = {}};
  for (const auto& [key, entry] : keys_.entries()) contents.keys.push_back({key, entry});
  for (const auto& [name, items] : queues_) contents.queues.push_back({name, {items.begin(), items.end()}});
  for (const auto& [instance, session] : sessions_.all()) {
    contents.answered.push_back({instance, session.answered});
    for (const auto& [nonce, reply] : session.replies) contents.replies.push_back({{instance, nonce}, reply});
  }
  const std::string body = encode(contents);
  return cat(kMagic, encode(Head{.hash = hash_text(body)}), body);
}

StoreMachine StoreMachine::restore(std::string_view snapshot, StoreLimits limits, std::uint64_t now_ms) {
  Contents contents = parse(snapshot);
  StoreMachine machine(limits);
  machine.now_ms_ = now_ms;
  machine.knows_time_ = true;
  std::vector<std::pair<std::string, KeyEntry>> entries;
  for (NamedKey& named : contents.keys) entries.emplace_back(std::move(named.key), std::move(named.entry));
  machine.keys_.restore(contents.last_version, std::move(entries), now_ms);
  for (NamedQueue& queue : contents.queues) machine.queues_[queue.name] = {queue.items.begin(), queue.items.end()};
  for (const Answered& answered : contents.answered) machine.sessions_.restore(answered.instance, {answered.nonce, now_ms, {}});
  for (const KnownReply& known : contents.replies) machine.sessions_.remember(known.writer, known.reply);
  return machine;
}

}  // namespace resilin::dist
