// tools/resilin/report_page.cpp -- the page of a report: header, figures, tables.
#include "tools/resilin/report_page.h"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "resilin/base/error.h"
#include "resilin/base/json.h"

#include "tools/resilin/number_text.h"
#include "tools/resilin/report_figures.h"
#include "tools/resilin/report_style.h"
#include "tools/resilin/svg.h"

namespace resilin::tool {
namespace {

constexpr std::size_t kMostRows = 60;
constexpr std::size_t kLongestSample = 2000;

std::string or_dash(double value, int decimals) { return std::isnan(value) ? "–" : fixed(value, decimals); }
std::string counted(std::size_t count, const char* noun) { return cat(grouped(static_cast<i64>(count)), " ", noun, count == 1 ? "" : "s"); }

/// Seconds of the Unix clock as a date; empty when they are none.
std::string date_text(double unix_s) {
  if (!(unix_s >= 0 && unix_s < 1e11)) return "";
  const std::time_t seconds = static_cast<std::time_t>(unix_s);
  std::tm parts{};
  char text[40];
  if (gmtime_r(&seconds, &parts) == nullptr || std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts) == 0) return "";
  return text;
}

struct Tile {
  std::string label;
  std::string value;
  std::string unit;
  std::string more;
  const char* mood = "";
};

std::string tile_markup(const Tile& tile) {
  return cat("<div class=\"tile\"><dt>", escape(tile.label), "</dt><dd><div class=\"value ", tile.mood, "\">", escape(tile.value),
             tile.unit.empty() ? "" : " <span class=\"unit\">", escape(tile.unit), tile.unit.empty() ? "" : "</span>",
             "</div><div class=\"more\">", escape(tile.more), "</div></dd></div>");
}

Tile steps_tile(const Story& story) {
  const RunEvents& run = story.run;
  const std::string of = run.planned_steps >= 0 ? cat("of ", grouped(run.planned_steps), " planned") : "";
  return {"Committed steps", grouped(static_cast<i64>(run.commits.size())), "",
          cat(of, of.empty() ? "" : ", ", counted(run.generations.size(), "generation"))};
}

Tile ledger_tile(const Story& story) {
  if (!story.account) return {"Ledger", "–", "", story.ledger_problem};
  const LedgerAccount& account = *story.account;
  i64 violations = 0;
  for (const auto& [kind, count] : account.kinds) violations += count;
  if (violations > 0)
    return {"Ledger", grouped(violations), violations == 1 ? "violation" : "violations", "see resilin ledger verify", "bad"};
  return {"Ledger", account.steps > 0 ? "holds" : "empty", "",
          cat(grouped(account.steps), " steps and ", grouped(account.samples), " samples once each"), account.steps > 0 ? "good" : ""};
}

std::string tiles(const Story& story) {
  const RunEvents& run = story.run;
  const std::string entropy =
      std::isnan(run.bigram_entropy) ? "no bigram entropy was recorded" : cat("bigram entropy ", fixed(run.bigram_entropy, 3));
  const std::string lives = cat("train, as ", run.goodput.size(), " of ", run.lives.size(), " lives report");
  const auto ms = [](double value) { return std::isnan(value) ? "" : "ms"; };
  const std::string of_kills = story.recoveries.empty()       ? "no rank was killed"
                               : story.recoveries.size() == 1 ? "of one kill"
                                                              : cat("median of ", story.recoveries.size(), " kills");
  const Tile all[] = {
      steps_tile(story),
      {"Held-out loss", or_dash(run.held_out_loss, 3), "", entropy},
      {"Throughput", or_dash(story.tokens_per_s, 0), std::isnan(story.tokens_per_s) ? "" : "tokens/s",
       cat("median with ", counted(static_cast<std::size_t>(std::max<i64>(story.full_world, 0)), "rank"))},
      {"Goodput", or_dash(story.goodput_share * 100, 1), std::isnan(story.goodput_share) ? "" : "%", lives},
      {"Kill to next commit", or_dash(story.median_to_commit_ms, 0), ms(story.median_to_commit_ms), of_kills},
      {"Respawn to full world", or_dash(story.median_to_full_ms, 0), ms(story.median_to_full_ms), of_kills},
      {"Cost of fault tolerance", or_dash(story.ft_share * 100, 2), std::isnan(story.ft_share) ? "" : "%",
       "vote, digest and ledger, in the steps' time"},
      ledger_tile(story),
  };
  std::string out = "<dl class=\"tiles\">";
  for (const Tile& tile : all) out += tile_markup(tile);
  return out + "</dl>\n";
}

using Draw = std::string (*)(const Story&, const FigureSize&);

std::string figure_markup(std::string_view id, std::string_view title, const std::string& drawings, std::string_view caption,
                          std::string_view table = {}) {
  return cat("<figure class=\"card\" id=\"", id, "\"><h2>", escape(title), "</h2>", drawings, table, "<figcaption>", escape(caption, 600),
             "</figcaption></figure>\n");
}

std::string figure(std::string_view id, std::string_view title, Draw draw, const Story& story, std::string_view caption,
                   std::string_view table = {}) {
  std::string drawings;
  for (const FigureSize& size : kFigureSizes) drawings += draw(story, size);
  return figure_markup(id, title, drawings, caption, table);
}

std::string recovery_table(const Story& story) {
  if (story.recoveries.empty()) return "";
  std::string out =
      "<div class=\"scroll\"><table><thead><tr><th>kill</th><th>signal</th><th>kill to next commit, ms</th><th>that step</th><th>kill to "
      "respawn, ms</th>"
      "<th>respawn to full world, ms</th><th>healing, ms</th><th>state, MB</th></tr></thead><tbody>";
  for (std::size_t i = 0; i < std::min(story.recoveries.size(), kMostRows); ++i) {
    const Recovery& r = story.recoveries[i];
    const std::string signal = r.kill.signal == 0 ? r.kill.cause : cat(r.kill.signal);
    out += cat("<tr><td>", escape(kill_text(r.kill)), "</td><td>", escape(signal, 60), "</td><td>", or_dash(r.to_commit_ms, 1), "</td><td>",
               r.commit_step < 0 ? "–" : grouped(r.commit_step), "</td><td>", or_dash(r.to_respawn_ms, 1), "</td><td>",
               or_dash(r.to_full_ms, 1), "</td><td>", or_dash(r.heal_ms, 1), "</td><td>", or_dash(r.heal_bytes / 1e6, 1), "</td></tr>");
  }
  out += "</tbody></table></div>";
  if (story.recoveries.size() > kMostRows) out += cat("<p class=\"facts\">and ", story.recoveries.size() - kMostRows, " more</p>");
  return out;
}

std::string unreported_text(const Story& story) {
  if (story.run.goodput.empty() || story.unreported.empty()) return "";
  std::string out = " A life that was killed reports nothing: ";
  for (std::size_t i = 0; i < std::min<std::size_t>(story.unreported.size(), 8); ++i) {
    out += cat(i == 0 ? "" : ", ", "rank ", story.unreported[i].first, " life ", story.unreported[i].second);
  }
  return out + (story.unreported.size() > 8 ? " and more." : ".") + " Its time is hatched, and in no percentage.";
}

std::string zooms(const Story& story) {
  std::string out;
  const std::size_t shown = std::min(story.run.kills.size(), kMostZooms);
  for (std::size_t i = 0; i < shown; ++i) {
    std::string drawings;
    for (const FigureSize& size : kFigureSizes) drawings += draw_lanes_around(story, i, size);
    std::string caption =
        "From five steps before the kill, which is time zero, to ten after it: a block is one step of one rank, coloured by generation; a "
        "thin "
        "line is a process that starts, waits or recovers.";
    if (i + 1 == shown && story.run.kills.size() > shown)
      caption += cat(" Only the first ", shown, " of ", story.run.kills.size(), " kills are enlarged.");
    out += figure_markup(cat("around-", i), cat("Around the ", kill_text(story.run.kills[i])), drawings, caption);
  }
  return out;
}

std::string figures(const Story& story) {
  return figure("loss-step", "Loss by step", draw_loss_by_step, story,
                cat("The loss of each committed step, which a kill must not change",
                    std::isnan(story.run.bigram_entropy)
                        ? "."
                        : "; below the dashed line the model knows more of a token than the one before it tells.")) +
         figure("loss-time", "Loss by time", draw_loss_by_time, story,
                "The same loss over time: where the curve is flat after a kill, no step was committed.") +
         figure("throughput-time", "Throughput", draw_throughput, story,
                "Tokens that were trained on in a second, step by step: fewer ranks are slower, and a step that was repeated dips.") +
         figure("world-time", "World size", draw_world, story,
                "How many ranks trained together at each time; it falls when one is lost, and rises when one has joined.") +
         figure("ranks", "Ranks", draw_lanes, story,
                "One lane for each rank: a block is a step, its colour the generation it was done in; a thin line is a process that is "
                "alive and does no step, a cross is a kill.") +
         zooms(story) +
         figure("recoveries", "Recovery", draw_recoveries, story,
                "For each kill the time until the rest committed a step without the lost rank, and from the start of its next life until "
                "the world was whole; a dash means that it did not happen.",
                recovery_table(story)) +
         figure("goodput-ranks", "Goodput", draw_goodput, story,
                cat("Where the time of each rank went, by its own account; the number at the right is the share of training.",
                    unreported_text(story)));
}

/// Values of nested objects as rows, by the path of their keys.
void add_rows(std::vector<std::pair<std::string, std::string>>& rows, const std::string& path, const Json& value, int level) {
  if (rows.size() >= kMostRows) return;
  if (value.is_object() && level < 4) {
    for (const auto& [key, member] : value.object()) add_rows(rows, path.empty() ? key : cat(path, ".", key), member, level + 1);
  } else {
    const std::string text = value.is_text() ? value.text() : write_json(value);
    rows.emplace_back(path, text);
  }
}

std::string result_section(const std::string& text) {
  if (text.empty()) return "";
  std::string body;
  try {
    std::vector<std::pair<std::string, std::string>> rows;
    add_rows(rows, "", parse_json(text), 0);
    for (const auto& [key, value] : rows)
      body += cat("<tr><td>", escape(key, 80), "</td><td class=\"word\">", escape(value, 160), "</td></tr>");
    body = cat("<div class=\"scroll\"><table><tbody>", body, "</tbody></table></div>");
    if (rows.size() >= kMostRows) body += "<p class=\"facts\">The rest is in the file.</p>";
  } catch (const ArgumentError& error) {
    body = cat("<p>", escape(error.what()), "</p>");
  }
  return cat("<details class=\"card\"><summary>result.json</summary>", body, "</details>\n");
}

std::string violations_section(const Story& story) {
  if (!story.account || story.account->holds()) return "";
  return cat("<section class=\"card\" id=\"violations\"><h2>What does not hold of the ledger</h2><pre>",
             escape(ledger_text(*story.account), 8000), "</pre></section>\n");
}

std::string facts(const Story& story) {
  const RunEvents& run = story.run;
  std::string out;
  const auto add = [&out](const std::string& words) { out += cat(" · ", words); };
  if (const std::string date = date_text(run.begin_unix_s); !date.empty()) add(date);
  if (story.full_world > 0) add(counted(static_cast<std::size_t>(story.full_world), "rank"));
  if (run.batch >= 0) add(cat("batch of ", grouped(run.batch)));
  if (run.parameters >= 0) add(cat(grouped(run.parameters), " parameters"));
  if (run.end_s > 0) add(cat(fixed(run.end_s, 1), " s"));
  add(counted(run.kills.size(), "kill"));
  return out;
}

std::string problems(const Story& story) {
  const RunEvents& run = story.run;
  std::string out;
  if (run.events == 0)
    out +=
        "<p class=\"problem\" id=\"no-events\">There are no events: events.jsonl is missing, empty or not readable, so there is nothing to "
        "draw.</p>\n";
  if (run.unreadable > 0)
    out += cat("<p class=\"problem\">", grouped(run.unreadable), run.unreadable == 1 ? " line" : " lines",
               " of events.jsonl could not be read and ", run.unreadable == 1 ? "is" : "are", " left out.</p>\n");
  return out;
}

}  // namespace

std::string report_page(const Story& story, const PageTexts& texts) {
  std::string out =
      cat("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/><meta name=\"viewport\" content=\"width=device-width, "
          "initial-scale=1\"/><title>",
          escape(texts.name, 80), " – training run</title><style>", kReportStyle,
          "</style></head>\n<body><main>\n<h1>Training run</h1><p class=\"facts\">", escape(texts.name, 80), escape(facts(story)), "</p>\n",
          problems(story));
  // The pattern of every hatched area; not display: none, which would take it away from all.
  out +=
      "<svg width=\"0\" height=\"0\" style=\"position:absolute;width:0;height:0\" aria-hidden=\"true\"><defs><pattern id=\"hatching\" "
      "width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" "
      "patternTransform=\"rotate(45)\"><line class=\"hatching\" x1=\"0\" y1=\"0\" x2=\"0\" y2=\"5\"/></pattern></defs></svg>\n";
  if (story.run.events > 0)
    out += tiles(story) + violations_section(story) + figures(story);
  else
    out += violations_section(story);
  if (!story.run.sample.empty()) {
    out +=
        cat("<section class=\"card\"><h2>What the model writes</h2><pre>", escape(story.run.sample, kLongestSample), "</pre></section>\n");
  }
  out += result_section(texts.result_json);
  out += cat("<footer>Made by resilin report of ", counted(static_cast<std::size_t>(story.run.events), "event"),
             ".</footer>\n</main><div id=\"tip\"></div><script>", kReportScript, "</script></body></html>\n");
  return out;
}

}  // namespace resilin::tool
