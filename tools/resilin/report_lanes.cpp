// tools/resilin/report_lanes.cpp -- the lanes of ranks: what each of them did when, in the whole run and around each kill.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "resilin/base/function_ref.h"

#include "tools/resilin/number_text.h"
#include "tools/resilin/report_figures.h"
#include "tools/resilin/report_plot.h"

namespace resilin::tool {
namespace {

constexpr i64 kColours = 5;
constexpr std::size_t kMostGenerationKeys = 8;

/// Ranks from the top down.
std::map<i64, std::size_t> lanes_of(const RunEvents& run) {
  std::set<i64> ranks;
  for (const StepEvent& step : run.steps) ranks.insert(step.rank);
  for (const auto& [key, life] : run.lives) ranks.insert(key.first);
  std::map<i64, std::size_t> lanes;
  for (const i64 rank : ranks) {
    if (lanes.size() < kMostLanes) lanes.insert({rank, lanes.size()});
  }
  return lanes;
}

std::string colour_of(i64 generation) { return cat("g", (generation % kColours + kColours) % kColours); }

/// Where lanes lie.
struct LaneBox {
  double top = 0;
  double height = 22;
  double pitch = 32;
  double at(std::size_t lane) const { return top + pitch * static_cast<double>(lane) + (pitch - height) / 2; }
};

/// Blocks of one colour, as one path.
class Blocks {
 public:
  explicit Blocks(double gap = 0.45, double widest = 2.4) : gap_(gap), widest_(widest) {}
  /// Blocks nearer to each other than a gap that can be seen become one.
  void add(std::size_t lane, const std::string& style, double from, double to) {
    Block& last = last_[{lane, style}];
    if (last.open && from - last.to < gap_ && to - last.from < widest_) {
      last.to = std::max(last.to, to);
      return;
    }
    flush(lane, style, last);
    last = {true, from, to};
  }
  std::string markup(const LaneBox& box) {
    for (auto& [key, block] : last_) flush(key.first, key.second, block);
    std::string out;
    for (const auto& [style, path] : pending_) {
      std::string data;
      for (const auto& [lane, from, to] : path) {
        data += cat("M", px(from), " ", px(box.at(lane)), "h", px(std::max(to - from, 0.5)), "v", px(box.height), "h",
                    px(-std::max(to - from, 0.5)), "z");
      }
      out += cat("<path class=\"", style, "\" d=\"", data, "\"/>");
    }
    return out;
  }

 private:
  struct Block {
    bool open = false;
    double from = 0, to = 0;
  };
  void flush(std::size_t lane, const std::string& style, Block& block) {
    // A part of a pixel between neighbours keeps steps apart.
    if (block.open) pending_[style].emplace_back(lane, block.from, std::max(block.to - 0.4, block.from + 0.4));
    block.open = false;
  }

  double gap_, widest_;
  std::map<std::pair<std::size_t, std::string>, Block> last_;
  std::map<std::string, std::vector<std::tuple<std::size_t, double, double>>> pending_;
};

std::vector<LegendEntry> lane_legend(const std::set<i64>& generations, bool healing) {
  std::vector<LegendEntry> legend;
  for (const i64 generation : generations) {
    if (legend.size() == kMostGenerationKeys) break;
    legend.push_back(block_entry(colour_of(generation), cat("generation ", generation)));
  }
  if (generations.size() > kMostGenerationKeys) legend.back().words = "and so on";
  if (healing)
    legend.push_back(
        {"<rect class=\"healed\" x=\"-7\" y=\"-6\" width=\"14\" height=\"12\"/><rect class=\"hatch\" x=\"-7\" y=\"-6\" width=\"14\" "
         "height=\"12\"/>",
         "healing"});
  return legend;
}

void draw_lane_names(Svg& svg, const std::map<i64, std::size_t>& lanes, const LaneBox& box, double left) {
  for (const auto& [rank, lane] : lanes) svg.text({left - 9, box.at(lane) + box.height / 2 + 4}, cat("rank ", rank), "row", "end");
}

/// From start to end of each life, a thin line under its steps.
void draw_lives(Svg& svg, const Story& story, const std::map<i64, std::size_t>& lanes, const LaneBox& box,
                FunctionRef<double(double)> x_of) {
  for (const auto& [key, life] : story.run.lives) {
    const auto lane = lanes.find(key.first);
    if (lane == lanes.end() || std::isnan(life.start_s)) continue;
    const double middle = box.at(lane->second) + box.height / 2;
    const double from = x_of(life.start_s), to = x_of(std::isnan(life.exit_s) ? story.run.end_s : life.exit_s);
    if (to > from) svg.line({from, middle}, {to, middle}, "life");
  }
}

/// A cross on its lane for each kill that has a place.
void draw_crosses(Svg& svg, const Story& story, const std::map<i64, std::size_t>& lanes, const LaneBox& box,
                  FunctionRef<double(double)> x_of) {
  for (const KillEvent& kill : story.run.kills) {
    const auto lane = lanes.find(kill.rank);
    const double at = x_of(kill.t_s);
    if (lane == lanes.end() || std::isnan(at)) continue;
    svg.add(cat("<g class=\"on-lane\">", glyph(MarkerKind::Kill, {at, box.at(lane->second) + box.height / 2}, kill_text(kill)), "</g>"));
  }
}

std::set<i64> generations_of(const std::vector<StepEvent>& steps) {
  std::set<i64> generations;
  for (const StepEvent& step : steps) generations.insert(step.generation);
  return generations;
}

bool any_healing(const std::vector<StepEvent>& steps) {
  return std::any_of(steps.begin(), steps.end(), [](const StepEvent& step) { return step.healing; });
}

/// The steps of all ranks from five before the kill to ten after it.
std::vector<StepEvent> steps_around(const RunEvents& run, const KillEvent& kill) {
  std::vector<StepEvent> steps;
  for (const StepEvent& step : run.steps) {
    if (step.step >= kill.step - 5 && step.step <= kill.step + 10) steps.push_back(step);
  }
  return steps;
}

/// The time axis of an enlarged view: zero is the kill.
struct ZoomAxis {
  double begin_s = 0, end_s = 0, kill_s = 0;
  Scale x{0, 1, 0, 1};  // ms since the kill
  bool holds(double t_s) const { return t_s >= begin_s && t_s <= end_s; }
  /// The place of a time, at the edge when it is outside.
  double at(double t_s) const { return x.at((std::clamp(t_s, begin_s, end_s) - kill_s) * 1e3); }
};

void draw_zoom_axis(Svg& svg, const ZoomAxis& axis, double left, double right, double bottom) {
  const Ticks ticks = round_ticks(axis.x.low(), axis.x.high(), svg.narrow() ? 5 : 11);
  svg.line({left, bottom}, {right, bottom}, "axis");
  for (const double value : ticks.at) {
    svg.line({axis.x.at(value), bottom}, {axis.x.at(value), bottom + 5}, "axis");
    svg.text({axis.x.at(value), bottom + 19}, fixed(value, ticks.decimals), "tick", "middle");
  }
  svg.text({(left + right) / 2, bottom + 38}, "time since the kill, ms", "label", "middle");
}

/// Whether the numbers of all steps fit into their blocks.
bool numbers_fit(const std::vector<StepEvent>& steps, const ZoomAxis& axis, bool narrow) {
  const double share = narrow ? 0.72 : 0.86;  // of the usual size of letters
  return std::all_of(steps.begin(), steps.end(), [&](const StepEvent& step) {
    return axis.at(step.end_s) - axis.at(step.begin_s) > words_width(cat(step.step)) * share + 2;
  });
}

/// The steps as tinted blocks, with their numbers where there is room for all.
void draw_steps(Svg& svg, const std::vector<StepEvent>& steps, const ZoomAxis& axis, const LaneBox& box,
                const std::map<i64, std::size_t>& lanes) {
  Blocks blocks(0, 0), healed(0, 0), ground(4, svg.width());
  std::string numbers;
  const bool numbered = numbers_fit(steps, axis, svg.narrow());
  for (const StepEvent& step : steps) {
    const auto lane = lanes.find(step.rank);
    if (lane == lanes.end()) continue;
    const double from = axis.at(step.begin_s), to = axis.at(step.end_s);
    ground.add(lane->second, "ground", from, to);
    blocks.add(lane->second, cat("tint ", colour_of(step.generation)), from, to - 0.8);
    if (step.healing) healed.add(lane->second, "hatch", from, to - 0.8);
    if (!numbered) continue;
    numbers += cat("<text", step.healing ? " class=\"halo\"" : "", " x=\"", px((from + to) / 2), "\" y=\"",
                   px(box.at(lane->second) + box.height / 2 + 4), "\">", step.step, "</text>");
  }
  svg.add(ground.markup(box));
  svg.add(blocks.markup(box));
  svg.add(healed.markup(box));
  svg.add(cat("<g class=\"numbers\" text-anchor=\"middle\">", numbers, "</g>"));
}

/// The rows of markers from `strip_top` on, their lines down to `bottom`.
void draw_zoom_markers(Svg& svg, const Story& story, const ZoomAxis& axis, double strip_top, double bottom) {
  double row = strip_top;
  for (const MarkerKind kind : {MarkerKind::Kill, MarkerKind::Shrink, MarkerKind::Join, MarkerKind::Heal}) {
    std::string signs;
    for (const Marker& marker : story.markers) {
      if (marker.kind != kind || !axis.holds(marker.t_s)) continue;
      if (signs.empty()) svg.line({axis.x.from(), row}, {axis.x.to(), row}, "rail");
      const double at = axis.at(marker.t_s);
      svg.line({at, row + 5}, {at, bottom}, kind == MarkerKind::Kill ? "guide kill-guide" : "guide");
      signs += glyph(kind, {at, row}, marker.text);
    }
    if (signs.empty()) continue;
    svg.text({axis.x.from() - 9, row + 4}, enum_names(&kind)[static_cast<std::size_t>(kind)], "row", "end");
    svg.add(signs);
    row += 17;
  }
}

std::size_t marker_rows(const Story& story, const ZoomAxis& axis) {
  std::set<MarkerKind> kinds;
  for (const Marker& marker : story.markers) {
    if (axis.holds(marker.t_s)) kinds.insert(marker.kind);
  }
  return kinds.size();
}

}  // namespace

std::string draw_lanes(const Story& story, const FigureSize& size) {
  Svg svg("lanes", size.form, size.width);
  const std::map<i64, std::size_t> lanes = lanes_of(story.run);
  if (lanes.empty()) return empty_drawing(svg, "Ranks", "There are no steps and no starts of ranks.");
  LaneBox box;
  const bool healing = any_healing(story.run.steps);
  Plot plot(svg, story, {.y_label = "", .height = box.pitch * static_cast<double>(lanes.size()), .y_axis = false},
            lane_legend(generations_of(story.run.steps), healing));
  box.top = plot.top();
  plot.draw_frame();
  draw_lane_names(svg, lanes, box, plot.x().from());
  draw_lives(svg, story, lanes, box, [&plot](double t_s) { return plot.x_of(t_s); });
  Blocks blocks, healed, ground(4, size.width);  // a ground without gaps, so that the line of the life does not shine through
  for (const StepEvent& step : story.run.steps) {
    const auto lane = lanes.find(step.rank);
    if (lane == lanes.end()) continue;
    ground.add(lane->second, "ground", plot.x_of(step.begin_s), plot.x_of(step.end_s));
    blocks.add(lane->second, colour_of(step.generation), plot.x_of(step.begin_s), plot.x_of(step.end_s));
    // Drawn wide enough to be seen.
    if (step.healing)
      healed.add(lane->second, "hatch", plot.x_of(step.begin_s), std::max(plot.x_of(step.end_s), plot.x_of(step.begin_s) + 5));
  }
  svg.add(ground.markup(box));
  svg.add(blocks.markup(box));
  svg.add(healed.markup(box));
  draw_crosses(svg, story, lanes, box, [&plot](double t_s) { return plot.x_of(t_s); });
  return svg.finish(plot.height(), "Ranks",
                    cat(story.run.steps.size(), " steps of ", lanes.size(), " ranks, with ", story.run.kills.size(), " kills."));
}

std::string draw_lanes_around(const Story& story, std::size_t kill_index, const FigureSize& size) {
  const KillEvent& kill = story.run.kills.at(kill_index);
  Svg svg(cat("kill-", kill_index), size.form, size.width);
  const std::string title = cat("Ranks around the ", kill_text(kill));
  const std::vector<StepEvent> steps = steps_around(story.run, kill);
  if (steps.empty()) return empty_drawing(svg, title, "There are no steps around this kill.");
  const double left = svg.narrow() ? 50 : 64, right = svg.width() - (svg.narrow() ? 14 : 20);
  ZoomAxis axis{.begin_s = kill.t_s, .end_s = kill.t_s, .kill_s = kill.t_s};
  for (const StepEvent& step : steps) axis.begin_s = std::min(axis.begin_s, step.begin_s), axis.end_s = std::max(axis.end_s, step.end_s);
  axis.x = Scale((axis.begin_s - kill.t_s) * 1e3, (axis.end_s - kill.t_s) * 1e3, left, right);
  const double legend = draw_legend_rows(svg, lane_legend(generations_of(steps), any_healing(steps)), {left, 10}, right - left);
  const std::map<i64, std::size_t> lanes = lanes_of(story.run);
  const double strip = 14 + legend + 6;
  const LaneBox box{.top = strip + 17 * static_cast<double>(marker_rows(story, axis)), .height = 28, .pitch = 38};
  const double bottom = box.top + box.pitch * static_cast<double>(lanes.size());
  draw_zoom_axis(svg, axis, left, right, bottom);
  draw_lane_names(svg, lanes, box, left);
  draw_zoom_markers(svg, story, axis, strip, bottom);
  draw_lives(svg, story, lanes, box, [&axis](double t_s) { return axis.at(t_s); });
  draw_steps(svg, steps, axis, box, lanes);
  draw_crosses(svg, story, lanes, box, [&axis](double t_s) { return axis.holds(t_s) ? axis.at(t_s) : kUnknown; });
  return svg.finish(bottom + 46, title, cat("The steps from ", kill.step - 5, " to ", kill.step + 10, " of each rank."));
}

}  // namespace resilin::tool
