// src/resilin/base/config.cpp -- the table of knobs, and how a value reaches them from the environment.
#include "resilin/base/config.h"

#include <array>
#include <cstdlib>
#include <deque>
#include <mutex>

#include <unistd.h>

#include "resilin/base/file.h"

namespace resilin::config {
namespace {

std::string environment_text(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string default_cache_folder() {
  const std::string cache = environment_text("XDG_CACHE_HOME");
  if (!cache.empty()) return cache + "/resilin";
  const std::string home = environment_text("HOME");
  if (home.empty()) throw ArgumentError("config: cache.dir has no default: HOME and XDG_CACHE_HOME are not set; set RESILIN_CACHE_DIR");
  return home + "/.cache/resilin";
}

std::string default_recorder_folder() { return cat("/dev/shm/resilin-", getuid()); }

std::string default_pack() { return code_folder() + "/resilin.pack"; }

constexpr KnobRow kRows[] = {
    {"allocator.cache_percent", KnobKind::Integer, "50", "0..100",
     "Share of the memory limit that free blocks may keep, divided by the ranks of the host.", nullptr},
    {"allocator.guard", KnobKind::Choice, "off", "off|begin|end", "Puts each buffer against an inaccessible page, for tests.", nullptr},
    {"allocator.limit_bytes", KnobKind::Integer, "0", "0..9223372036854775807",
     "Bytes taken from the system at most; 0 is the limit of machine and control group.", nullptr},
    {"cache.dir", KnobKind::Text, "", "", "Folder of compiled kernels; empty is $XDG_CACHE_HOME/resilin or ~/.cache/resilin.",
     default_cache_folder},
    {"cache.enabled", KnobKind::Flag, "true", "", "Keeps compiled kernels on disk.", nullptr},
    {"cache.pack", KnobKind::Text, "", "", "File of the kernels shipped with the build; empty is resilin.pack beside the library.",
     default_pack},
    {"codegen.mutant", KnobKind::Text, "", "", "Name of a fault to inject into the generator, for tests.", nullptr},
    {"codegen.plugin", KnobKind::Text, "", "", "File of the LLVM plug-in; empty is libresilin_llvm.so beside the library or the program.",
     nullptr},
    {"codegen.target", KnobKind::Choice, "auto", "auto|avx2|avx512", "Instruction set of generated kernels; auto asks the processor.",
     nullptr},
    {"dist.interface", KnobKind::Text, "lo", "", "Network interface over which ranks talk; nothing listens on any other.", nullptr},
    {"dist.spin_us", KnobKind::Integer, "-1", "-1..1000000",
     "Microseconds a thread that waits for a collective polls before it sleeps; -1: 100 where every rank's threads have a processor, else "
     "0.",
     nullptr},
    {"dist.ucx_plugin", KnobKind::Text, "", "", "File of the UCX plug-in; empty is libresilin_ucx.so beside the library or the program.",
     nullptr},
    {"log.level", KnobKind::Choice, "warning", "error|warning|info|debug", "Messages of this level and above go to stderr.", nullptr},
    {"recorder.dir", KnobKind::Text, "", "", "Folder of the ranks' last events, in memory; empty is /dev/shm/resilin-UID.",
     default_recorder_folder},
    {"recorder.records", KnobKind::Integer, "4096", "1..16777216", "Events a rank keeps, 128 bytes each.", nullptr},
    {"runtime.spin_us", KnobKind::Integer, "50", "0..1000000", "Microseconds a pool thread waits awake for work before it sleeps.",
     nullptr},
    {"runtime.threads", KnobKind::Integer, "0", "0..1024", "Threads of the pool; 0 is OMP_NUM_THREADS, else what quota and affinity allow.",
     nullptr},
    {"show", KnobKind::Words, "", "graph|plan|nest|program|llvm|asm|time", "Prints these stages of every compile to stderr; a comma list.",
     nullptr},
};
constexpr std::size_t kRowCount = std::size(kRows);

/// "cache.dir" -> "RESILIN_CACHE_DIR".
std::string environment_name(std::string_view name) {
  std::string out = "RESILIN_";
  for (const char c : name) out += c == '.' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return out;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return parts;
}

/// Values stay for ever: a reader may still hold a replaced one.
const std::string* keep_for_ever(std::string_view value) {
  static std::mutex mutex;  // guards `kept`
  static std::deque<std::string>* const kept = new std::deque<std::string>;
  const std::lock_guard<std::mutex> lock(mutex);
  for (const std::string& text : *kept) {
    if (text == value) return &text;
  }
  return &kept->emplace_back(value);
}

struct Table {
  Table() {
    for (const KnobRow& row : kRows) knobs.emplace_back(row);
  }
  std::deque<Knob> knobs;
};

Table& table() {
  static Table* const kTable = new Table;  // never destroyed: pool threads read knobs until the process ends
  return *kTable;
}

}  // namespace

Knob::Knob(const KnobRow& row) : row_(row), environment_(environment_name(row.name)) {
  if (row.kind == KnobKind::Choice || row.kind == KnobKind::Words) words_ = split(row.values, '|');
  set(row.default_value);
  const char* value = std::getenv(environment_.c_str());
  if (value == nullptr) return;
  try {
    set(value);
  } catch (Error& error) {
    error.context(cat("from the environment variable ", environment_));
    throw;
  }
}

i64 Knob::parse(std::string_view value) const {
  const auto refuse = [&](const std::string& need) {
    return ArgumentError(cat("config: ", row_.name, " does not take \"", value, "\"; ", need));
  };
  const auto position = [&](std::string_view word) {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (words_[i] == word) return static_cast<i64>(i);
    }
    throw refuse(cat("it takes ", row_.values));
  };
  switch (row_.kind) {
    case KnobKind::Integer: {
      const std::size_t dots = row_.values.find("..");
      const i64 low = parse_integer(row_.values.substr(0, dots));
      const i64 high = parse_integer(row_.values.substr(dots + 2));
      i64 number = 0;
      try {
        number = parse_integer(value);
      } catch (const ArgumentError&) {
        throw refuse("it takes an integer");
      }
      if (number < low || number > high) throw refuse(cat("it takes ", row_.values));
      return number;
    }
    case KnobKind::Flag:
      if (value == "true" || value == "1" || value == "on") return 1;
      if (value == "false" || value == "0" || value == "off") return 0;
      throw refuse("it takes true or false");
    case KnobKind::Text: return 0;
    case KnobKind::Choice: return position(value);
    case KnobKind::Words: {
      i64 bits = 0;
      for (const std::string_view word : split(value, ',')) bits |= i64{1} << position(word);
      return bits;
    }
  }
  throw InternalError("config: unknown kind of knob");
}

std::string Knob::set(std::string_view value) {
  const i64 number = parse(value);
  const std::string* before = text_.exchange(keep_for_ever(value), std::memory_order_acq_rel);
  number_.store(number, std::memory_order_release);
  generation_.fetch_add(1, std::memory_order_acq_rel);
  return before == nullptr ? "" : *before;
}

void Knob::require(KnobKind kind, const char* asked) const {
  if (row_.kind != kind)
    throw ArgumentError(cat("config: ", row_.name, " is not ", asked, ": it is \"", *text_.load(), "\"; ask for its own kind"));
}

i64 Knob::integer() const {
  if (row_.kind != KnobKind::Choice) require(KnobKind::Integer, "an integer");
  return number_.load(std::memory_order_acquire);
}

bool Knob::flag() const {
  require(KnobKind::Flag, "a flag");
  return number_.load(std::memory_order_acquire) != 0;
}

std::string Knob::text() const {
  const std::string& value = *text_.load(std::memory_order_acquire);
  return value.empty() && row_.fallback != nullptr ? row_.fallback() : value;
}

bool Knob::has(std::string_view word) const {
  require(KnobKind::Words, "a list of words");
  return (number_.load(std::memory_order_acquire) & parse(word)) != 0;
}

Knob& knob(std::string_view name) {
  for (Knob& knob : table().knobs) {
    if (knob.row().name == name) return knob;
  }
  std::array<std::string_view, kRowCount> names;
  for (std::size_t i = 0; i < kRowCount; ++i) names[i] = kRows[i].name;
  throw ArgumentError(cat("config: unknown knob: \"", name, "\"; did you mean ", nearest_name(name, names.data(), names.size()), "?"));
}

std::vector<const Knob*> knobs() {
  std::vector<const Knob*> all;
  for (const Knob& knob : table().knobs) all.push_back(&knob);
  return all;
}

i64 integer(std::string_view name) { return knob(name).integer(); }
bool flag(std::string_view name) { return knob(name).flag(); }
std::string text(std::string_view name) { return knob(name).text(); }
std::string set(std::string_view name, std::string_view value) { return knob(name).set(value); }

}  // namespace resilin::config
