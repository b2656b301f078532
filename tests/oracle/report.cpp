// tests/oracle/report.cpp -- counts verdicts by op and holds them against the list of known differences.
#include "tests/oracle/report.h"

#include <algorithm>

namespace resilin::oracle {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

Known parse_line(std::string_view line) {
  std::vector<std::string> fields;
  for (std::string_view rest = line; fields.size() < 5;) {
    const std::size_t bar = fields.size() < 4 ? rest.find('|') : std::string_view::npos;
    fields.emplace_back(trimmed(rest.substr(0, bar)));
    if (bar == std::string_view::npos) break;
    rest.remove_prefix(bar + 1);
  }
  if (fields.size() != 5 || fields[3].empty() || fields[4].empty() || (fields[1] != "differs" && fields[1] != "skip")) {
    throw ArgumentError(
        cat("known.txt: a line is no list of 5 fields: ", line, "; op | differs or skip | count | text | reason is needed"));
  }
  return {fields[0], fields[1] == "skip" ? Verdict::Kind::Skipped : Verdict::Kind::Differs, parse_integer(fields[2]), fields[3], fields[4]};
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

}  // namespace

std::vector<Known> parse_known(std::string_view text) {
  std::vector<Known> known;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    if (!line.empty() && line.front() != '#') known.push_back(parse_line(line));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return known;
}

void Report::add(const Call& call, const Verdict& verdict) {
  const bool agrees = verdict.kind == Verdict::Kind::Agrees;
  const bool skipped = verdict.kind == Verdict::Kind::Skipped;
  for (Tally* const tally : {&total_, &by_op_[std::string(call.op())]}) {
    ++tally->tried;
    tally->agreed += agrees ? 1 : 0;
    tally->skipped += skipped ? 1 : 0;
  }
  if (agrees) return;
  const std::string text =
      cat(skipped ? "skip " : "differs ", call.dtype(), call.is_error() ? "error" : "", " ", call.text(), ": ", verdict.why);
  for (Known& row : known_) {
    if (row.op != call.op() || row.kind != verdict.kind || text.find(row.text) == std::string::npos) continue;
    ++row.seen;
    return;
  }
  unexplained_.push_back(text);
}

double Report::agreed_share() const { return static_cast<double>(total_.agreed) / static_cast<double>(std::max<i64>(total_.tried, 1)); }

std::string Report::unexplained() const {
  std::string out;
  for (const std::string& text : unexplained_) out += cat(text, "\n");
  for (const Known& row : known_) {
    if (row.seen == row.count || !by_op_.contains(row.op)) continue;
    out += cat("known.txt: ", row.op, " | ", row.text, ": ", row.count, " calls are listed, ", row.seen, " were seen\n");
  }
  return out;
}

std::string Report::table() const {
  std::string out = cat(padded("op", 34), "  tried agreed skipped\n");
  const auto append = [&](const std::string& name, const Tally& t) {
    out += cat(padded(name, 34), "  ", padded(cat(t.tried), 6), padded(cat(t.agreed), 7), t.skipped, "\n");
  };
  for (const std::pair<const std::string, Tally>& entry : by_op_) append(entry.first, entry.second);
  append("all", total_);
  return out;
}

std::string Report::json() const {
  const auto object = [](const Tally& t) { return Json::Object{{"tried", t.tried}, {"agreed", t.agreed}, {"skipped", t.skipped}}; };
  Json::Object by_op;
  for (const std::pair<const std::string, Tally>& entry : by_op_) by_op.emplace_back(entry.first, object(entry.second));
  Json::Object all = object(total_);
  all.emplace_back("by_op", by_op);
  return write_json(all) + "\n";
}

}  // namespace resilin::oracle
