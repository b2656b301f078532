// src/resilin/base/event_log.cpp -- lines of events written and read.
#include "resilin/base/event_log.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "resilin/base/error.h"
#include "resilin/base/log.h"

namespace resilin {
namespace {

constexpr std::string_view kBegin = "{\"t_us\":";
constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

bool is_utf8(const std::string& text) {
  if (std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; })) return true;
  try {
    parse_json(write_json(Json(text)));
    return true;
  } catch (const ArgumentError&) {
    return false;
  }
}

std::string readable(const std::string& text) {
  if (is_utf8(text)) return text;
  std::string result;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x80) {
      result += c;
    } else {
      result += kReplacement;
    }
  }
  return result;
}

Json writable(const Json& value) {
  if (value.is_text()) return readable(value.text());
  if (value.is_number()) return std::isfinite(value.number()) ? value : Json();
  if (value.is_array()) {
    Json::Array result;
    for (const Json& item : value.array()) result.push_back(writable(item));
    return result;
  }
  if (value.is_object()) {
    Json::Object result;
    for (const auto& [name, item] : value.object()) result.emplace_back(readable(name), writable(item));
    return result;
  }
  return value;
}

/// Takes a member out of an object, when it is there and of this kind.
const Json* take(const Json& object, std::string_view name, bool (Json::*is_kind)() const) {
  const Json* found = object.find(name);
  return found != nullptr && (found->*is_kind)() ? found : nullptr;
}

std::optional<Event> event_of(const Json& object) {
  if (!object.is_object()) return std::nullopt;
  const Json* what = take(object, "what", &Json::is_text);
  const Json* rank = take(object, "rank", &Json::is_integer);
  const Json* life = take(object, "life", &Json::is_integer);
  const Json* t_us = take(object, "t_us", &Json::is_integer);
  if (what == nullptr || rank == nullptr || life == nullptr || t_us == nullptr) return std::nullopt;
  Event event{what->text(), rank->integer(), life->integer(), {}, t_us->integer()};
  for (const auto& [name, value] : object.object()) {
    if (name != "what" && name != "rank" && name != "life" && name != "t_us") event.more.emplace_back(name, value);
  }
  return event;
}

std::optional<Json> json_of(std::string_view text) {
  try {
    return parse_json(text);
  } catch (const ArgumentError&) {
    return std::nullopt;
  }
}

}  // namespace

i64 unix_time_us() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<i64>(time.tv_sec) * 1'000'000 + time.tv_nsec / 1000;
}

const Json* Event::find(std::string_view key) const {
  const auto found = std::ranges::find(more, key, [](const auto& member) -> std::string_view { return member.first; });
  return found == more.end() ? nullptr : &found->second;
}

std::string event_line(const Event& event) {
  Json::Object object{
      {"t_us", event.t_us == 0 ? unix_time_us() : event.t_us}, {"what", event.what}, {"rank", event.rank}, {"life", event.life}};
  object.insert(object.end(), event.more.begin(), event.more.end());
  return write_json(writable(std::move(object)));
}

std::optional<Event> parse_event(std::string_view line) {
  std::optional<Json> json = json_of(line);
  const std::size_t last = line.rfind(kBegin);
  if (!json && last != std::string_view::npos && last > 0) json = json_of(line.substr(last));
  return json ? event_of(*json) : std::nullopt;
}

EventLog::EventLog(const std::string& path) : path_(path), file_(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
  if (file_ < 0) throw IoError(cat("events: ", std::generic_category().message(errno), ": ", path, "; the file must be writable"));
}

EventLog::~EventLog() { close(file_); }

void EventLog::append(const Event& event) {
  const std::string line = cat(torn_.load() ? "\n" : "", event_line(event), "\n");
  ssize_t count = 0;
  do {
    count = write(file_, line.data(), line.size());
  } while (count < 0 && errno == EINTR);
  const int reason = errno;
  if (count == static_cast<ssize_t>(line.size())) {
    torn_ = false;
    return;
  }
  if (count > 0) torn_ = true;
  if (told_.exchange(true)) return;
  const std::string why =
      count < 0 ? std::generic_category().message(reason) : cat("only ", count, " of ", line.size(), " bytes were taken");
  log(LogLevel::Warning, cat("events: ", why, ": ", path_, "; events that cannot be written are missing from now on"));
}

}  // namespace resilin
