// tests/oracle/adapters.h -- how the calls of PyTorch's database are spelled with our functions.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "tests/oracle/call.h"

namespace resilin::oracle {

using Results = std::vector<Tensor>;

/// An op of the database, and the function that reads a call's arguments and calls ours. An option that is another op of ours is spelled as that op
/// (`dtype=` as a cast before, `alpha=` as a product); whatever the functions cannot say is NotOurs.
struct Adapter {
  std::string_view op;
  Results (*call)(const Call&);
};
std::span<const Adapter> pointwise_adapters();
std::span<const Adapter> reduce_adapters();
std::span<const Adapter> view_adapters();
std::span<const Adapter> other_adapters();

/// Null when there is none.
const Adapter* find_adapter(std::string_view op);
std::vector<std::string_view> adapted_ops();

}  // namespace resilin::oracle
