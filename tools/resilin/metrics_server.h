// tools/resilin/metrics_server.h -- /metrics and /healthz of a training run, on the loopback address.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "tools/resilin/http.h"
#include "tools/resilin/train_config.h"

namespace resilin::tool {

struct RunMetrics {
  i64 step = 0;  // how many are done
  std::optional<double> loss;
  double tokens_per_s = 0;
  i64 world = 0;
  i64 generation = 0;
  i64 commits = 0;     // steps that this process applied
  i64 recoveries = 0;  // generations that followed on a loss
  double train_s = 0, data_s = 0, checkpoint_s = 0, recover_s = 0, idle_s = 0, ft_s = 0;
};

/// In Prometheus's text format, 0.0.4.
std::string metrics_text(const RunMetrics& metrics);
/// 200 or, when the last commit is older than `stale_s`, 503; the same facts as JSON either way.
HttpAnswer health_answer(const RunMetrics& metrics, double seconds_since_commit, double stale_s);

/// Serves what it was last told. A thread of its own, which reads of each client at most 4 KiB within 5 s and gives at most 16 of them a place (the
/// oldest makes room): nobody who connects can hold up the caller, or others for long.
class MetricsServer {
 public:
  struct Options {
    i64 port = 0;  // of 127.0.0.1; 0: any that is free
    std::chrono::milliseconds stale{60'000};
    std::chrono::milliseconds client_timeout{5'000};
  };
  /// StoreError naming the address when the port cannot be had.
  explicit MetricsServer(const Options& options);
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  i64 port() const;
  /// From any thread; takes no longer than a copy. More commits than before: one has just happened.
  void set(const RunMetrics& metrics);

 private:
  class Service;
  std::unique_ptr<Service> service_;
};

}  // namespace resilin::tool
