// tools/resilin/report_bars.cpp -- the bars of a report: how long recoveries took, and where the time of each rank went.
#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>

#include "tools/resilin/number_text.h"
#include "tools/resilin/report_figures.h"
#include "tools/resilin/report_plot.h"

namespace resilin::tool {
namespace {

constexpr std::size_t kMostBars = 16;

/// A scale from zero at the bottom of bars, with ticks and a label.
void draw_bar_axis(Svg& svg, const Scale& x, Point span, std::string_view label) {
  const Ticks ticks = round_ticks(x.low(), x.high(), svg.narrow() ? 5 : 6);
  for (const double value : ticks.at) {
    svg.line({x.at(value), span.x}, {x.at(value), span.y}, "grid");
    svg.text({x.at(value), span.y + 18}, fixed(value, ticks.decimals), "tick", "middle");
  }
  svg.line({x.from(), span.y}, {x.to(), span.y}, "axis");
  svg.text({(x.from() + x.to()) / 2, span.y + 37}, label, "label", "middle");
}

/// One bar for each kill that has this time. Gives back where the panel ends.
double draw_panel(Svg& svg, const Story& story, const std::function<double(const Recovery&)>& time_ms, Point corner, double width,
                  std::string_view label, std::string_view style) {
  std::vector<const Recovery*> shown;
  double most = 0;
  for (const Recovery& recovery : story.recoveries) {
    if (std::isnan(time_ms(recovery)) || shown.size() == kMostBars) continue;
    shown.push_back(&recovery);
    most = std::max(most, time_ms(recovery));
  }
  svg.text({corner.x, corner.y + 12}, label, "label");
  if (shown.empty()) {
    svg.text({corner.x, corner.y + 36}, "It did not happen in this run.", "key");
    return corner.y + 60;
  }
  const double top = corner.y + 26, bottom = top + 42 * static_cast<double>(shown.size()) + 6;
  const Scale x(0, most > 0 ? most * 1.25 : 1, corner.x + 8, corner.x + width - 14);
  draw_bar_axis(svg, x, {top, bottom}, "ms");
  double y = top;
  for (const Recovery* recovery : shown) {
    svg.text({x.from() + 4, y + 15}, kill_text(recovery->kill), "key halo");
    const double end = x.at(time_ms(*recovery));
    svg.rect({x.from(), y + 21}, std::max(end - x.from(), 1.0), 15, style);
    svg.text({end + 7, y + 33}, cat(fixed(time_ms(*recovery), 0), " ms"), "note halo");
    y += 42;
  }
  return bottom + 46;
}

/// The time of one rank, all lives together.
struct RankTime {
  std::array<double, kGoodputParts.size()> parts_s{};
  double unreported_s = 0;
  i64 unreported = 0;
  double all_s() const {
    double sum = unreported_s;
    for (const double part : parts_s) sum += part;
    return sum;
  }
};

std::map<i64, RankTime> times_of(const Story& story) {
  std::map<i64, RankTime> times;
  for (const auto& [key, goodput] : story.run.goodput) {
    for (std::size_t i = 0; i < goodput.parts_s.size(); ++i) times[key.first].parts_s[i] += goodput.parts_s[i];
  }
  for (const LifeKey& key : story.unreported) {
    RankTime& time = times[key.first];
    ++time.unreported;
    const Life& life = story.run.lives.at(key);
    if (std::isnan(life.start_s)) continue;
    time.unreported_s += std::max((std::isnan(life.exit_s) ? story.run.end_s : life.exit_s) - life.start_s, 0.0);
  }
  while (times.size() > kMostLanes) times.erase(std::prev(times.end()));
  return times;
}

/// The parts of one rank from left to right, and how much of them is training.
void draw_stack(Svg& svg, const RankTime& time, const Scale& x, double y, i64 rank) {
  double from_s = 0;
  const auto part = [&](std::string_view name, double seconds, const std::string& style) {
    if (!(seconds > 0)) return;
    svg.add(cat("<g><title>", escape(cat("rank ", rank, ", ", name, ": ", fixed(seconds, 2), " s")), "</title>"));
    svg.rect({x.at(from_s), y}, std::max(x.at(from_s + seconds) - x.at(from_s) - 0.6, 0.5), 20, style);
    svg.add("</g>");
    from_s += seconds;
  };
  for (std::size_t i = 0; i < kGoodputParts.size(); ++i) part(kGoodputParts[i], time.parts_s[i], cat("part-", kGoodputParts[i]));
  if (time.unreported_s > 0) {
    const double begin_s = from_s;
    part("not reported", time.unreported_s, "part-unreported");
    svg.rect({x.at(begin_s), y}, std::max(x.at(from_s) - x.at(begin_s) - 0.6, 0.5), 20, "hatch");
  }
  const double reported_s = time.all_s() - time.unreported_s;
  if (reported_s > 0) svg.text({x.to() + 8, y + 15}, cat(fixed(100 * time.parts_s[0] / reported_s, 1), " %"), "note");
}

}  // namespace

std::string draw_recoveries(const Story& story, const FigureSize& size) {
  Svg svg("recovery", size.form, size.width);
  if (story.recoveries.empty()) return empty_drawing(svg, "Recovery", "No rank was killed in this run.");
  const double width = svg.narrow() ? svg.width() : svg.width() / 2 - 20;
  const double first = draw_panel(
      svg, story, [](const Recovery& r) { return r.to_commit_ms; }, {0, 0}, width, "kill to next commit", "bar-commit");
  const Point second = svg.narrow() ? Point{0, first + 14} : Point{svg.width() / 2 + 20, 0};
  const double last = draw_panel(
      svg, story, [](const Recovery& r) { return r.to_full_ms; }, second, width, "respawn to full world", "bar-full");
  return svg.finish(std::max(first, last), "Recovery", cat(story.recoveries.size(), " kills; the table below has the numbers."));
}

std::string draw_goodput(const Story& story, const FigureSize& size) {
  Svg svg("goodput", size.form, size.width);
  if (story.run.goodput.empty()) return empty_drawing(svg, "Goodput", "No life of a rank has reported its goodput.");
  const std::map<i64, RankTime> times = times_of(story);
  double most = 0;
  std::vector<LegendEntry> legend;
  for (const auto& [rank, time] : times) most = std::max(most, time.all_s());
  for (const std::string_view part : kGoodputParts) legend.push_back(block_entry(cat("part-", part), std::string(part)));
  const bool unreported = std::any_of(times.begin(), times.end(), [](const auto& entry) { return entry.second.unreported_s > 0; });
  if (unreported) {
    legend.push_back(
        {"<rect class=\"part-unreported\" x=\"-7\" y=\"-6\" width=\"14\" height=\"12\"/><rect class=\"hatch\" x=\"-7\" y=\"-6\" "
         "width=\"14\" height=\"12\"/>",
         "not reported"});
  }
  const double left = svg.narrow() ? 50 : 64, right = svg.width() - 66;
  const double top = 14 + draw_legend_rows(svg, legend, {left, 10}, right - left);
  const double bottom = top + 30 * static_cast<double>(times.size()) + 4;
  const Scale x(0, most > 0 ? most : 1, left, right);
  draw_bar_axis(svg, x, {top, bottom}, "time of the rank, s");
  svg.text({right + 8, top - 6}, "train", "row");
  double y = top + 6;
  for (const auto& [rank, time] : times) {
    svg.text({left - 9, y + 15}, cat("rank ", rank), "row", "end");
    draw_stack(svg, time, x, y, rank);
    y += 30;
  }
  return svg.finish(bottom + 46, "Goodput", cat("Of the time that was reported, ", fixed(story.goodput_share * 100, 1), " % is training."));
}

}  // namespace resilin::tool
