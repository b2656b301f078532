// tests/sweep/report.h -- counts cases and checks, keeps the first failures of each op, names what was refused or skipped.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/sweep/case.h"

namespace resilin::sweep {

class Report {
 public:
  /// All that follows belongs to this case; a crash names it.
  void begin(const Case& c);
  void passed() { ++checks_; }
  /// A check that failed: its letter in the list of check.h and what is wrong.
  void failed(std::string_view check, std::string_view what);
  void refused(std::string_view why) { ++refused_[std::string(why)]; }
  void skipped(std::string_view why) { ++skipped_[std::string(why)]; }

  i64 failures() const { return failures_; }
  i64 failures_of(std::string_view op) const;
  /// At most five failures of each op with the number of the others; empty when there are none.
  std::string failure_text() const;
  /// One line of counts, then a line for each reason of refusals and skips.
  std::string summary() const;

 private:
  struct OpFailures {
    i64 count = 0;
    std::map<std::string, i64> by_check;
    std::vector<std::string> first;
  };
  const Case* current_ = nullptr;
  std::map<std::string, OpFailures> failures_by_op_;
  std::map<std::string, i64> cases_by_op_;
  std::map<std::string, i64> refused_;
  std::map<std::string, i64> skipped_;
  i64 checks_ = 0;
  i64 failures_ = 0;
};

/// A fatal signal prints the case that runs before the program ends.
void name_case_in_crashes();

}  // namespace resilin::sweep
