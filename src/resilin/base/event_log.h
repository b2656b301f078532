// src/resilin/base/event_log.h -- Internal: a file of events, one JSON object a line, that all processes of a job append to.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "resilin/base/json.h"

namespace resilin {

/// Unix time in microseconds, by CLOCK_REALTIME.
i64 unix_time_us();

/// What happened to, or in, one life of a rank.
struct Event {
  std::string what;
  i64 rank = 0;       // the number that the launcher gave
  i64 life = 0;       // which process of that number: its restart count
  Json::Object more;  // further members
  i64 t_us = 0;       // when; 0: as it is appended

  /// A further member; null pointer when it is not there.
  const Json* find(std::string_view key) const;
};

/// {"t_us":..,"what":"..","rank":..,"life":..,...} without its end of line. What JSON has no word for does not lose an event: a number that is not
/// finite is null, and of a text that is no UTF-8 each byte above 127 is U+FFFD.
std::string event_line(const Event& event);
/// Nothing for a line that is no event. What a killed process left of a line may stand in front of the next one: that one is found.
std::optional<Event> parse_event(std::string_view line);

/// Appends with one write a line, which for a file opened so the kernel keeps whole beside those of others. Never stops its process: the first
/// write that fails is told as a warning, the others are not. Any thread may append.
class EventLog {
 public:
  /// Makes the file when it is missing. IoError naming path and reason.
  explicit EventLog(const std::string& path);
  ~EventLog();
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  void append(const Event& event);

 private:
  std::string path_;
  int file_ = -1;
  std::atomic<bool> torn_{false};  // the last line has no end: the disk was full
  std::atomic<bool> told_{false};
};

}  // namespace resilin
