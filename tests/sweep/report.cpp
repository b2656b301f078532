// tests/sweep/report.cpp -- counts cases and checks, keeps the first failures of each op, names what was refused or skipped.
#include "tests/sweep/report.h"

#include <algorithm>
#include <csignal>
#include <cstring>

#include <unistd.h>

namespace resilin::sweep {
namespace {

constexpr std::size_t kShown = 5;

char g_current[1024];  // text of the running case, for the signal handler

void on_signal(int signal) {
  static const char kPrefix[] = "\nsweep: a fatal signal in ";
  ssize_t ignored = write(STDERR_FILENO, kPrefix, sizeof kPrefix - 1);
  ignored += write(STDERR_FILENO, g_current, std::strlen(g_current));
  ignored += write(STDERR_FILENO, "\n", 1);
  static_cast<void>(ignored);
  std::signal(signal, SIG_DFL);
  raise(signal);
}

i64 total(const std::map<std::string, i64>& counts) {
  i64 sum = 0;
  for (const std::pair<const std::string, i64>& entry : counts) sum += entry.second;
  return sum;
}

void append_counts(std::string& out, std::string_view what, const std::map<std::string, i64>& counts) {
  for (const std::pair<const std::string, i64>& entry : counts) out += cat("\n  ", what, " ", entry.second, ": ", entry.first);
}

}  // namespace

void Report::begin(const Case& c) {
  current_ = &c;
  ++cases_by_op_[std::string(c.op->name)];
  const std::string text = describe(c);
  const std::size_t length = std::min(text.size(), sizeof g_current - 1);
  std::memcpy(g_current, text.data(), length);
  g_current[length] = 0;
}

void Report::failed(std::string_view check, std::string_view what) {
  ++checks_;
  ++failures_;
  OpFailures& op = failures_by_op_[std::string(current_->op->name)];
  ++op.count;
  ++op.by_check[std::string(check)];
  // One of each kind of check first, so that a failure that every case shows does not hide another.
  if (op.first.size() < kShown && op.by_check[std::string(check)] <= 2)
    op.first.push_back(cat(check, ": ", describe(*current_), ": ", what));
}

i64 Report::failures_of(std::string_view op) const {
  const std::map<std::string, OpFailures>::const_iterator found = failures_by_op_.find(std::string(op));
  return found == failures_by_op_.end() ? 0 : found->second.count;
}

std::string Report::failure_text() const {
  std::string out;
  for (const std::pair<const std::string, OpFailures>& entry : failures_by_op_) {
    const OpFailures& op = entry.second;
    out += cat("\n", entry.first, ": ", op.count, " failures (");
    std::string separator;
    for (const std::pair<const std::string, i64>& check : op.by_check) {
      out += cat(separator, check.first, " ", check.second);
      separator = ", ";
    }
    out += ")";
    for (const std::string& text : op.first) out += cat("\n  ", text);
  }
  return out;
}

std::string Report::summary() const {
  std::string out = cat("sweep: ", cases_by_op_.size(), " ops, ", total(cases_by_op_), " cases, ", checks_, " checks, ", failures_,
                        " failures, ", total(refused_), " refused, ", total(skipped_), " skipped");
  append_counts(out, "refused", refused_);
  append_counts(out, "skipped", skipped_);
  return out;
}

void name_case_in_crashes() {
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) std::signal(signal, on_signal);
}

}  // namespace resilin::sweep
