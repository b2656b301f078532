// src/resilin/parallel/ledger.cpp -- lines of a ledger.
#include "resilin/parallel/ledger.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "resilin/base/error.h"
#include "resilin/base/file.h"
#include "resilin/base/json.h"

namespace resilin::parallel {
namespace {

std::string hex(std::uint64_t value) {
  std::string out(16, '0');
  for (std::size_t i = out.size(); i-- > 0; value >>= 4) out[i] = "0123456789abcdef"[value & 15];
  return out;
}

}  // namespace

Ledger::Ledger(const LedgerOptions& options) : path_(cat(options.folder, "/", options.rank, ".", options.life, ".jsonl")) {
  ensure_directory(options.folder);
  file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_EXCL | O_CLOEXEC, 0600);
  if (file_ < 0 && errno == EEXIST)
    throw IoError(cat("ledger: ", path_, " is there already: of an earlier job, whose files must go elsewhere first"));
  if (file_ < 0) throw IoError(cat("ledger: ", std::strerror(errno), ": ", path_));
  write(write_json(Json::Object{{"ledger", i64{1}},
                                {"job", options.job},
                                {"rank", options.rank},
                                {"life", options.life},
                                {"first_step", options.first_step},
                                {"batch", options.batch},
                                {"samples_per_epoch", options.samples_per_epoch}}));
}

Ledger::~Ledger() { close(file_); }

void Ledger::write_try(const StepTry& tried, int group_rank, int world, i64 epoch, const std::vector<i64>& samples) {
  std::string line =
      cat("{\"try\":\"", tried.text(), "\",\"group_rank\":", group_rank, ",\"world\":", world, ",\"epoch\":", epoch, ",\"samples\":[");
  for (std::size_t i = 0; i < samples.size(); ++i) line += cat(i == 0 ? "" : ",", samples[i]);
  write(line + "]}");
}

void Ledger::write_done(const StepTry& tried, std::uint64_t state) {
  write(cat("{\"done\":\"", tried.text(), "\",\"state\":\"", hex(state), "\"}"));
}

void Ledger::write(const std::string& line) const {
  const std::string whole = line + "\n";
  const ssize_t written = ::write(file_, whole.data(), whole.size());
  if (written != static_cast<ssize_t>(whole.size())) {
    throw IoError(cat("ledger: ", written < 0 ? std::strerror(errno) : "the line was cut", ": ", path_));
  }
}

}  // namespace resilin::parallel
