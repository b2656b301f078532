// bench/support/compare.cpp -- interleaved comparison of two ways to do the same, printed as a table and written as JSON.
#include "bench/support/compare.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <thread>

namespace resilin::bench {
namespace {

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

int repeats_for(const std::function<void()>& side, double sample_ms) {
  side();
  const double begin = now_ns();
  int count = 0;
  while (now_ns() - begin < sample_ms * 1e6 / 4) {
    side();
    ++count;
  }
  return std::max(1, count * 4);
}

/// Idle workers of either side spin for a while after a call; a rest lets them fall asleep, so that no side runs against the other's.
void rest() { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }

double time_ns(const std::function<void()>& side, int repeats) {
  rest();
  side();
  const double begin = now_ns();
  for (int i = 0; i < repeats; ++i) side();
  return (now_ns() - begin) / repeats;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

void print_row(const Row& row) {
  std::printf("%-44s %12.2f %-3s  %12.2f %-14s %6.2fx [%.2f, %.2f] %s%s%s\n", row.name.c_str(), row.ours, row.unit.c_str(), row.peer,
              row.peer_name.c_str(), row.ratio, row.ratio_low, row.ratio_high, row.cache.c_str(), row.failed ? "  FAILED " : " ",
              row.note.c_str());
  std::fflush(stdout);
}

}  // namespace

double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

double now_ns() { return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

Report::Report(int argc, char** argv) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], "--json") == 0) json_path_ = argv[i + 1];
  }
}

Row Report::compare(const Comparison& c) {
  Row row{
      .name = c.name, .peer_name = c.peer_name, .unit = "ns", .threads = c.threads, .cache = "warm", .note = c.note, .wanted = c.wanted};
  if (!c.peer) {
    row.note = "the peer is missing: " + c.peer_name;
    row.failed = true;
    add(row);
    return row;
  }
  const int ours_repeats = repeats_for(c.ours, c.sample_ms);
  const int peer_repeats = repeats_for(c.peer, c.sample_ms);
  std::vector<double> ours;
  std::vector<double> peer;
  std::vector<double> ratio;
  for (int p = 0; p < c.pairs; ++p) {
    ours.push_back(time_ns(c.ours, ours_repeats));
    peer.push_back(time_ns(c.peer, peer_repeats));
    ratio.push_back(peer.back() / ours.back());
  }
  row.ours = median(ours);
  row.peer = median(peer);
  row.ratio = median(ratio);
  row.ratio_low = quantile(ratio, 0.25);
  row.ratio_high = quantile(ratio, 0.75);
  row.failed = c.wanted > 0 && row.ratio < c.wanted;
  add(row);
  return row;
}

void Report::add(Row row) {
  print_row(row);
  rows_.push_back(std::move(row));
}

int Report::finish() const {
  if (!json_path_.empty()) {
    std::ofstream out(json_path_);
    out << "[\n";
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Row& r = rows_[i];
      out << "  {\"name\": " << quoted(r.name) << ", \"ours\": " << r.ours << ", \"peer\": " << r.peer
          << ", \"peer_name\": " << quoted(r.peer_name) << ", \"ratio\": " << r.ratio << ", \"ratio_low\": " << r.ratio_low
          << ", \"ratio_high\": " << r.ratio_high << ", \"unit\": " << quoted(r.unit) << ", \"threads\": " << r.threads
          << ", \"cache\": " << quoted(r.cache) << ", \"note\": " << quoted(r.note) << ", \"wanted\": " << r.wanted
          << ", \"failed\": " << (r.failed ? "true" : "false") << "}" << (i + 1 < rows_.size() ? "," : "") << "\n";
    }
    out << "]\n";
  }
  int failed = 0;
  for (const Row& r : rows_) failed += r.failed ? 1 : 0;
  if (failed > 0) std::printf("%d of %zu rows failed\n", failed, rows_.size());
  return failed > 0 ? 1 : 0;
}

}  // namespace resilin::bench
