// bench/support/compare.h -- interleaved comparison of two ways to do the same, printed as a table and written as JSON.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace resilin::bench {

/// One row: medians of the pairs and the ratio peer / ours (above 1: ours is faster) with its quartiles over the pairs.
struct Row {
  std::string name = {};
  double ours = 0, peer = 0;
  std::string peer_name = {};
  double ratio = 0, ratio_low = 0, ratio_high = 0;
  std::string unit = {};
  int threads = 1;
  std::string cache = {};  // state of the kernel cache: warm, disk, cold
  std::string note = {};
  double wanted = 0;  // the ratio (or, without a peer, the upper bound of ours) to reach; 0: none
  bool failed = false;
};

struct Comparison {
  std::string name = {};
  std::function<void()> ours = {};
  std::function<void()> peer = {};  // empty: the peer is missing, which fails the row
  std::string peer_name = {};
  int threads = 1;
  double wanted = 0;
  std::string note = {};
  int pairs = 15;
  double sample_ms = 20;  // each sample repeats its side until about this long
};

/// Collects rows; `finish` prints what failed, writes the JSON file of --json and gives back the exit status.
class Report {
 public:
  Report(int argc, char** argv);
  /// Measures, prints and keeps a row; gives it back.
  Row compare(const Comparison& comparison);
  void add(Row row);
  int finish() const;

 private:
  std::vector<Row> rows_;
  std::string json_path_;
};

/// Median of the values.
double median(std::vector<double> values);
/// Nanoseconds since some start.
double now_ns();

}  // namespace resilin::bench
