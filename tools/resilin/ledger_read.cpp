// tools/resilin/ledger_read.cpp -- the ledger files of a job as they were written, before anything is believed of them.
#include "tools/resilin/ledger_read.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "resilin/base/error.h"
#include "resilin/base/json.h"

#include "tools/resilin/lines.h"

namespace resilin::tool {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".jsonl";

/// A whole number without sign at the front of the text, which is taken off; nothing when there is none of 63 bits.
std::optional<i64> take_number(std::string_view& text) {
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  i64 value = 0;
  const std::from_chars_result result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(result.ptr - text.data()));
  return value;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text[0] != c) return false;
  text.remove_prefix(1);
  return true;
}

/// An integer of 0 or more.
i64 count_of(const Json& line, std::string_view key) {
  const i64 value = line.at(key).integer();
  if (value < 0) throw ArgumentError(cat("ledger: ", key, " is ", value, "; 0 or more is needed"));
  return value;
}

CommitId id_of(const Json& line, std::string_view key) {
  const std::string& text = line.at(key).text();
  const std::optional<CommitId> id = parse_commit_id(text);
  if (!id) throw ArgumentError(cat("ledger: ", key, " is \"", text.substr(0, 80), "\"; GENERATION.STEP.ATTEMPT is needed"));
  return *id;
}

LedgerHeader header_of(const Json& line) {
  if (line.at("ledger").integer() != 1)
    throw ArgumentError(cat("ledger: the form is ", line.at("ledger").integer(), "; 1 is what is read"));
  LedgerHeader header{.job = line.at("job").text(),
                      .rank = count_of(line, "rank"),
                      .life = count_of(line, "life"),
                      .first_step = count_of(line, "first_step"),
                      .batch = count_of(line, "batch"),
                      .samples_per_epoch = count_of(line, "samples_per_epoch")};
  if (header.batch == 0 || header.samples_per_epoch < header.batch) {
    throw ArgumentError(
        cat("ledger: batch is ", header.batch, " and samples_per_epoch ", header.samples_per_epoch, "; an epoch needs a step"));
  }
  return header;
}

LedgerTry try_of(const Json& line, i64 number) {
  LedgerTry entry{.id = id_of(line, "try"),
                  .line = number,
                  .group_rank = count_of(line, "group_rank"),
                  .world = count_of(line, "world"),
                  .epoch = count_of(line, "epoch"),
                  .samples = {}};
  for (const Json& sample : line.at("samples").array()) entry.samples.push_back(sample.integer());
  return entry;
}

LedgerDone done_of(const Json& line, i64 number) {
  LedgerDone entry{.id = id_of(line, "done"), .line = number, .state = line.at("state").text()};
  if (entry.state.empty()) throw ArgumentError("ledger: state is empty; a digest is needed");
  return entry;
}

/// Takes one line in; ArgumentError when it does not have the form.
void take_line(LedgerFile& file, const Line& line) {
  if (line.cut) throw ArgumentError(cat("ledger: the line is longer than ", line.text.size(), " bytes; a line of a ledger is needed"));
  const Json json = parse_json(line.text);
  if (line.number == 1) {
    file.header = header_of(json);
    return;
  }
  const bool is_try = json.find("try") != nullptr;
  if (is_try == (json.find("done") != nullptr)) throw ArgumentError("ledger: the line has both or none of try and done; one is needed");
  if (is_try) {
    file.tries.push_back(try_of(json, line.number));
  } else {
    file.dones.push_back(done_of(json, line.number));
  }
}

/// RANK.LIFE of the name of a file.
struct NamedLife {
  i64 rank = 0;
  i64 life = 0;
};

std::optional<NamedLife> named_life(std::string_view name) {
  std::string_view rest = name;
  const std::optional<i64> rank = take_number(rest);
  if (!rank || !take(rest, '.')) return std::nullopt;
  const std::optional<i64> life = take_number(rest);
  // Written one way only, so that no life has two files.
  if (!life || name != cat(*rank, ".", *life, kEnding)) return std::nullopt;
  return NamedLife{*rank, *life};
}

void check_name(LedgerFile& file) {
  const std::optional<NamedLife> named = named_life(file.name);
  if (!named) {
    file.flaws.push_back({"file", 0, "the name is not RANK.LIFE.jsonl"});
  } else if (file.header && (file.header->rank != named->rank || file.header->life != named->life)) {
    const std::string says = cat("rank ", file.header->rank, ", life ", file.header->life);
    file.flaws.push_back({"header", 1, cat("the first line says ", says, ", the name ", named->rank, ".", named->life)});
  }
}

LedgerFile read_one(const fs::path& path) {
  LedgerFile file{.name = path.filename().string(), .header = {}, .tries = {}, .dones = {}, .flaws = {}};
  read_lines(path.string(), [&](const Line& line) {
    try {
      take_line(file, line);
    } catch (const ArgumentError& error) {
      // Its process was killed in the midst of the write.
      if (line.torn && !line.cut) {
        file.torn = true;
      } else {
        file.flaws.push_back({line.number == 1 ? "header" : "line", line.number, error.what()});
      }
    }
  });
  check_name(file);
  return file;
}

std::vector<fs::path> ledger_paths(const std::string& folder) {
  std::error_code reason;
  const fs::path inner = fs::path(folder) / "ledger";
  const fs::path place = fs::is_directory(inner, reason) ? inner : fs::path(folder);
  std::vector<fs::path> paths;
  for (fs::directory_iterator entry(place, reason), end; !reason && entry != end; entry.increment(reason)) {
    if (entry->path().extension() == kEnding && !(place == fs::path(folder) && entry->path().filename() == "events.jsonl"))
      paths.push_back(entry->path());
  }
  if (reason) throw IoError(cat("ledger: ", reason.message(), ": ", place.string(), "; the folder of a run or of its ledger is needed"));
  if (paths.empty()) throw IoError(cat("ledger: no ledger files: ", place.string(), "; each life of a rank leaves one, RANK.LIFE.jsonl"));
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

void append_text(std::string& out, const CommitId& id) {
  resilin::append_text(out, id.generation);
  out += '.';
  resilin::append_text(out, id.step);
  out += '.';
  resilin::append_text(out, id.attempt);
}

std::optional<CommitId> parse_commit_id(std::string_view text) {
  const std::optional<i64> generation = take_number(text);
  if (!generation || !take(text, '.')) return std::nullopt;
  const std::optional<i64> step = take_number(text);
  if (!step || !take(text, '.')) return std::nullopt;
  const std::optional<i64> attempt = take_number(text);
  if (!attempt || !text.empty()) return std::nullopt;
  return CommitId{*generation, *step, *attempt};
}

std::vector<LedgerFile> read_ledger(const std::string& folder) {
  std::vector<LedgerFile> files;
  for (const fs::path& path : ledger_paths(folder)) files.push_back(read_one(path));
  return files;
}

}  // namespace resilin::tool
