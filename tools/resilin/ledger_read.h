// tools/resilin/ledger_read.h -- the ledger files of a job as they were written, before anything is believed of them.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <vector>

#include "resilin/base/text.h"

namespace resilin::tool {

/// The vote that committed a step, or did not: "G.K.A" in the files.
struct CommitId {
  i64 generation = 0;
  i64 step = 0;
  i64 attempt = 0;
  friend auto operator<=>(const CommitId&, const CommitId&) = default;
};
void append_text(std::string& out, const CommitId& id);
/// Nothing when the text is not three decimal numbers of 63 bits, joined by points.
std::optional<CommitId> parse_commit_id(std::string_view text);

/// What a rank wrote before it voted.
struct LedgerTry {
  CommitId id;
  i64 line = 0;
  i64 group_rank = 0;
  i64 world = 0;
  i64 epoch = 0;
  std::vector<i64> samples;
};

/// What a rank wrote after it had applied a step.
struct LedgerDone {
  CommitId id;
  i64 line = 0;
  std::string state;
};

struct LedgerHeader {
  std::string job;
  i64 rank = 0;
  i64 life = 0;
  i64 first_step = 0;
  i64 batch = 0;
  i64 samples_per_epoch = 0;
};

/// A line, or a whole file, that does not have the form.
struct LedgerFlaw {
  const char* kind = "";  // "file", "header" or "line"
  i64 line = 0;
  std::string text;
};

/// One life of one rank.
struct LedgerFile {
  std::string name;
  std::optional<LedgerHeader> header;
  std::vector<LedgerTry> tries;
  std::vector<LedgerDone> dones;
  std::vector<LedgerFlaw> flaws;
  bool torn = false;  // the last line was cut off with its process, and is left out
};

/// The files of RUN/ledger, or of the folder itself when it has no folder of that name; sorted by name. Throws IoError when there is no
/// such folder, no file in it, or a file cannot be read.
std::vector<LedgerFile> read_ledger(const std::string& folder);

}  // namespace resilin::tool
