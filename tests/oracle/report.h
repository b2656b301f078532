// tests/oracle/report.h -- counts verdicts by op and holds them against the list of known differences.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/oracle/judge.h"

namespace resilin::oracle {

/// A line of known.txt: so many calls of an op that differ or are skipped, for a reason.
struct Known {
  std::string op;
  Verdict::Kind kind = Verdict::Kind::Differs;
  i64 count = 0;
  std::string text;  // what the verdicts contain
  std::string reason;
  i64 seen = 0;
};
/// "op | differs or skip | count | text | reason" lines; empty ones and those that start with # are left out. ArgumentError on others.
std::vector<Known> parse_known(std::string_view text);

class Report {
 public:
  explicit Report(std::vector<Known> known) : known_(std::move(known)) {}
  void add(const Call& call, const Verdict& verdict);

  double agreed_share() const;
  /// Verdicts that no line explains, and lines whose count is not what was seen; empty when there are none. Lines of ops that were not tried do not count.
  std::string unexplained() const;
  std::string table() const;
  std::string json() const;

 private:
  struct Tally {
    i64 tried = 0, agreed = 0, skipped = 0;
  };
  std::map<std::string, Tally> by_op_;
  Tally total_;
  std::vector<Known> known_;
  std::vector<std::string> unexplained_;
};

}  // namespace resilin::oracle
