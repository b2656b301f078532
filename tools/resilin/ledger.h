// tools/resilin/ledger.h -- `resilin ledger verify`: proves from the ledger files of a job that no step and no sample was lost or done twice.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "resilin/base/text.h"

namespace resilin::tool {

/// Something that does not hold.
struct LedgerViolation {
  std::string kind;  // "file", "header", "line", "order", "missing step", "lost commit", "state", "votes", "samples" or "epoch"
  std::string file;  // name of a ledger file; empty when it is about no single one
  i64 line = 0;      // from 1; 0 when it is about no single one
  i64 step = -1;     // -1 when it is about no single one
  std::string text;  // with the values
};

/// What the merged files of a job say, and what of it does not hold.
struct LedgerAccount {
  i64 files = 0;
  i64 torn = 0;  // files whose last line was cut off, which is no violation
  i64 steps = 0;
  i64 first_step = 0;
  i64 last_step = -1;  // first_step - 1 when no step was done
  i64 samples = 0;     // visits by committed steps, each id once an epoch
  i64 samples_missing = 0;
  i64 samples_twice = 0;
  i64 steps_missing = 0;
  i64 steps_twice = 0;  // committed steps that were lost: done again by another vote
  i64 states_differ = 0;
  std::vector<LedgerViolation> violations;  // the first kListed of each kind
  std::map<std::string, i64> kinds;         // how many there are of each

  static constexpr i64 kListed = 20;
  bool holds() const { return kinds.empty(); }
};

/// Reads the ledger of a run (RUN, or the folder of the ledger itself) and checks all that must hold. Throws IoError when it cannot be read.
LedgerAccount verify_ledger(const std::string& folder);

/// What was checked, or each violation, in plain words; ends with a line feed.
std::string ledger_text(const LedgerAccount& account);
/// One JSON object.
std::string ledger_json(const LedgerAccount& account);

/// ledger verify RUN|LEDGER_DIR [--json]. Gives back 0; 3 when something does not hold; 2 for wrong arguments.
int ledger(const std::vector<std::string>& arguments);

}  // namespace resilin::tool
