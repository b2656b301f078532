// tools/resilin/svg.cpp -- drawings as SVG text: escaped, scaled, with round ticks.
#include "tools/resilin/svg.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace resilin::tool {

std::string escape(std::string_view text, std::size_t limit) {
  bool cut = text.size() > limit;
  if (cut) {
    // Not in the midst of a character.
    while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xc0) == 0x80) --limit;
    text = text.substr(0, limit);
  }
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += (static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f ? ' ' : c;
    }
  }
  return cut ? out + "…" : out;
}

std::string px(double value) {
  if (!std::isfinite(value)) return "0";
  char text[48];
  std::snprintf(text, sizeof text, "%.1f", std::clamp(value, -1e6, 1e6));
  std::string out = text;
  if (out.ends_with(".0")) out.resize(out.size() - 2);
  return out == "-0" ? "0" : out;
}

Scale::Scale(double low, double high, double from, double to) : low_(low), high_(high), from_(from), to_(to) {
  if (!std::isfinite(low_) || !std::isfinite(high_)) low_ = 0, high_ = 1;
  // Nothing to tell apart, or nothing that a double tells apart.
  if (!(high_ - low_ > std::abs(low_) * 1e-9)) high_ = low_ + std::max(1.0, std::abs(low_) * 1e-3);
}

Ticks round_ticks(double low, double high, int most, bool integers) {
  Ticks ticks;
  const double raw = (high - low) / std::max(most - 1, 1);
  if (!std::isfinite(raw) || !(raw > 0)) return ticks;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  double step = power * 10;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw * (1 - 1e-9)) {
      step = factor * power;
      break;
    }
  }
  if (integers) step = std::max(1.0, step);
  ticks.decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 9);
  const double first = std::ceil(low / step - 1e-9);
  for (int i = 0; i <= most; ++i) {
    const double value = (first + i) * step;
    if (value > high + step * 1e-9) break;
    ticks.at.push_back(value);
  }
  return ticks;
}

std::vector<Point> thinned(const std::vector<Point>& points) {
  std::vector<Point> out;
  for (std::size_t i = 0; i < points.size();) {
    const double column = std::floor(points[i].x);
    std::size_t end = i, low = i, high = i;
    for (; end < points.size() && std::floor(points[end].x) == column; ++end) {
      if (points[end].y < points[low].y) low = end;
      if (points[end].y > points[high].y) high = end;
    }
    if (i == 0 && std::min(low, high) > 0) out.push_back(points[0]);
    out.push_back(points[std::min(low, high)]);
    if (low != high) out.push_back(points[std::max(low, high)]);
    if (end == points.size() && std::max(low, high) + 1 < end) out.push_back(points[end - 1]);
    i = end;
  }
  return out;
}

void Svg::line(Point from, Point to, std::string_view style) {
  body_ += cat("<line class=\"", style, "\" x1=\"", px(from.x), "\" y1=\"", px(from.y), "\" x2=\"", px(to.x), "\" y2=\"", px(to.y), "\"/>");
}

void Svg::rect(Point corner, double width, double height, std::string_view style) {
  body_ += cat("<rect class=\"", style, "\" x=\"", px(corner.x), "\" y=\"", px(corner.y), "\" width=\"", px(std::max(width, 0.0)),
               "\" height=\"", px(std::max(height, 0.0)), "\"/>");
}

void Svg::text(Point at, std::string_view words, std::string_view style, std::string_view anchor) {
  body_ += cat("<text class=\"", style, "\" x=\"", px(at.x), "\" y=\"", px(at.y), "\"");
  if (anchor != "start") body_ += cat(" text-anchor=\"", anchor, "\"");
  body_ += cat(">", escape(words), "</text>");
}

void Svg::polyline(const std::vector<Point>& points, std::string_view style, std::string_view attributes) {
  if (points.empty()) return;
  body_ += cat("<polyline class=\"", style, "\" ", attributes, " points=\"");
  const char* separator = "";
  for (const Point& point : points) {
    body_ += cat(separator, px(point.x), ",", px(point.y));
    separator = " ";
  }
  body_ += "\"/>";
}

std::string Svg::finish(double height, std::string_view title, std::string_view description) const {
  const std::string name = cat(id_, "-", form_);
  return cat("<svg class=\"", form_, "\" viewBox=\"0 0 ", px(width_), " ", px(height), "\" role=\"img\" aria-labelledby=\"", name, "-t ",
             name, "-d\" xmlns=\"http://www.w3.org/2000/svg\"><title id=\"", name, "-t\">", escape(title), "</title><desc id=\"", name,
             "-d\">", escape(description, 600), "</desc>", body_, "</svg>");
}

}  // namespace resilin::tool
