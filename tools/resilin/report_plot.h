// tools/resilin/report_plot.h -- what the figures of a report share: frame, axes, legends, and the strip of markers above a plot.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/resilin/report_story.h"
#include "tools/resilin/svg.h"

namespace resilin::tool {

/// The unit in which times of a run are written.
struct TimeUnit {
  double seconds = 1;
  std::string_view name = "s";
};
TimeUnit time_unit(double span_s);

enum class Across { Steps, Time };

struct PlotForm {
  Across across = Across::Time;
  std::string y_label;
  double y_low = 0;
  double y_high = 1;
  double height = 240;
  bool y_integers = false;
  bool y_axis = true;
};

struct LegendEntry {
  std::string markup;  // 16 x 10 around (0, 0)
  std::string words;
};

/// A frame with a common axis of steps or time, so that figures one below the other line up.
class Plot {
 public:
  Plot(Svg& svg, const Story& story, const PlotForm& form, const std::vector<LegendEntry>& legend = {});
  const Scale& x() const { return x_; }
  const Scale& y() const { return y_; }
  double top() const { return top_; }
  double bottom() const { return top_ + form_.height; }
  double height() const { return bottom() + 46; }  // of the drawing
  /// The place of a time on the axis.
  double x_of(double t_s) const { return x_.at(form_.across == Across::Time ? t_s / unit_.seconds : t_s); }
  /// Grid, ticks, labels, and what befell the run.
  void draw_frame();
  /// A curve that tells its values under the pointer; `words` has {x} and {y}.
  void draw_curve(const std::vector<Point>& values, std::string_view style, std::string_view words, int y_decimals);
  void draw_line(const std::vector<Point>& values, std::string_view style);

 private:
  void draw_legend(const std::vector<LegendEntry>& legend);
  void draw_markers();
  std::string x_label() const;
  std::vector<Point> placed(const std::vector<Point>& values) const;

  Svg& svg_;
  const Story& story_;
  PlotForm form_;
  TimeUnit unit_;
  double left_, right_;
  double top_ = 0;
  double strip_top_ = 0;
  Scale x_, y_;
};

/// The sign of a kind of marker; `words` is shown under the pointer.
std::string glyph(MarkerKind kind, Point at, std::string_view words);
/// Entries side by side, as many rows as the width needs. Gives back the height that they took.
double draw_legend_rows(Svg& svg, const std::vector<LegendEntry>& legend, Point at, double width);
/// An entry whose sign is a coloured block, a hatched one or a line.
LegendEntry block_entry(std::string_view style, std::string words);
LegendEntry line_entry(std::string_view style, std::string words);
/// A drawing that says why there is nothing to draw.
std::string empty_drawing(Svg& svg, std::string_view title, std::string_view words);
double words_width(std::string_view words);

}  // namespace resilin::tool
