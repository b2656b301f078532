// tests/docs/errors_test.cpp -- the messages that docs/errors.md shows are what its calls throw today.
#include <chrono>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <typeinfo>
#include <vector>

#include <doctest/doctest.h>

#include "resilin/base/config.h"
#include "resilin/base/file.h"
#include "resilin/dispatch/trace.h"
#include "resilin/dist/membership/coordinator_driver.h"
#include "resilin/dist/membership/member.h"
#include "resilin/dist/store/machine.h"
#include "resilin/resilin.h"

#include "tests/support/ranks.h"
#include "tests/support/tensor.h"

using namespace resilin;
using test::make;

namespace {

std::string page() {
  std::ifstream in(RESILIN_SOURCE_DIR "/docs/errors.md");
  return {std::istreambuf_iterator<char>(in), {}};
}

// From "## <name>" to the next heading; empty without that heading.
std::string section(const std::string& text, const std::string& name) {
  const std::size_t begin = text.find("\n## " + name + "\n");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find("\n## ", begin + 1) - begin);
}

// Messages stand in text blocks, two spaces to the right of their calls.
i64 message_count(const std::string& text) {
  i64 count = 0;
  bool inside = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) inside = line == "```text";
    if (inside && line.starts_with("  ")) ++count;
  }
  return count;
}

// What `body` says of one traced input of shape [s0].
void trace(const std::function<void(const Tensor&)>& body) {
  ir::Graph graph;
  const ir::ValueId input = graph.add_input({DType::F32, {graph.add_symbol()}, {}});
  Tracer tracer(graph, CompositeMode::Keep);
  const TraceScope scope(tracer);
  body(tracer.tensor(input));
}

constexpr std::chrono::milliseconds kPatience{20'000};

struct Example {
  std::string name;
  const std::type_info& type;
  std::function<void()> call;
};

/// Ranks that train a number each, from what they say, until one of them throws.
void train(const std::vector<float>& begin, const parallel::Elastic::SlotFunction& run_slot) {
  const int size = static_cast<int>(begin.size());
  std::vector<Tensor> weights;
  std::vector<std::unique_ptr<parallel::StepState>> states;
  std::vector<std::unique_ptr<parallel::Elastic>> ranks;
  dist::FakeFabric fabric;
  const std::shared_ptr<dist::Store> store = dist::make_hash_store();
  const dist::CoordinatorDriver coordinator({.first_size = begin.size()}, store, nullptr);
  std::vector<dist::ProcessGroup> groups;
  for (int i = 0; i < size; ++i) {
    weights.push_back(requires_grad_(make<float>({begin[static_cast<std::size_t>(i)]})));
    states.push_back(std::make_unique<parallel::StepState>());
    states.back()->add("weight", weights.back());
    ranks.push_back(std::make_unique<parallel::Elastic>(*states.back(), std::vector<Tensor>{weights.back()}, parallel::ElasticOptions{}));
    groups.emplace_back(dist::GroupOptions{
        .store = store, .transport = fabric.maker(i), .membership = dist::Membership::Lineage, .changes = ranks.back()->changes()});
  }
  std::vector<std::future<void>> ends;
  for (int i = 0; i < size; ++i) {
    ends.push_back(std::async(std::launch::async, [&, i] {
      parallel::Elastic& rank = *ranks[static_cast<std::size_t>(i)];
      rank.join(groups[static_cast<std::size_t>(i)]);
      rank.step(run_slot, [](const parallel::Applied&) {});
    }));
  }
  for (std::future<void>& end : ends) end.wait();
  ends[0].get();
}

std::vector<Example> group_examples() {
  return {
      {"PeerError", typeid(PeerError),
       [] {
         dist::test::Ranks ranks(2);
         ranks.reconfigure({0, 1});
         const dist::Work work = ranks[0].all_reduce(zeros({4}));
         ranks.fabric().kill(1);
         work.wait(kPatience);
       }},
      {"PeerLeftError", typeid(PeerLeftError),
       [] {
         dist::test::Ranks ranks(2);
         ranks.reconfigure({0, 1});
         const dist::Work work = ranks[0].all_reduce(zeros({4}));
         ranks[1].destroy();
         work.wait(kPatience);
       }},
      {"MismatchError", typeid(MismatchError),
       [] {
         dist::test::Ranks ranks(2);
         ranks.reconfigure({0, 1});
         const dist::Work work = ranks[0].all_reduce(zeros({4}));
         ranks[1].barrier();
         work.wait(kPatience);
       }},
      {"CancelledError", typeid(CancelledError),
       [] {
         dist::test::Ranks ranks(1);
         ranks[0].all_reduce(zeros({4}));
       }},
      {"StaleError", typeid(StaleError),
       [] {
         dist::test::Ranks ranks(1);
         ranks.reconfigure({0});
         const dist::Window window(ranks[0], 64);
         ranks.reconfigure({0});
         window.flush(0);
       }},
      {"EvictedError", typeid(EvictedError),
       [] {
         dist::test::Ranks ranks(2, 0, [](dist::GroupOptions& options) { options.membership = dist::Membership::Lineage; });
         dist::CoordinatorDriver coordinator({.first_size = 2}, ranks.store(), [](const dist::Current&, const dist::Current&) {});
         ranks[0].await_generation(0, kPatience);
         ranks[1].await_generation(0, kPatience);
         coordinator.tell({{2}, {}});
         ranks[1].await_generation(1, kPatience);
       }},
      {"StepFailedError", typeid(StepFailedError),
       [] { train({0}, [](const parallel::Slot&) -> parallel::SlotResult { throw IoError("no such file: batch 7"); }); }},
      {"DivergedError", typeid(DivergedError),
       [] {
         train({0, 1}, [](const parallel::Slot&) { return parallel::SlotResult{.samples = 1}; });
       }},
      {"WouldBlockError", typeid(WouldBlockError),
       [] {
         dist::test::Ranks ranks(1);
         ranks.reconfigure({0});
         std::promise<std::exception_ptr> thrown;
         ranks[0].barrier().then([&](const dist::Work&) {
           try {
             ranks[0].await_generation(1, kPatience);
           } catch (...) {
             thrown.set_value(std::current_exception());
           }
         });
         std::rethrow_exception(thrown.get_future().get());
       }},
  };
}

std::vector<Example> examples() {
  static const Tensor x = test::random({2, 3}, DType::F32, 1);
  return {
      {"ShapeError", typeid(ShapeError),
       [] {
         add(x, test::random({2, 4}, DType::F32, 2));
       }},
      {"ShapeError", typeid(ShapeError), [] { matmul(x, x); }},
      {"ShapeError", typeid(ShapeError),
       [] {
         reshape(x, {4, -1});
       }},
      {"DtypeError", typeid(DtypeError), [] { neg(lt(x, 0)); }},
      {"DtypeError", typeid(DtypeError), [] { matmul(x, cast(x, DType::F64)); }},
      {"DtypeError", typeid(DtypeError),
       [] {
         div_(make<i64>({1, 2}), 2);
       }},
      {"ArgumentError", typeid(ArgumentError), [] { add(Tensor(), x); }},
      {"ArgumentError", typeid(ArgumentError), [] { x.item<float>(); }},
      {"ArgumentError", typeid(ArgumentError), [] { add_(expand(make<float>({1}), {3}), 1); }},
      {"ArgumentError", typeid(ArgumentError), [] { config::set("runtime.thread", "2"); }},
      {"IndexError", typeid(IndexError), [] { sum(x, {.axes = {2}}); }},
      {"IndexError", typeid(IndexError),
       [] {
         index_select(x, 0, make<i64>({0, 5}));
       }},
      {"NumericError", typeid(NumericError),
       [] {
         floor_divide(make<i64>({1, 2, 3}), make<i64>({1, 0, 0}));
       }},
      {"NumericError", typeid(NumericError), [] { make<float>({1e20F}).item<i64>(); }},
      {"DataDependentError", typeid(DataDependentError), [] { trace([](const Tensor& s) { s.size(0).value(); }); }},
      {"DataDependentError", typeid(DataDependentError), [] { trace([](const Tensor& s) { s.data(); }); }},
      {"UnsupportedError", typeid(UnsupportedError), [] { trace([](const Tensor& s) { add(s, x); }); }},
      {"UnsupportedError", typeid(UnsupportedError), [] { parse_device("cuda"); }},
      {"MemoryError", typeid(MemoryError), [] { zeros({i64{1} << 50}); }},
      {"IoError", typeid(IoError), [] { read_file("/nowhere/a.graph"); }},
      {"TimeoutError", typeid(TimeoutError), [] { dist::make_hash_store()->get("gone", std::chrono::milliseconds(1)); }},
      {"StoreError", typeid(StoreError),
       [] {
         const std::shared_ptr<dist::Store> store = dist::make_hash_store();
         store->set("name", "text");
         store->add("name", 1);
       }},
      {"VersionError", typeid(VersionError), [] { dist::StoreMachine::restore("text"); }},
      {"ReconfigureError", typeid(ReconfigureError),
       [] {
         dist::Member member({.instance = 1, .follows = false});
         member.step(dist::member_event::Reconfigure{1, {{1, 0}}, 0});
         member.step(dist::member_event::Reconfigure{2, {{1, 0}}, 0});
       }},
      {"InternalError", typeid(InternalError), [] { RESILIN_ASSERT(1 + 1 == 3, "the sum is 2"); }},
  };
}

std::vector<Example> all_examples() {
  std::vector<Example> all = examples();
  for (Example& example : group_examples()) all.push_back(std::move(example));
  return all;
}

}  // namespace

TEST_CASE("every example of the page on errors throws the type and the message that stand there") {
  const std::string text = page();
  CHECK(message_count(text) == static_cast<i64>(all_examples().size()));
  for (const Example& example : all_examples()) {
    INFO(example.name);
    std::string message;
    try {
      example.call();
      FAIL_CHECK("nothing was thrown");
    } catch (const Error& error) {
      CHECK_MESSAGE(typeid(error) == example.type, error.what());
      message = error.what();
    }
    if (example.name == "MemoryError") message.resize(message.find(" asked"));  // what the machine has follows
    if (example.name == "InternalError") message.resize(message.find(" at "));  // the line of this file follows
    CHECK_MESSAGE(section(text, example.name).find("\n  " + message) != std::string::npos, message);
  }
}
