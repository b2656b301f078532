// src/resilin/dist/agent/first_cause.cpp -- deaths ordered by what they prove.
#include "resilin/dist/agent/first_cause.h"

#include <algorithm>
#include <tuple>

#include <signal.h>

#include "resilin/base/error.h"
#include "resilin/dist/launch/rank_info.h"

namespace resilin::dist {
namespace {

/// Greater proves more. SIGTERM and SIGINT are somebody's wish, an exit code the program's own decision.
int strength(const Death& death) {
  if (!death.fault.empty()) return 6;
  if (!death.evicted_for.empty()) return 2;
  if (death.evidence != Evidence::Exit) return 0;
  if (death.reported_other) return 1;
  const ProcessEnd& end = death.end;
  if (end.kind == ProcessEnd::Kind::Signalled) {
    if (end.out_of_memory) return 5;
    return end.signal == SIGTERM || end.signal == SIGINT || end.signal == SIGHUP || end.signal == SIGPIPE ? 2 : 4;
  }
  return end.kind == ProcessEnd::Kind::Exited && end.code != kExitStoreLost ? 3 : 1;
}

}  // namespace

std::size_t first_cause(const std::vector<Death>& deaths) {
  RESILIN_ASSERT(!deaths.empty(), "a cause is one of the deaths");
  const auto proves_more = [](const Death& a, const Death& b) {
    return std::tuple(-strength(a), -static_cast<int>(a.evidence), a.at, a.rank) <
           std::tuple(-strength(b), -static_cast<int>(b.evidence), b.at, b.rank);
  };
  return static_cast<std::size_t>(std::min_element(deaths.begin(), deaths.end(), proves_more) - deaths.begin());
}

std::string describe(const Death& death) {
  std::string text = cat("rank ", death.rank, " ");
  if (!death.evicted_for.empty()) return text + cat("was evicted: ", death.evicted_for);
  switch (death.evidence) {
    case Evidence::Exit: text += describe(death.end); break;
    case Evidence::Engine: text += "is unreachable, says the transport"; break;
    case Evidence::Heartbeat: text += "is silent"; break;
    case Evidence::Deadline: text += "missed a deadline"; break;
  }
  if (!death.fault.empty()) text += cat(", injected by ", death.fault);
  if (!death.error.empty()) text += cat("; it says: ", death.error);
  return text;
}

}  // namespace resilin::dist
