// bench/support/gloo_peer.cpp -- the only file that sees Gloo.
#include "bench/support/gloo_peer.h"

#ifdef RESILIN_BENCH_GLOO
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

namespace resilin::bench {
namespace {

class RealPeer final : public GlooPeer {
 public:
  RealPeer(const std::string& folder, int rank, int size)
      : store_(folder), context_(std::make_shared<gloo::rendezvous::Context>(rank, size)) {
    gloo::transport::tcp::attr attr;
    attr.iface = "lo";
    std::shared_ptr<gloo::transport::Device> device = gloo::transport::tcp::CreateDevice(attr);
    context_->connectFullMesh(store_, device);
  }
  void all_reduce(float* data, std::size_t count) override {
    gloo::AllreduceOptions options(context_);
    options.setOutput(data, count);
    options.setReduceFunction(static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<float>));
    options.setTag(++tag_ & 0xffff);
    gloo::allreduce(options);
  }
  void barrier() override {
    gloo::BarrierOptions options(context_);
    options.setTag(++tag_ & 0xffff);
    gloo::barrier(options);
  }

 private:
  gloo::rendezvous::FileStore store_;
  std::shared_ptr<gloo::rendezvous::Context> context_;
  std::uint32_t tag_ = 0;
};

}  // namespace

std::unique_ptr<GlooPeer> GlooPeer::connect(const std::string& folder, int rank, int size) {
  return std::make_unique<RealPeer>(folder, rank, size);
}

}  // namespace resilin::bench
#else
namespace resilin::bench {
std::unique_ptr<GlooPeer> GlooPeer::connect(const std::string&, int, int) { return nullptr; }
}  // namespace resilin::bench
#endif
