// src/resilin/dist/agent/chaos.cpp -- the text of a plan of faults, and when they strike.
#include "resilin/dist/agent/chaos.h"

#include "resilin/base/error.h"
#include "resilin/base/hash.h"

namespace resilin::dist {
namespace {

constexpr std::chrono::nanoseconds kLongestPause = std::chrono::hours(24);

[[noreturn]] void refuse(std::string_view part) {
  throw ArgumentError(cat("chaos: not a fault: \"", part, "\"; it must be kill:RANK@STEP, stop:RANK@STEP,TIME (3s, 250ms) or seed=NUMBER"));
}

i64 parse_count(std::string_view text, std::string_view part) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos || text.size() > 18) refuse(part);
  return parse_integer(text);
}

std::chrono::nanoseconds parse_pause(std::string_view text, std::string_view part) {
  const std::size_t digits = text.find_first_not_of("0123456789");
  if (digits == std::string_view::npos || digits == 0 || digits > 9) refuse(part);
  const i64 count = parse_count(text.substr(0, digits), part);
  const std::string_view unit = text.substr(digits);
  std::chrono::nanoseconds pause{0};
  if (unit == "s") {
    pause = std::chrono::seconds(count);
  } else if (unit == "ms") {
    pause = std::chrono::milliseconds(count);
  } else {
    refuse(part);
  }
  if (pause > kLongestPause) throw ArgumentError(cat("chaos: the pause is too long: \"", part, "\"; it may last a day"));
  return pause;
}

ChaosFault parse_fault(std::string_view part) {
  const std::size_t colon = part.find(':');
  const std::size_t at = part.find('@');
  if (colon == std::string_view::npos || at == std::string_view::npos || at < colon) refuse(part);
  ChaosFault fault;
  fault.text = part;
  const std::string_view kind = part.substr(0, colon);
  std::string_view step = part.substr(at + 1);
  if (kind == "stop") {
    const std::size_t comma = step.find(',');
    if (comma == std::string_view::npos) refuse(part);
    fault.kind = ChaosFault::Kind::Stop;
    fault.pause = parse_pause(step.substr(comma + 1), part);
    step = step.substr(0, comma);
  } else if (kind != "kill") {
    refuse(part);
  }
  fault.rank = parse_count(part.substr(colon + 1, at - colon - 1), part);
  fault.step = parse_count(step, part);
  return fault;
}

}  // namespace

std::chrono::nanoseconds ChaosPlan::delay(std::size_t fault, std::chrono::nanoseconds step_length) const {
  const i64 microseconds = step_length / std::chrono::microseconds(1);
  if (microseconds <= 1) return std::chrono::nanoseconds(0);
  const std::uint64_t drawn = hash_mix(hash_mix(seed, fault + 1), 0x63);
  return std::chrono::microseconds(static_cast<i64>(drawn % static_cast<std::uint64_t>(microseconds)));
}

ChaosPlan parse_chaos(std::string_view text) {
  ChaosPlan plan;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(';'), text.size());
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (part.empty()) continue;
    if (part.starts_with("seed=")) {
      plan.seed = static_cast<std::uint64_t>(parse_count(part.substr(5), part));
    } else {
      plan.faults.push_back(parse_fault(part));
    }
  }
  return plan;
}

}  // namespace resilin::dist
