// src/resilin/parallel/goodput.cpp -- what the time of a rank was spent for.
#include "resilin/parallel/goodput.h"

#include <numeric>
#include <utility>

#include <time.h>

#include "resilin/dist/environment.h"

namespace resilin::parallel {
namespace {

std::int64_t now_ns() { return dist::machine_clock().now().count(); }

std::int64_t thread_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

Goodput::Goodput() : since_ns_(now_ns()) {}

Spent Goodput::enter(Spent what) {
  const std::int64_t now = now_ns();
  spent_ns_[static_cast<std::size_t>(now_)] += now - std::exchange(since_ns_, now);
  return std::exchange(now_, what);
}

Goodput::ProcessorTime::ProcessorTime(Goodput& goodput, Spent what) : goodput_(goodput), what_(what), begin_ns_(thread_ns()) {}
Goodput::ProcessorTime::~ProcessorTime() {
  const std::int64_t spent = thread_ns() - begin_ns_;
  goodput_.spent_ns_[static_cast<std::size_t>(goodput_.now_)] -= spent;
  goodput_.spent_ns_[static_cast<std::size_t>(what_)] += spent;
}

double Goodput::seconds(Spent what) const {
  const std::int64_t open = what == now_ ? now_ns() - since_ns_ : 0;
  return static_cast<double>(spent_ns_[static_cast<std::size_t>(what)] + open) * 1e-9;
}

double Goodput::total_seconds() const {
  return static_cast<double>(std::accumulate(spent_ns_.begin(), spent_ns_.end(), now_ns() - since_ns_)) * 1e-9;
}

}  // namespace resilin::parallel
