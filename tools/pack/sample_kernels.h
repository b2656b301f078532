// tools/pack/sample_kernels.h -- the kernels that the samples of all ops launch, for programs that make or measure them all.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "resilin/ir/graph.h"
#include "resilin/loop/nest.h"
#include "resilin/tensor/dtype.h"

namespace resilin::tool {

/// The graph that eager plans for one sample of an op, its inputs row-major.
struct SampleGraph {
  std::string name;  // "softmax #1 bf16"
  ir::Graph graph;
};
/// One graph for each op, sample and dtype that the op takes.
std::vector<SampleGraph> sample_graphs(std::span<const DType> dtypes);

struct SampleKernel {
  std::string name;
  std::shared_ptr<const loop::Nest> nest;
  std::string text;
};
/// The kernels of these graphs in every size class that a call can have; each text once.
std::vector<SampleKernel> sample_kernels(std::span<const SampleGraph> graphs);

}  // namespace resilin::tool
