// bench/support/gloo_peer.h -- collectives of Gloo over TCP on the loopback, as PyTorch's default for CPU tensors runs them.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace resilin::bench {

/// One rank's side; all ranks make it with the same folder. Null when the benchmark was built without Gloo.
class GlooPeer {
 public:
  static std::unique_ptr<GlooPeer> connect(const std::string& folder, int rank, int size);
  virtual ~GlooPeer() = default;
  virtual void all_reduce(float* data, std::size_t count) = 0;
  virtual void barrier() = 0;
};

}  // namespace resilin::bench
