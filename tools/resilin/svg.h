// tools/resilin/svg.h -- drawings as SVG text: escaped, scaled, with round ticks.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "resilin/base/text.h"

namespace resilin::tool {

/// The text for HTML and XML, elements and attributes alike; cut off after `limit` bytes, control characters as spaces.
std::string escape(std::string_view text, std::size_t limit = 200);

/// A coordinate: at most one decimal.
std::string px(double value);

/// From values to pixels; both ends are finite and differ.
class Scale {
 public:
  Scale(double low, double high, double from, double to);
  double at(double value) const { return from_ + (value - low_) * (to_ - from_) / (high_ - low_); }
  double value_at(double pixel) const { return low_ + (pixel - from_) * (high_ - low_) / (to_ - from_); }
  double low() const { return low_; }
  double high() const { return high_; }
  double from() const { return from_; }
  double to() const { return to_; }

 private:
  double low_, high_, from_, to_;
};

/// Round values (1, 2 or 5 times a power of ten apart) within [low, high], at most `most` of them.
struct Ticks {
  std::vector<double> at;
  int decimals = 0;
};
Ticks round_ticks(double low, double high, int most, bool integers = false);

struct Point {
  double x = 0;
  double y = 0;
};
/// At most two points for each pixel of x, the lowest and the highest of those that fall into it, in order; and the first and last of all.
std::vector<Point> thinned(const std::vector<Point>& points);

/// One drawing, with a title and a description for those who cannot see it.
class Svg {
 public:
  Svg(std::string id, std::string form, double width) : id_(std::move(id)), form_(std::move(form)), width_(width) {}
  void add(std::string_view markup) { body_ += markup; }
  void line(Point from, Point to, std::string_view style);
  void rect(Point corner, double width, double height, std::string_view style);
  /// `anchor` is start, middle or end; `style` names classes.
  void text(Point at, std::string_view words, std::string_view style, std::string_view anchor = "start");
  void polyline(const std::vector<Point>& points, std::string_view style, std::string_view attributes = {});
  double width() const { return width_; }
  bool narrow() const { return width_ < 600; }
  std::string finish(double height, std::string_view title, std::string_view description) const;

 private:
  std::string id_, form_;
  double width_;
  std::string body_;
};

}  // namespace resilin::tool
