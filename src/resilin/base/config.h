// src/resilin/base/config.h -- the knobs of the engine: one table of names, environment variables, defaults and meanings.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "resilin/base/error.h"
#include "resilin/base/text.h"

namespace resilin::config {

/// What values a knob takes.
enum class KnobKind { Integer, Flag, Text, Choice, Words };

/// A row of the table in config.cpp.
struct KnobRow {
  std::string_view name;  // "cache.dir"; the environment variable is RESILIN_CACHE_DIR
  KnobKind kind;
  std::string_view default_value;
  std::string_view values;    // "min..max" of an Integer; the words of Choice and Words, between bars
  std::string_view doc;       // one sentence
  std::string (*fallback)();  // what an empty Text means, or null
};

/// A knob, found once by `knob` and then read for the price of an atomic load. Knobs live as long as the process.
class RESILIN_API Knob {
 public:
  explicit Knob(const KnobRow& row);
  Knob(const Knob&) = delete;
  Knob& operator=(const Knob&) = delete;

  const KnobRow& row() const { return row_; }
  const std::string& environment() const { return environment_; }

  /// The value of an Integer, or the position of a Choice among its words; ArgumentError for other kinds.
  i64 integer() const;
  /// The value of a Flag; ArgumentError for other kinds.
  bool flag() const;
  /// The value as text, whatever the kind; an empty Text gives its fallback.
  std::string text() const;
  /// A Words knob holds the word; ArgumentError for other kinds and for a word it cannot hold.
  bool has(std::string_view word) const;
  /// Grows with each `set`, so that values made from a knob can be kept until it changes.
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

  /// Sets the value and gives back the text before; ArgumentError when the knob does not take it.
  std::string set(std::string_view value);

 private:
  i64 parse(std::string_view value) const;  // the number behind a value: integer, 0/1, position or set of bits
  void require(KnobKind kind, const char* asked) const;

  const KnobRow& row_;
  std::string environment_;
  std::vector<std::string_view> words_;
  std::atomic<const std::string*> text_{nullptr};  // strings are kept for ever, so that readers need no lock
  std::atomic<i64> number_{0};
  std::atomic<std::uint64_t> generation_{0};
};

/// The knob of this name; ArgumentError naming the nearest knob otherwise.
RESILIN_API Knob& knob(std::string_view name);
/// All knobs in the order of the table.
RESILIN_API std::vector<const Knob*> knobs();

RESILIN_API i64 integer(std::string_view name);
RESILIN_API bool flag(std::string_view name);
RESILIN_API std::string text(std::string_view name);
/// Sets a knob for the whole process and gives back its value before.
RESILIN_API std::string set(std::string_view name, std::string_view value);

/// Sets a knob until the end of the scope.
class RESILIN_API ScopedConfig {
 public:
  ScopedConfig(std::string_view name, std::string_view value) : knob_(knob(name)), before_(knob_.set(value)) {}
  ~ScopedConfig() { knob_.set(before_); }
  ScopedConfig(const ScopedConfig&) = delete;
  ScopedConfig& operator=(const ScopedConfig&) = delete;

 private:
  Knob& knob_;
  std::string before_;
};

}  // namespace resilin::config
