// src/resilin/parallel/gradient_buckets.h -- Internal: gradients in buckets that are summed over the ranks while backward still runs.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "resilin/base/hook_list.h"
#include "resilin/dist/group/process_group.h"
#include "resilin/tensor/tensor.h"

namespace resilin::parallel {

/// Parameters in groups of neighbours, the last ones first: their gradients come first. All ranks start the sums of the buckets in the same order, each as soon
/// as backward has the last gradient of it.
class GradientBuckets {
 public:
  /// The first bucket has at most `first_bytes`, so that something moves early; the others `bytes`. A parameter is never divided.
  GradientBuckets(const std::vector<Tensor>& parameters, std::size_t first_bytes, std::size_t bytes);
  ~GradientBuckets();
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  /// No gradients are there, and no sums under way.
  void clear();
  /// The backward that comes next is this rank's last one: its gradients are final.
  void watch(dist::ProcessGroup group, std::chrono::milliseconds timeout);
  /// Starts what is left, with zeros for gradients that did not come, and then the sums of `others`; waits for all. Throws what went wrong; nothing is under
  /// way after that.
  void finish(dist::ProcessGroup group, const std::vector<Tensor>& others, std::chrono::milliseconds timeout);
  /// Waits until nothing is under way, whatever comes of it: after the group's generation has failed.
  void drain();
  /// All gradients, as few tensors as their memory allows.
  const std::vector<std::vector<Tensor>>& sums() const { return started_; }
  std::size_t count() const { return buckets_.size(); }

 private:
  struct Bucket {
    std::vector<Tensor> parameters;
    std::size_t missing = 0;  // gradients that are not final yet
  };
  void arrived(std::size_t bucket);
  void start_ready();
  void start(const Bucket& bucket);

  std::vector<Bucket> buckets_;
  std::vector<HookHandle> hooks_;
  dist::ProcessGroup group_;
  std::chrono::milliseconds timeout_{0};
  bool watching_ = false;
  std::vector<std::vector<Tensor>> started_;  // by bucket, in their order
  std::vector<dist::Work> works_;
};

}  // namespace resilin::parallel
