// src/resilin/io/checkpoint.cpp -- training checkpoints in a folder, whole after any crash of their writer.
#include "resilin/io/checkpoint.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "resilin/base/file.h"
#include "resilin/base/hash.h"
#include "resilin/base/json.h"
#include "resilin/base/log.h"
#include "resilin/tensor/row_major.h"

namespace resilin {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kSuffix = ".safetensors";
constexpr std::string_view kLatest = "latest";
// Keys of a checkpoint's own texts in the file's metadata, in their order.
constexpr const char* kHashKey = "resilin.hash";
constexpr const char* kMetadataKey = "resilin.metadata";
constexpr const char* kStepKey = "resilin.step";

std::string file_name(i64 step) { return cat(kPrefix, step, kSuffix); }

/// The step of a name that `file_name` gives; nothing for any other name.
std::optional<i64> step_of(std::string_view name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix) || name.size() <= kPrefix.size() + kSuffix.size()) return std::nullopt;
  const std::string_view digits = name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
  const bool plain = digits.size() <= 18 && digits.find_first_not_of("0123456789") == std::string_view::npos;
  if (!plain) return std::nullopt;
  const i64 step = parse_integer(digits);
  return file_name(step) == name ? std::optional<i64>(step) : std::nullopt;
}

/// What atomic_write leaves when its process dies.
bool is_leftover(std::string_view name) {
  return name.ends_with(".tmp") && (name.starts_with(kPrefix) || name.starts_with(cat(kLatest, '.')));
}

std::vector<std::string> file_names(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error); !error && at != fs::directory_iterator(); at.increment(error)) {
    std::error_code ignored;  // a file that is gone by now is no regular file
    if (at->is_regular_file(ignored)) names.push_back(at->path().filename().string());
  }
  if (error) throw IoError(cat("checkpoint: ", error.message(), ": ", folder, "; the folder must be readable"));
  return names;
}

/// Steps of the folder's checkpoints, the greatest first.
std::vector<i64> steps_in(const std::string& folder) {
  std::vector<i64> steps;
  for (const std::string& name : file_names(folder)) {
    if (const std::optional<i64> step = step_of(name)) steps.push_back(*step);
  }
  std::sort(steps.rbegin(), steps.rend());
  return steps;
}

void remove_file(const std::string& path) {
  std::error_code error;
  fs::remove(path, error);
  if (error) throw IoError(cat("checkpoint: ", error.message(), ": ", path, "; old files must be removable"));
}

std::string hex(std::uint64_t value) {
  std::string out(16, '0');
  for (std::size_t i = out.size(); i-- > 0; value >>= 4) out[i] = "0123456789abcdef"[value & 15];
  return out;
}

/// A hash of all that a checkpoint says. The tensors must be contiguous and sorted by name.
std::string content_hash(const Checkpoint& checkpoint) {
  std::uint64_t hash = hash_text(checkpoint.metadata, static_cast<std::uint64_t>(checkpoint.step));
  for (const auto& [name, tensor] : checkpoint.tensors) {
    hash = hash_text(name, hash);
    hash = hash_text(cat(tensor.dtype(), tensor.shape()), hash);
    hash = hash_text(bytes_of(tensor), hash);
  }
  return hex(hash);
}

/// Reads and checks one file; throws when it is not whole.
Checkpoint read_whole(const std::string& path) {
  Safetensors file = read_safetensors(path);
  const NamedTexts& texts = file.metadata;
  const bool ours = texts.size() == 3 && texts[0].first == kHashKey && texts[1].first == kMetadataKey && texts[2].first == kStepKey;
  if (!ours) throw IoError(cat("load_latest: the file is no checkpoint: ", path, "; save_checkpoint must have written it"));
  const std::optional<i64> step = step_of(cat(kPrefix, texts[2].second, kSuffix));
  Checkpoint checkpoint{step.value_or(-1), std::move(file.tensors), texts[1].second};
  const std::string hash = content_hash(checkpoint);
  if (hash != texts[0].second) {
    throw IoError(cat("load_latest: the checkpoint is damaged: its content has hash ", hash, ", written was ", texts[0].second, ": ", path,
                      "; they must agree"));
  }
  return checkpoint;
}

/// The step that `latest` names; nothing when the file is missing or says something else.
std::optional<i64> latest_step(const std::string& folder) {
  try {
    const std::string text = read_file(cat(folder, '/', kLatest));
    return text.ends_with('\n') ? step_of(std::string_view(text).substr(0, text.size() - 1)) : std::nullopt;
  } catch (const IoError&) {
    return std::nullopt;
  }
}

/// The steps of the folder's checkpoints: the one that `latest` names, then the others from the greatest on.
std::vector<i64> steps_to_try(const std::string& folder) {
  std::vector<i64> steps = steps_in(folder);
  const std::optional<i64> latest = latest_step(folder);
  const auto named = latest ? std::find(steps.begin(), steps.end(), *latest) : steps.end();
  if (named != steps.end()) {
    std::rotate(steps.begin(), named, named + 1);
  } else if (!steps.empty()) {
    log(LogLevel::Warning,
        cat("load_latest: the file ", folder, '/', kLatest, " names no checkpoint; the one with the greatest step is tried"));
  }
  return steps;
}

/// Nothing, and why, when the file is not whole.
std::optional<Checkpoint> try_read(const std::string& folder, i64 step, std::string& reason) {
  const std::string path = cat(folder, '/', file_name(step));
  try {
    Checkpoint checkpoint = read_whole(path);
    if (checkpoint.step == step) return checkpoint;
    reason = cat("load_latest: the checkpoint is of step ", checkpoint.step, ": ", path, "; its name must say so");
  } catch (const IoError& error) {
    reason = error.what();
  } catch (const UnsupportedError& error) {  // damage can make an unknown dtype
    reason = error.what();
  }
  return std::nullopt;
}

void check_json(const std::string& metadata) {
  try {
    parse_json(metadata);
  } catch (Error& error) {
    error.context("in the metadata of save_checkpoint");
    throw;
  }
}

}  // namespace

void save_checkpoint(const std::string& folder, const Checkpoint& checkpoint, i64 keep,
                     const std::function<void(std::optional<i64>)>& may_name) {
  if (checkpoint.step < 0 || !step_of(file_name(checkpoint.step))) {
    throw ArgumentError(cat("save_checkpoint: the step is out of range: ", checkpoint.step, "; 0 <= step < 10^18 must hold"));
  }
  if (keep < 1) throw ArgumentError(cat("save_checkpoint: too few checkpoints to keep: ", keep, "; at least 1 must stay"));
  check_json(checkpoint.metadata);
  Checkpoint sorted{checkpoint.step, {}, checkpoint.metadata};
  for (const auto& [name, tensor] : checkpoint.tensors) sorted.tensors.emplace_back(name, row_major(tensor));
  std::sort(sorted.tensors.begin(), sorted.tensors.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  const NamedTexts texts = {{kHashKey, content_hash(sorted)}, {kMetadataKey, sorted.metadata}, {kStepKey, cat(sorted.step)}};

  ensure_directory(folder);
  const FileLock lock(cat(folder, "/lock"));
  if (may_name) may_name(latest_step(folder));
  for (const std::string& name : file_names(folder)) {
    if (is_leftover(name)) remove_file(cat(folder, '/', name));
  }
  write_safetensors(cat(folder, '/', file_name(sorted.step)), sorted.tensors, texts);
  atomic_write(cat(folder, '/', kLatest), cat(file_name(sorted.step), '\n'));
  i64 kept = 1;
  for (const i64 step : steps_in(folder)) {
    if (step != sorted.step && ++kept > keep) remove_file(cat(folder, '/', file_name(step)));
  }
}

std::optional<Checkpoint> load_latest(const std::string& folder) {
  std::error_code error;
  if (fs::status(folder, error).type() == fs::file_type::not_found) return std::nullopt;
  const std::vector<i64> steps = steps_to_try(folder);
  if (steps.empty()) return std::nullopt;
  std::string damage;  // of the first one
  for (const i64 step : steps) {
    std::string reason;
    if (std::optional<Checkpoint> checkpoint = try_read(folder, step, reason)) return checkpoint;
    log(LogLevel::Warning, cat("load_latest: a checkpoint is not used: ", reason));
    if (damage.empty()) damage = reason;
  }
  throw IoError(cat("load_latest: every checkpoint is damaged: ", folder, ": ", damage, "; one of ", steps.size(), " must be whole"));
}

}  // namespace resilin
