// tools/resilin/report_plot.cpp -- what the figures of a report share: frame, axes, legends, and the strip of markers above a plot.
#include "tools/resilin/report_plot.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "tools/resilin/number_text.h"

namespace resilin::tool {
namespace {

constexpr double kRow = 17;

constexpr MarkerKind kKinds[] = {MarkerKind::Kill, MarkerKind::Shrink, MarkerKind::Join, MarkerKind::Heal};

std::string_view name_of(MarkerKind kind) { return enum_names(&kind)[static_cast<std::size_t>(kind)]; }

bool has(const Story& story, MarkerKind kind) {
  return std::any_of(story.markers.begin(), story.markers.end(), [kind](const Marker& marker) { return marker.kind == kind; });
}

double last_step(const Story& story) {
  i64 last = 1;
  for (const CommitEvent& commit : story.run.commits) last = std::max(last, commit.step + 1);
  return static_cast<double>(last);
}

double first_step(const Story& story) {
  i64 first = std::max<i64>(story.run.first_step, 0);
  for (const CommitEvent& commit : story.run.commits) first = std::min(first, commit.step);
  return static_cast<double>(first);
}

/// The next tick where it is hardly farther, so that the axis ends with a number.
double rounded_up(double end) {
  const Ticks ticks = round_ticks(0, end, 11);
  if (ticks.at.size() < 2) return end;
  const double next = ticks.at.back() + ticks.at[1] - ticks.at[0];
  return next - end < 0.03 * end ? next : end;
}

}  // namespace

TimeUnit time_unit(double span_s) {
  if (span_s < 300) return {1, "s"};
  if (span_s < 3 * 3600) return {60, "min"};
  return {3600, "h"};
}

double words_width(std::string_view words) {
  // Of the widest usual face; characters, not bytes.
  return 7.2 * static_cast<double>(
                   std::count_if(words.begin(), words.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

Plot::Plot(Svg& svg, const Story& story, const PlotForm& form, const std::vector<LegendEntry>& legend)
    : svg_(svg),
      story_(story),
      form_(form),
      unit_(time_unit(story.run.end_s)),
      left_(svg.narrow() ? 50 : 64),
      right_(svg.width() - (svg.narrow() ? 14 : 20)),
      x_(form.across == Across::Time ? Scale(0, rounded_up(story.run.end_s / unit_.seconds), left_, right_)
                                     : Scale(first_step(story), last_step(story), left_, right_)),
      y_(form.y_low, form.y_high, 1, 0) {
  strip_top_ = form_.y_label.empty() ? 2 : 26;
  if (!legend.empty()) {
    const double begin = svg_.narrow() ? 0 : words_width(form_.y_label) + 40;
    double wanted = 0;
    for (const LegendEntry& entry : legend) wanted += words_width(entry.words) + 44;
    const bool below = svg_.narrow() || begin + wanted > right_;
    const double at = below ? left_ : right_ - wanted + 18;
    const double height = draw_legend_rows(svg_, legend, {at, below ? strip_top_ + 10 : 10}, below ? right_ - left_ : wanted);
    strip_top_ = below ? strip_top_ + height + 4 : 26;
  }
  const double rows =
      static_cast<double>(std::count_if(std::begin(kKinds), std::end(kKinds), [&](MarkerKind kind) { return has(story_, kind); }));
  top_ = strip_top_ + rows * kRow + 8;
  y_ = Scale(form.y_low, form.y_high, top_ + form_.height, top_);
}

std::string Plot::x_label() const { return form_.across == Across::Steps ? "step" : cat("time since the start, ", unit_.name); }

void Plot::draw_frame() {
  if (!form_.y_label.empty()) svg_.text({0, 14}, form_.y_label, "label");
  const Ticks y_ticks = form_.y_axis ? round_ticks(y_.low(), y_.high(), 7, form_.y_integers) : Ticks();
  for (const double value : y_ticks.at) {
    svg_.line({left_, y_.at(value)}, {right_, y_.at(value)}, "grid");
    svg_.text({left_ - 9, y_.at(value) + 4}, fixed(value, y_ticks.decimals), "tick", "end");
  }
  const Ticks x_ticks = round_ticks(x_.low(), x_.high(), svg_.narrow() ? 6 : 11, form_.across == Across::Steps);
  svg_.line({left_, bottom()}, {right_, bottom()}, "axis");
  for (const double value : x_ticks.at) {
    svg_.line({x_.at(value), bottom()}, {x_.at(value), bottom() + 5}, "axis");
    svg_.text({x_.at(value), bottom() + 19}, fixed(value, x_ticks.decimals), "tick", "middle");
  }
  svg_.text({(left_ + right_) / 2, bottom() + 38}, x_label(), "label", "middle");
  draw_markers();
}

void Plot::draw_markers() {
  double row = strip_top_ + kRow / 2;
  for (const MarkerKind kind : kKinds) {
    if (!has(story_, kind)) continue;
    svg_.text({left_ - 9, row + 4}, name_of(kind), "row", "end");
    svg_.line({left_, row}, {right_, row}, "rail");
    std::set<i64> taken;  // a marker on top of another says nothing more
    for (const Marker& marker : story_.markers) {
      if (marker.kind != kind) continue;
      const double at = form_.across == Across::Time ? x_of(marker.t_s) : x_.at(static_cast<double>(marker.step));
      if (!(at >= left_ - 1 && at <= right_ + 1) || !taken.insert(static_cast<i64>(at * 2)).second) continue;
      svg_.line({at, row + 5}, {at, bottom()}, kind == MarkerKind::Kill ? "guide kill-guide" : "guide");
      svg_.add(glyph(kind, {at, row}, marker.text));
    }
    row += kRow;
  }
}

std::vector<Point> Plot::placed(const std::vector<Point>& values) const {
  std::vector<Point> points;
  for (const Point& value : values) {
    if (!std::isfinite(value.x) || !std::isfinite(value.y)) continue;
    points.push_back({form_.across == Across::Time ? x_of(value.x) : x_.at(value.x), y_.at(value.y)});
  }
  return thinned(points);
}

void Plot::draw_line(const std::vector<Point>& values, std::string_view style) { svg_.polyline(placed(values), style); }

void Plot::draw_curve(const std::vector<Point>& values, std::string_view style, std::string_view words, int y_decimals) {
  const double x_slope = x_.value_at(1) - x_.value_at(0), y_slope = y_.value_at(1) - y_.value_at(0);
  const int x_decimals = form_.across == Across::Steps ? 0 : 2;
  const std::string map = cat(x_.value_at(0), " ", x_slope, " ", y_.value_at(0), " ", y_slope, " ", x_decimals, " ", y_decimals);
  svg_.polyline(placed(values), style, cat("data-map=\"", map, "\" data-words=\"", escape(words), "\""));
}

std::string glyph(MarkerKind kind, Point at, std::string_view words) {
  const std::string shape = kind == MarkerKind::Kill     ? "<path d=\"M-4.5-4.5L4.5 4.5M4.5-4.5L-4.5 4.5\"/>"
                            : kind == MarkerKind::Shrink ? "<path d=\"M-5-4H5L0 5Z\"/>"
                            : kind == MarkerKind::Join   ? "<path d=\"M-5 4H5L0-5Z\"/>"
                                                         : "<circle r=\"4.5\"/>";
  return cat("<g class=\"", name_of(kind), "\" transform=\"translate(", px(at.x), " ", px(at.y), ")\">", words.empty() ? "" : "<title>",
             escape(words), words.empty() ? "" : "</title>", shape, "</g>");
}

double draw_legend_rows(Svg& svg, const std::vector<LegendEntry>& legend, Point at, double width) {
  double x = at.x, y = at.y;
  for (const LegendEntry& entry : legend) {
    const double wanted = words_width(entry.words) + 26;
    if (x > at.x && x + wanted > at.x + width) x = at.x, y += 18;
    svg.add(cat("<g transform=\"translate(", px(x + 8), " ", px(y), ")\">", entry.markup, "</g>"));
    svg.text({x + 22, y + 4}, entry.words, "key");
    x += wanted + 18;
  }
  return y - at.y + 18;
}

LegendEntry block_entry(std::string_view style, std::string words) {
  return {cat("<rect class=\"", style, "\" x=\"-7\" y=\"-6\" width=\"14\" height=\"12\" rx=\"2\"/>"), std::move(words)};
}

LegendEntry line_entry(std::string_view style, std::string words) {
  return {cat("<line class=\"", style, "\" x1=\"-8\" y1=\"0\" x2=\"8\" y2=\"0\"/>"), std::move(words)};
}

std::string empty_drawing(Svg& svg, std::string_view title, std::string_view words) {
  svg.text({svg.width() / 2, 44}, words, "label", "middle");
  return svg.finish(80, title, words);
}

}  // namespace resilin::tool
