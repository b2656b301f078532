// tests/tensor/device_test.cpp -- names of devices.
#include "resilin/tensor/device.h"

#include <doctest/doctest.h>

namespace resilin {
namespace {

TEST_CASE("the CPU is the only device") {
  CHECK(name(kCpu) == "cpu");
  CHECK(parse_device("cpu") == kCpu);
  CHECK(parse_device("cpu:0") == kCpu);
  CHECK_THROWS_WITH_AS(parse_device("cuda:0"), "parse_device: no such device here: \"cuda:0\"; it must be \"cpu\"", UnsupportedError);
}

}  // namespace
}  // namespace resilin
