// tools/resilin/ledger.cpp -- `resilin ledger verify`: what its account says, in plain words and as JSON.
#include "tools/resilin/ledger.h"

#include <cstdio>

#include "resilin/base/json.h"

#include "tools/resilin/number_text.h"

namespace resilin::tool {
namespace {

constexpr int kViolated = 3;

int usage() {
  std::fputs(
      "usage: resilin ledger verify RUN|LEDGER_DIR [--json]   proves that no step and no sample was lost or done twice; ends with 3 when "
      "one was\n",
      stderr);
  return 2;
}

std::string counted(i64 count, const char* noun) { return cat(grouped(count), " ", noun, count == 1 ? "" : "s"); }

std::string what_was_read(const LedgerAccount& account) {
  std::string out = cat("ledger: ", counted(account.steps, "step"));
  if (account.steps > 0) out += cat(" (", account.first_step, " to ", account.last_step, ")");
  return out + cat(", ", counted(account.samples, "sample"), ", ", counted(account.files, "file"));
}

std::string violation_line(const LedgerViolation& violation) {
  std::string out = cat("ledger: ", violation.kind, ": ");
  if (!violation.file.empty()) out += violation.file;
  if (violation.line > 0) out += cat(":", violation.line);
  if (!violation.file.empty()) out += ": ";
  return out + violation.text + "\n";
}

std::string violations_text(const LedgerAccount& account) {
  std::string out;
  for (const auto& [kind, count] : account.kinds) {
    for (const LedgerViolation& violation : account.violations) {
      if (violation.kind == kind) out += violation_line(violation);
    }
    if (count > LedgerAccount::kListed)
      out += cat("ledger: ", kind, ": and ", grouped(count - LedgerAccount::kListed), " more of this kind\n");
  }
  i64 total = 0;
  std::string each;
  for (const auto& [kind, count] : account.kinds) {
    total += count;
    each += cat(each.empty() ? "" : ", ", grouped(count), " of ", kind);
  }
  return out + what_was_read(account) + cat(": ", counted(total, "violation"), " (", each, ")\n");
}

}  // namespace

std::string ledger_text(const LedgerAccount& account) {
  if (!account.holds()) return violations_text(account);
  std::string out = what_was_read(account);
  out += account.steps == 0 ? ": no step was done, so nothing is shown" : ": every step once, one state each, no sample missing or twice";
  if (account.torn > 0)
    out += cat("; ", counted(account.torn, "last line"), " cut off by the end of ", account.torn == 1 ? "a process" : "processes");
  return out + "\n";
}

std::string ledger_json(const LedgerAccount& account) {
  Json::Array violations;
  for (const LedgerViolation& one : account.violations) {
    violations.push_back(Json::Object{{"kind", one.kind}, {"file", one.file}, {"line", one.line}, {"step", one.step}, {"text", one.text}});
  }
  Json::Object kinds;
  for (const auto& [kind, count] : account.kinds) kinds.push_back({kind, count});
  return write_json(Json::Object{{"holds", account.holds()},
                                 {"files", account.files},
                                 {"torn", account.torn},
                                 {"steps", account.steps},
                                 {"first_step", account.first_step},
                                 {"last_step", account.last_step},
                                 {"samples", account.samples},
                                 {"samples_missing", account.samples_missing},
                                 {"samples_twice", account.samples_twice},
                                 {"steps_missing", account.steps_missing},
                                 {"steps_twice", account.steps_twice},
                                 {"states_differ", account.states_differ},
                                 {"violation_counts", std::move(kinds)},
                                 {"violations", std::move(violations)}});
}

int ledger(const std::vector<std::string>& arguments) {
  const bool json = arguments.size() == 3 && arguments[2] == "--json";
  if (arguments.size() < 2 || arguments[0] != "verify" || (arguments.size() > 2 && !json)) return usage();
  const LedgerAccount account = verify_ledger(arguments[1]);
  std::fputs(json ? (ledger_json(account) + "\n").c_str() : ledger_text(account).c_str(), stdout);
  return account.holds() ? 0 : kViolated;
}

}  // namespace resilin::tool
