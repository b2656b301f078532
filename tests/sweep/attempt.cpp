// tests/sweep/attempt.cpp -- a call of the engine with what came of it: outputs or a typed error.
#include "tests/sweep/attempt.h"

#include <cstdlib>
#include <memory>

#include <cxxabi.h>

#include "tests/support/array.h"

namespace resilin::sweep {

std::string class_name(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), std::free);
  const std::string text = status == 0 ? name.get() : type.name();
  return text.substr(text.rfind(':') + 1);
}

std::string Attempt::text() const { return error == nullptr ? "gave a result" : cat("threw ", class_name(*error), ": ", message); }

namespace {

// "element 7" of a message that a kernel's report became, or nothing.
std::string reported_element(const std::string& message) {
  const std::size_t at = message.find("at element ");
  return at == std::string::npos ? "" : message.substr(at, message.find_first_not_of("0123456789", at + 11) - at);
}

}  // namespace

void compare_attempts(Report& report, std::string_view check, const Attempt& a, const Attempt& b) {
  if (a.error != nullptr || b.error != nullptr) {
    const bool alike = a.error != nullptr && b.error != nullptr && *a.error == *b.error;
    if (alike && reported_element(a.message) == reported_element(b.message)) return report.passed();
    return report.failed(check, cat("one ", a.text(), "; the other ", b.text()));
  }
  if (a.outputs.size() != b.outputs.size()) return report.failed(check, cat(a.outputs.size(), " and ", b.outputs.size(), " outputs"));
  for (std::size_t o = 0; o < a.outputs.size(); ++o) {
    const std::optional<std::string> difference = test::bit_difference(a.outputs[o], b.outputs[o]);
    if (difference) return report.failed(check, cat("output ", o, ": ", *difference));
  }
  report.passed();
}

}  // namespace resilin::sweep
