// src/resilin/base/log.cpp -- messages to stderr, one line each, and the texts that RESILIN_SHOW asks for.
#include "resilin/base/log.h"

#include <cerrno>
#include <string>

#include <unistd.h>

namespace resilin {
namespace {

constexpr std::string_view kLevelNames[] = {"error", "warning", "info", "debug"};

void write_stderr(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(STDERR_FILENO, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;  // nowhere left to say so
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace

void log(LogLevel level, std::string_view message) {
  if (!log_enabled(level)) return;
  std::string line = cat("resilin ", kLevelNames[static_cast<int>(level)], ": ");
  for (const char c : message) {
    if (c == '\n') {
      line += "\\n";
    } else {
      line += c;
    }
  }
  line += '\n';
  write_stderr(line);
}

bool show_enabled(std::string_view stage) {
  static const config::Knob& knob = config::knob("show");
  return knob.has(stage);
}

void show(std::string_view stage, std::string_view title, std::string_view text) {
  std::string out = cat("== ", stage, ": ", title, "\n", text);
  if (out.back() != '\n') out += '\n';
  write_stderr(out);
}

}  // namespace resilin
