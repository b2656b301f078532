// src/resilin/dist/recorder/analyze.cpp -- from recordings to findings, causes first.
#include "resilin/dist/recorder/analyze.h"

#include <algorithm>

#include "resilin/base/json.h"
#include "resilin/base/text.h"
#include "resilin/dist/recorder/verdicts.h"

namespace resilin::dist {
namespace {

void append(std::vector<Finding>& all, std::vector<Finding> more) {
  for (Finding& finding : more) all.push_back(std::move(finding));
}

std::string last_operation(const Scene& scene, const Actor& actor) {
  if (actor.history.operations.empty()) return "none";
  const Operation& operation = actor.history.operations.back();
  std::string state = operation.status ? std::string(name_of(*operation.status)) : operation.started_ns != 0 ? "started" : "issued";
  for (const Ensemble& ensemble : scene.ensembles) {
    if (ensemble.group == operation.issued.group && ensemble.generation == operation.issued.generation) {
      return cat(place_of(operation.issued, ensemble), ", ", state);
    }
  }
  return cat(name_of(operation.issued.op), " #", operation.issued.sequence, ", ", state);
}

RankSummary summary_of(const Scene& scene, const Actor& actor) {
  return {actor.rank(),       actor.recording->host, actor.recording->source, actor.recording->step,
          actor.last_sign_ns, actor.ahead_ns,        actor.error_ns,          last_operation(scene, actor)};
}

/// A rank that ended after it, or another, had strayed did so because of that.
void excuse_later_deaths(std::vector<Finding>& dead, const std::vector<Finding>& strayed) {
  if (strayed.empty()) return;
  for (Finding& finding : dead) {
    if (finding.time_ns >= strayed.front().time_ns) finding.blames = false;
  }
}

Json finding_json(const Finding& finding) {
  Json::Array ranks, evidence;
  for (const std::int32_t rank : finding.ranks) ranks.emplace_back(rank);
  for (const std::string& line : finding.evidence) evidence.emplace_back(line);
  return Json::Object{{"kind", std::string(name_of(finding.kind))},
                      {"blames", finding.blames},
                      {"ranks", std::move(ranks)},
                      {"group", finding.group},
                      {"generation", static_cast<i64>(finding.generation)},
                      {"sequence", static_cast<i64>(finding.sequence)},
                      {"time_ns", static_cast<i64>(finding.time_ns)},
                      {"words", finding.words},
                      {"evidence", std::move(evidence)}};
}

Json summary_json(const RankSummary& rank) {
  return Json::Object{{"rank", rank.rank},
                      {"host", rank.host},
                      {"source", rank.source},
                      {"step", static_cast<i64>(rank.step)},
                      {"last_sign_ns", static_cast<i64>(rank.last_sign_ns)},
                      {"clock_ahead_ns", rank.clock_ahead_ns},
                      {"clock_error_ns", static_cast<i64>(rank.clock_error_ns)},
                      {"last_operation", rank.last_operation}};
}

void append_findings(std::string& text, const Analysis& analysis, bool blames) {
  for (const Finding& finding : analysis.findings) {
    if (finding.blames != blames) continue;
    text += cat("  ", name_of(finding.kind), ": ", finding.words, "\n");
    for (const std::string& line : finding.evidence) text += cat("    ", line, "\n");
  }
}

}  // namespace

Analysis analyze(std::span<const Recording> recordings, const AnalyzeOptions& options) {
  const Scene scene = make_scene(recordings);
  Analysis analysis;
  for (const Actor& actor : scene.actors) analysis.ranks.push_back(summary_of(scene, actor));
  if (scene.actors.empty()) return analysis;

  const std::vector<Wait> waits = find_waits(scene);
  std::vector<Finding> dead = find_dead(scene, waits, options);
  std::set<std::int32_t> gone;
  for (const Finding& finding : dead) gone.insert(finding.ranks.begin(), finding.ranks.end());
  const std::vector<Finding> strayed = find_divergences(scene);
  excuse_later_deaths(dead, strayed);
  // Who strayed makes others wait, and time out, and be waited for: that is no cause of its own.
  if (strayed.empty()) {
    std::vector<Finding> circles = find_cycles(scene, waits, gone);
    if (circles.empty()) append(analysis.findings, find_stuck(scene, waits, gone, options));
    append(analysis.findings, std::move(circles));
    append(analysis.findings, find_partitions(scene, gone, options));
  }
  append(analysis.findings, std::move(dead));
  append(analysis.findings, strayed);
  append(analysis.findings, find_stragglers(scene));
  std::stable_sort(analysis.findings.begin(), analysis.findings.end(),
                   [](const Finding& a, const Finding& b) { return std::pair(!a.blames, a.time_ns) < std::pair(!b.blames, b.time_ns); });
  return analysis;
}

std::string analysis_text(const Analysis& analysis) {
  const bool blames = std::ranges::any_of(analysis.findings, [](const Finding& finding) { return finding.blames; });
  std::string text = blames ? "cause:\n" : "no culprit: nothing in the recordings shows a fault\n";
  append_findings(text, analysis, true);
  if (std::ranges::any_of(analysis.findings, [](const Finding& finding) { return !finding.blames; })) {
    text += "also:\n";
    append_findings(text, analysis, false);
  }
  text += "ranks:\n";
  for (const RankSummary& rank : analysis.ranks) {
    text += cat("  rank ", rank.rank, " on ", rank.host, ": step ", rank.step, ", ", rank.last_operation, "; clock ",
                rank.clock_ahead_ns / 1000, " us ahead, give or take ", rank.clock_error_ns / 1000, " us\n");
  }
  return text;
}

std::string analysis_json(const Analysis& analysis) {
  Json::Array findings, ranks;
  for (const Finding& finding : analysis.findings) findings.push_back(finding_json(finding));
  for (const RankSummary& rank : analysis.ranks) ranks.push_back(summary_json(rank));
  return write_json(Json::Object{{"version", 1}, {"findings", std::move(findings)}, {"ranks", std::move(ranks)}});
}

}  // namespace resilin::dist
