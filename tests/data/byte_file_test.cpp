// tests/data/byte_file_test.cpp -- files of bytes, their parts, and what is held out.
#include "resilin/data/byte_file.h"

#include <filesystem>
#include <limits>
#include <string>

#include <doctest/doctest.h>

#include "resilin/base/file.h"

#include "tests/support/temporary_folder.h"

namespace resilin::data {
namespace {

std::string text_of(const ByteFile& file) { return {file.bytes().begin(), file.bytes().end()}; }

TEST_CASE("a file and its parts show their bytes and outlive the name of the file") {
  const resilin::testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/text";
  atomic_write(path, "abcdef\xff");
  const ByteFile part = ByteFile(path).part(1, 7);
  std::filesystem::remove(path);
  CHECK(text_of(part) == "bcdef\xff");
  CHECK(part.bytes()[5] == 0xff);
  CHECK(part.size_bytes() == 6);
  CHECK(text_of(part.part(2, 3)) == "d");
  CHECK(part.path() == path);
  for (const auto& [begin, end] : {std::pair<i64, i64>{-1, 2}, {0, 7}, {3, 3}, {4, 3}, {0, std::numeric_limits<i64>::max()}}) {
    CHECK_THROWS_AS(part.part(begin, end), IndexError);
  }
}

TEST_CASE("files that are missing, folders or empty are refused") {
  const resilin::testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/text";
  CHECK_THROWS_WITH_AS(ByteFile{path}, doctest::Contains("No such file"), IoError);
  CHECK_THROWS_AS(ByteFile{folder.path()}, IoError);
  atomic_write(path, "");
  CHECK_THROWS_WITH_AS(ByteFile{path}, cat("byte_file: the file is empty: ", path, "; it must hold bytes").c_str(), IoError);
}

TEST_CASE("the end of a text is held out") {
  const resilin::testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/text";
  atomic_write(path, "0123456789");
  const ByteFile file(path);
  const Split third = split(file, 0.35);
  CHECK(text_of(third.train) == "0123456");
  CHECK(text_of(third.held_out) == "789");
  CHECK(text_of(split(file, 0.1).held_out) == "9");
  CHECK(text_of(split(file, 0.99).train) == "0");
  const double bad[] = {0.0, -0.5, 1.0, 2.0, 0.05, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()};
  for (const double fraction : bad) {
    CAPTURE(fraction);
    CHECK_THROWS_WITH_AS(split(file, fraction), doctest::Contains("split: a part is empty"), ArgumentError);
  }
}

}  // namespace
}  // namespace resilin::data
