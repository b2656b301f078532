// src/resilin/base/log.h -- Internal: messages to stderr, one line each, and the texts that RESILIN_SHOW asks for.
#pragma once

#include <string_view>

#include "resilin/base/config.h"

namespace resilin {

/// The order is that of the words of the knob log.level.
enum class LogLevel { Error, Warning, Info, Debug };

/// Messages of this level are printed; build a costly message only then.
inline bool log_enabled(LogLevel level) {
  static const config::Knob& knob = config::knob("log.level");
  return static_cast<i64>(level) <= knob.integer();
}

/// Prints "resilin warning: <message>" as one line by one write, so that lines of threads and processes never mix.
void log(LogLevel level, std::string_view message);

/// The knob `show` asks for this stage ("graph", "plan", "nest", "program", "llvm", "asm", "time").
bool show_enabled(std::string_view stage);
/// Prints "== <stage>: <title>" and the text, which may have many lines.
void show(std::string_view stage, std::string_view title, std::string_view text);

}  // namespace resilin
