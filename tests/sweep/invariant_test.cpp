// tests/sweep/invariant_test.cpp -- a fresh process that reads eager's graphs plans them to eager's kernels, text for text.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>

#include <doctest/doctest.h>

#include "tests/support/child.h"
#include "tests/support/temporary_folder.h"
#include "tests/sweep/planned.h"
#include "tests/sweep/sample_call.h"

using namespace resilin;

namespace {

constexpr char kReplyBegin[] = "sweep-reply-begin\n";
constexpr unsigned kChildLimit_s = 120;

// Texts are framed by their lengths: "<length>\n<text>".
void append_framed(std::string& out, std::string_view text) { out += cat(text.size(), "\n", text); }

std::string read_framed(std::string_view& rest) {
  const std::size_t line = rest.find('\n');
  REQUIRE(line != std::string_view::npos);
  const std::size_t length = std::stoul(std::string(rest.substr(0, line)));
  REQUIRE(rest.size() - line - 1 >= length);
  const std::string text(rest.substr(line + 1, length));
  rest.remove_prefix(line + 1 + length);
  return text;
}

struct Asked {
  std::string what;
  EagerRecord record;
};

std::vector<Asked> typical_records() {
  std::vector<Asked> asked;
  for (const ir::OpDef* op : sweep::all_ops()) {
    for (const sweep::Case& c : sweep::cases_of(*op, sweep::Extent::Typical, 1)) {
      const std::optional<sweep::Call> call = sweep::make_call(c);
      if (!call) continue;
      try {
        asked.push_back({sweep::describe(c), eager_record(*op, call->arguments(), call->attrs.ref())});
      } catch (const DtypeError&) {  // the sample's number leaves the op's dtypes
      }
    }
  }
  return asked;
}

std::string plan_in_fresh_process(const std::string& request) {
  const testing::TemporaryFolder folder;
  const std::string request_file = folder.path() + "/request";
  const std::string reply_file = folder.path() + "/reply";
  std::ofstream(request_file, std::ios::binary) << request;
  const int status = testing::run_in_child(
      [&] {
        const int in = open(request_file.c_str(), O_RDONLY);
        const int out = open(reply_file.c_str(), O_WRONLY | O_CREAT, 0600);
        if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0) return 97;
        execl("/proc/self/exe", "sweep", "--test-case=plans the graphs of its standard input", "--no-skip", nullptr);
        return 96;
      },
      kChildLimit_s);
  REQUIRE(status == 0);
  std::ifstream reply(reply_file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(reply), {}};
  const std::size_t begin = text.find(kReplyBegin);
  REQUIRE(begin != std::string::npos);
  return text.substr(begin + sizeof kReplyBegin - 1);
}

}  // namespace

TEST_CASE("plans the graphs of its standard input" * doctest::skip()) {
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  std::string_view rest = text;
  std::string reply = kReplyBegin;
  while (!rest.empty()) {
    const std::string flags = read_framed(rest);
    const Plan plan = sweep::plan_text(read_framed(rest), {.long_rows = flags[0] == '1', .streaming = flags[1] == '1'});
    const std::vector<std::string> kernels = sweep::kernel_texts(plan);
    append_framed(reply, cat(kernels.size()));
    for (const std::string& kernel : kernels) append_framed(reply, kernel);
  }
  std::cout << reply << std::flush;
}

TEST_CASE("a fresh process plans the printed graph of every op's call to the kernels that eager launched") {
  std::vector<Asked> asked = typical_records();
  REQUIRE(!asked.empty());
  std::reverse(asked.begin(), asked.end());  // so that the process meets sizes and expressions in another order
  std::string request;
  for (const Asked& one : asked) {
    append_framed(request, cat(static_cast<int>(one.record.size_class.long_rows), static_cast<int>(one.record.size_class.streaming)));
    append_framed(request, ir::print(one.record.graph));
  }
  const std::string reply = plan_in_fresh_process(request);
  std::string_view rest = reply;
  for (const Asked& one : asked) {
    std::vector<std::string> kernels(std::stoul(read_framed(rest)));
    for (std::string& kernel : kernels) kernel = read_framed(rest);
    CHECK_MESSAGE(kernels == one.record.kernel_texts, one.what, "\n", ir::print(one.record.graph));
  }
}
