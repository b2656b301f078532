// bench/recorder.cpp -- what the flight recorder costs a step: nanoseconds an event, alone and with two threads.
#include "resilin/dist/recorder/recorder.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/support/compare.h"

namespace {

using resilin::bench::median;
using resilin::bench::now_ns;
using resilin::dist::IssuedWork;
using resilin::dist::RecordedStatus;
using resilin::dist::Recorder;
using resilin::dist::WorkMark;

constexpr int kWorks = 1000;  // a round shorter than a slice of the scheduler
constexpr int kRounds = 301;

resilin::dist::IssuedWork all_reduce() {
  IssuedWork work;
  work.op = resilin::dist::CollectiveKind::AllReduce;
  work.reduce = resilin::dist::ReduceOp::Sum;
  work.signature = 1;
  work.input_elements = 1024;
  return work;
}

/// Issue, start and finish: three events a Work.
void record_works(Recorder& recorder) {
  IssuedWork work = all_reduce();
  const resilin::i64 dims[] = {32, 32};
  work.dims = dims;
  for (int i = 0; i < kWorks; ++i) {
    work.sequence = static_cast<std::uint64_t>(i) + 1;
    const WorkMark mark = recorder.issue(work);
    recorder.start(mark);
    recorder.finish(mark, RecordedStatus::Success);
  }
}

/// Median and quartiles of the time an event takes, as a row.
template <class Call>
void measure(resilin::bench::Report& report, const char* name, int threads, double events, Call&& call) {
  std::vector<double> samples;
  for (int round = 0; round < kRounds; ++round) {
    const double begin = now_ns();
    call();
    samples.push_back((now_ns() - begin) / events);
  }
  std::sort(samples.begin(), samples.end());
  resilin::bench::Row row;
  row.name = name;
  row.ours = median(samples);
  row.unit = "ns";
  row.threads = threads;
  row.wanted = threads == 1 ? 100 : 0;  // two threads that do nothing but record are no training step
  row.note = "quartiles " + std::to_string(samples[kRounds / 4]) + " to " + std::to_string(samples[kRounds * 3 / 4]);
  row.failed = row.wanted != 0 && row.ours > row.wanted;
  report.add(row);
}

}  // namespace

int main(int argc, char** argv) {
  resilin::bench::Report report(argc, argv);
  std::string folder = "/dev/shm/resilin-bench-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no temporary folder at " + folder);
  {
    resilin::dist::RecorderOptions options;
    options.folder = folder;
    options.world = 8;
    Recorder recorder(options, resilin::dist::machine_clock());
    measure(report, "recorder: an event of a Work", 1, 3.0 * kWorks, [&] { record_works(recorder); });
    measure(report, "recorder: an event of a Work, while another thread records", 2, 3.0 * kWorks, [&] {
      std::thread other([&] { record_works(recorder); });
      record_works(recorder);
      other.join();
    });
    measure(report, "recorder: waiting for a peer, begin and end", 1, 2.0 * kWorks, [&] {
      for (int i = 0; i < kWorks; ++i) {
        recorder.begin_peer_wait(3, {});
        recorder.end_peer_wait(3);
      }
    });
  }
  std::filesystem::remove_all(folder);
  return report.finish();
}
