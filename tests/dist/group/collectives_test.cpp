// tests/dist/group/collectives_test.cpp -- collectives of groups against sums that are known, over orders of messages that nobody planned.
#include <cmath>
#include <cstring>
#include <vector>

#include <doctest/doctest.h>

#include "resilin/base/error.h"
#include "resilin/base/text.h"
#include "resilin/tensor/tensor.h"

#include "tests/support/ranks.h"

namespace resilin::dist {
namespace {

using test::Ranks;

template <class T>
Tensor filled(i64 count, DType dtype, const std::function<double(i64)>& value) {
  const Tensor x = Tensor::allocate(Shape{count}, dtype);
  T* data = static_cast<T*>(x.data());
  for (i64 i = 0; i < count; ++i) data[i] = static_cast<T>(static_cast<float>(value(i)));
  return x;
}

template <class T>
void check_all_reduce(DType dtype, int size, i64 count, std::uint64_t seed) {
  CAPTURE(dtype);
  CAPTURE(size);
  CAPTURE(count);
  Ranks ranks(size, seed);
  ranks.reconfigure(ranks.all());
  std::vector<Tensor> results(static_cast<std::size_t>(size));
  ranks.run([&](int process, ProcessGroup& group) {
    for (const ReduceOp op : {ReduceOp::Sum, ReduceOp::Min, ReduceOp::Max}) {
      const Tensor x = filled<T>(count, dtype, [&](i64 i) { return static_cast<double>((i + process) % 7 + process); });
      group.all_reduce(x, op).wait();
      for (i64 i = 0; i < count; ++i) {
        double expected = static_cast<double>(i % 7);
        for (int rank = 1; rank < size; ++rank) {
          const double term = static_cast<double>((i + rank) % 7 + rank);
          expected = op == ReduceOp::Sum ? expected + term : op == ReduceOp::Min ? std::min(expected, term) : std::max(expected, term);
        }
        if (static_cast<double>(static_cast<T*>(x.data())[i]) != expected) {
          throw std::runtime_error(
              cat("rank ", process, " element ", i, ": ", static_cast<double>(static_cast<T*>(x.data())[i]), ", expected ", expected));
        }
      }
    }
  });
}

TEST_CASE("all_reduce of every size of group and message gives the sum, the least and the greatest") {
  std::uint64_t seed = 0;
  for (const int size : {1, 2, 3, 4, 5, 8}) {
    for (const i64 count : {i64{0}, i64{1}, i64{1000}, i64{70'001}}) {
      check_all_reduce<float>(DType::F32, size, count, seed++);
      check_all_reduce<i64>(DType::I64, size, count, seed++);
      check_all_reduce<BF16>(DType::BF16, size, count, seed++);
    }
  }
}

TEST_CASE("a large all_reduce, gather and scatter between neighbours on one host") {
  Ranks ranks(3);
  ranks.reconfigure(ranks.all());
  const i64 count = 300'000;
  ranks.run([&](int process, ProcessGroup& group) {
    const Tensor x = filled<float>(count, DType::F32, [&](i64 i) { return static_cast<double>(i % 1000 + process); });
    const Tensor all = Tensor::allocate(Shape{3 * count}, DType::F32);
    group.all_gather_single(all, x).wait();
    for (i64 i = 0; i < 3 * count; ++i) {
      if (static_cast<float*>(all.data())[i] != static_cast<float>(i % count % 1000 + i / count))
        throw std::runtime_error(cat("gathered ", i));
    }
    const Tensor part = Tensor::allocate(Shape{count}, DType::F32);
    group.reduce_scatter_single(part, all).wait();
    for (i64 i = 0; i < count; ++i) {
      if (static_cast<float*>(part.data())[i] != 3 * static_cast<float>(i % 1000 + process)) throw std::runtime_error(cat("scattered ", i));
    }
    group.all_reduce(x, ReduceOp::Avg).wait();
    for (i64 i = 0; i < count; ++i) {
      if (static_cast<float*>(x.data())[i] != static_cast<float>(i % 1000 + 1)) throw std::runtime_error(cat("averaged ", i));
    }
    const Tensor told = filled<float>(count, DType::F32, [&](i64 i) { return process == 1 ? static_cast<double>(i % 11) : -1.0; });
    group.broadcast(told, 1).wait();
    for (i64 i = 0; i < count; ++i) {
      if (static_cast<float*>(told.data())[i] != static_cast<float>(i % 11)) throw std::runtime_error(cat("told ", i));
    }
    group.barrier().wait();
  });
}

TEST_CASE("pairs: messages of equal tags keep their order, sizes from none to large, both ways at once") {
  Ranks ranks(2, 7);
  ranks.reconfigure(ranks.all());
  ranks.run([&](int process, ProcessGroup& group) {
    std::vector<Work> works;
    std::vector<Tensor> received;
    for (int round = 0; round < 20; ++round) {
      const i64 count = round % 4 == 0 ? 0 : round % 4 == 1 ? 3 : round % 4 == 2 ? 2048 : 50'000;
      const Tensor x = filled<float>(count, DType::F32, [&](i64) { return static_cast<double>(100 * process + round); });
      works.push_back(group.send(x, 1 - process, static_cast<std::uint32_t>(round % 2)));
      received.push_back(Tensor::allocate(Shape{count}, DType::F32));
      works.push_back(group.recv(received.back(), 1 - process, static_cast<std::uint32_t>(round % 2)));
    }
    for (const Work& work : works) work.wait();
    for (int round = 0; round < 20; ++round) {
      const Tensor& x = received[static_cast<std::size_t>(round)];
      for (i64 i = 0; i < x.numel().value(); ++i) {
        if (static_cast<float*>(x.data())[i] != static_cast<float>(100 * (1 - process) + round))
          throw std::runtime_error(cat("round ", round));
      }
    }
  });
}

TEST_CASE("tensors of any layout, several at once, and inputs let go of early") {
  Ranks ranks(4, 3);
  ranks.reconfigure(ranks.all());
  ranks.run([&](int process, ProcessGroup& group) {
    const Tensor base = filled<float>(60, DType::F32, [&](i64 i) { return static_cast<double>(i + process); });
    const Tensor columns = Tensor::view(base.storage(), DType::F32, 0, Shape{6, 10}, Shape{1, 6});
    const Tensor other = filled<float>(5, DType::F32, [&](i64 i) { return static_cast<double>(10 * i); });
    const i64 version = base.version();
    Work work;
    {
      const std::vector<Tensor> both{columns, other};
      work = group.all_reduce_coalesced(both);
    }
    work.wait();
    for (i64 i = 0; i < 60; ++i) {
      if (static_cast<float*>(base.data())[i] != static_cast<float>(4 * i + 6)) throw std::runtime_error(cat("base ", i));
    }
    for (i64 i = 0; i < 5; ++i) {
      if (static_cast<float*>(other.data())[i] != static_cast<float>(40 * i)) throw std::runtime_error(cat("other ", i));
    }
    if (base.version() == version) throw std::runtime_error("the write was not counted");
    Work dropped = group.all_reduce(filled<float>(100'000, DType::F32, [](i64) { return 1.0; }));
    dropped.wait();
    if (static_cast<float*>(dropped.result()[0].data())[99'999] != 4.0f) throw std::runtime_error("dropped");
  });
}

TEST_CASE("tensors that overlap are refused with their ranges, but for results in place and strides that pass by each other") {
  Ranks ranks(2, 4);
  ranks.reconfigure(ranks.all());
  const auto part = [](const Tensor& x, i64 begin, i64 count, i64 stride = 1) {
    return Tensor::view(x.storage(), DType::F32, begin, Shape{count}, Shape{stride});
  };
  const Tensor base = filled<float>(100, DType::F32, [](i64 i) { return static_cast<double>(i); });
  const auto refusal = [&](const std::function<void(ProcessGroup&)>& call) { return test::message_of([&] { call(ranks[0]); }); };
  CHECK(refusal([&](ProcessGroup& group) { group.all_gather_single(part(base, 0, 20), part(base, 5, 10)); }) ==
        "all_gather_single: input 0 and output 0 overlap: bytes 20 to 60 and 0 to 80; they must be apart, or the input this rank's part of "
        "the "
        "output");
  CHECK(refusal([&](ProcessGroup& group) { group.all_gather_single(part(base, 0, 20), part(base, 10, 10)); }).find("overlap") !=
        std::string::npos);  // rank 1's part
  CHECK(refusal([&](ProcessGroup& group) { group.reduce_scatter_single(part(base, 15, 10), part(base, 0, 20)); }) ==
        "reduce_scatter_single: input 0 and output 0 overlap: bytes 0 to 80 and 60 to 100; they must be apart, or the output this rank's "
        "part "
        "of the input");
  CHECK(refusal([&](ProcessGroup& group) {
          group.all_reduce_coalesced({part(base, 50, 10), part(base, 0, 20), part(base, 19, 3)});
        }) == "all_reduce_coalesced: outputs 1 and 2 overlap: bytes 0 to 80 and 76 to 88; they must be apart");
  CHECK(refusal([&](ProcessGroup& group) {
          group.all_reduce_coalesced({part(base, 0, 10, 2), part(base, 4, 10, 3)});
        }).find("overlap") != std::string::npos);
  for (const std::function<void(ProcessGroup&, const Tensor&)>&write : std::vector<std::function<void(ProcessGroup&, const Tensor&)>>{
           [](ProcessGroup&group, const Tensor&x) { group.broadcast(x, 0); },
           [](ProcessGroup&group, const Tensor&x) { group.all_reduce(x); },
           [](ProcessGroup&group, const Tensor&x) { group.recv(x, 1); },
       }) {
    const Tensor expanded = Tensor::view(base.storage(), DType::F32, 0, Shape{3, 4}, Shape{0, 1});
    CHECK(refusal([&](ProcessGroup& group) { write(group, expanded); }).find("elements of output 0 share memory") != std::string::npos);
  }
  // The group works on.
  ranks.run([&](int process, ProcessGroup& group) {
    const Tensor x = filled<float>(40, DType::F32, [&](i64 i) { return static_cast<double>(i + 100 * process); });
    group.all_gather_single(part(x, 0, 20), part(x, 10 * process, 10)).wait();
    if (static_cast<float*>(x.data())[15] != 115) throw std::runtime_error("gathered");
    group.reduce_scatter_single(part(x, 20 + 10 * process, 10), part(x, 20, 20)).wait();
    if (static_cast<float*>(x.data())[20 + 10 * process] != static_cast<float>(2 * (20 + 10 * process) + 100)) {
      throw std::runtime_error("scattered");
    }
    const Tensor y = filled<float>(10, DType::F32, [](i64) { return 1.0; });
    group.all_reduce_coalesced({part(y, 0, 5, 2), part(y, 1, 5, 2)}).wait();
    if (static_cast<float*>(y.data())[0] != 2 || static_cast<float*>(y.data())[9] != 2) throw std::runtime_error("columns");
  });
}

TEST_CASE("works that nobody waits for end by themselves, in any number") {
  Ranks ranks(3, 5);
  ranks.reconfigure(ranks.all());
  std::vector<std::vector<Work>> works(3);
  std::vector<std::vector<Tensor>> tensors(3);
  std::atomic<int> called{0};
  for (int process = 0; process < 3; ++process) {
    for (int i = 0; i < 50; ++i) {
      tensors[static_cast<std::size_t>(process)].push_back(filled<float>(1 + 997 * i, DType::F32, [&](i64) { return 1.0; }));
      works[static_cast<std::size_t>(process)].push_back(ranks[process].all_reduce(tensors[static_cast<std::size_t>(process)].back()));
      works[static_cast<std::size_t>(process)].back().then([&](const Work& work) { called += work.is_success() ? 1 : 1000; });
    }
  }
  for (int i = 0; i < 2000 && called < 150; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(called == 150);
  for (const std::vector<Tensor>& list : tensors) {
    for (const Tensor& x : list) CHECK(static_cast<float*>(x.data())[x.numel().value() - 1] == 3.0f);
  }
}

}  // namespace
}  // namespace resilin::dist
