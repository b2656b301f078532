// tests/ops/products_test.cpp -- einsum against a loop over all its indices, and the products of fixed numbers of axes.
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "resilin/resilin.h"

#include "tests/support/tensor.h"

using namespace resilin;
using test::make;

namespace {

// An equation without spaces and with "->", whose letters are all the axes there are.
struct Case {
  std::string equation;
  std::vector<std::vector<i64>> shapes;
};

Tensor small_integers(const std::vector<i64>& shape, int seed) {
  i64 count = 1;
  for (const i64 size : shape) count *= size;
  std::vector<double> values;
  for (i64 i = 0; i < count; ++i) values.push_back(static_cast<double>((i * 7 + seed * 5) % 11 - 5));
  const Shape dims(shape.begin(), shape.end());
  return Tensor::of<double>(values, dims);
}

std::vector<std::string> terms_of(const std::string& equation) {
  std::vector<std::string> terms(1);
  for (std::size_t i = 0; i < equation.size() && equation[i] != '-'; ++i) {
    if (equation[i] == ',') {
      terms.emplace_back();
    } else {
      terms.back() += equation[i];
    }
  }
  return terms;
}

// Adds the product at every index of all letters to its place in the result.
std::vector<double> by_loops(const Case& c, const std::vector<std::vector<double>>& values) {
  const std::vector<std::string> terms = terms_of(c.equation);
  const std::string output = c.equation.substr(c.equation.find("->") + 2);
  std::map<char, i64> size;
  for (std::size_t t = 0; t < terms.size(); ++t) {
    for (std::size_t a = 0; a < terms[t].size(); ++a) size[terms[t][a]] = std::max(size[terms[t][a]], c.shapes[t][a]);
  }
  i64 total = 1;
  for (const std::pair<const char, i64>& one : size) total *= one.second;
  i64 places = 1;
  for (const char letter : output) places *= size[letter];
  std::vector<double> out(static_cast<std::size_t>(places), 0.0);
  for (i64 n = 0; n < total; ++n) {
    std::map<char, i64> index;
    i64 rest = n;
    for (const std::pair<const char, i64>& one : size) {
      index[one.first] = rest % one.second;
      rest /= one.second;
    }
    double product = 1;
    for (std::size_t t = 0; t < terms.size(); ++t) {
      i64 at = 0;
      for (std::size_t a = 0; a < terms[t].size(); ++a) at = at * c.shapes[t][a] + (c.shapes[t][a] == 1 ? 0 : index[terms[t][a]]);
      product *= values[t][static_cast<std::size_t>(at)];
    }
    i64 place = 0;
    for (const char letter : output) place = place * size[letter] + index[letter];
    out[static_cast<std::size_t>(place)] += product;
  }
  return out;
}

Tensor run(const std::string& equation, const std::vector<std::vector<i64>>& shapes) {
  std::vector<Tensor> operands;
  for (std::size_t i = 0; i < shapes.size(); ++i) operands.push_back(small_integers(shapes[i], static_cast<int>(i)));
  return einsum(equation, operands);
}

}  // namespace

TEST_CASE("einsum sums the products of all indices") {
  const Case cases[] = {
      {"ij,jk->ik", {{2, 3}, {3, 4}}},
      {"ij,kj->ki", {{2, 3}, {4, 3}}},
      {"bij,bjk->bik", {{2, 3, 4}, {2, 4, 5}}},
      {"bij,bkj->kib", {{2, 3, 4}, {2, 5, 4}}},
      {"ij,ij->ij", {{2, 3}, {2, 3}}},
      {"ij,ij->", {{2, 3}, {2, 3}}},
      {"i,j->ij", {{3}, {4}}},
      {"i,j->ji", {{3}, {4}}},
      {"i,i->", {{3}, {3}}},
      {"ij->ji", {{2, 3}}},
      {"ij->j", {{2, 3}}},
      {"ij->", {{2, 3}}},
      {"ii->i", {{3, 3}}},
      {"ii->", {{3, 3}}},
      {"iij->ji", {{3, 3, 2}}},
      {"iji,j->i", {{3, 2, 3}, {2}}},
      {"abcd,cdef->abef", {{2, 3, 2, 2}, {2, 2, 3, 2}}},
      {"abc,bd->acd", {{2, 3, 4}, {3, 2}}},
      {"ab,bc,cd->ad", {{2, 3}, {3, 4}, {4, 2}}},
      {"ab,ac,ad->bcd", {{2, 3}, {2, 4}, {2, 2}}},
      {"ab,cd->ac", {{2, 3}, {4, 5}}},
      {"ij,jk->ik", {{2, 1}, {3, 4}}},
      {"bij,bjk->bik", {{1, 3, 4}, {2, 4, 5}}},
      {"bi,bi->b", {{1, 3}, {2, 3}}},
      {"ij,jk->ik", {{2, 0}, {0, 4}}},
      {"i,->i", {{3}, {}}},
  };
  for (const Case& c : cases) {
    INFO(c.equation);
    std::vector<std::vector<double>> values;
    for (std::size_t i = 0; i < c.shapes.size(); ++i) values.push_back(test::values_of(small_integers(c.shapes[i], static_cast<int>(i))));
    CHECK(test::values_of(run(c.equation, c.shapes)) == by_loops(c, values));
  }
}

TEST_CASE("an equation without a result, with spaces or with an ellipsis means what it means written out") {
  const auto same = [](const std::string& a, const std::string& b, const std::vector<std::vector<i64>>& shapes) {
    INFO(a);
    const Tensor left = run(a, shapes);
    const Tensor right = run(b, shapes);
    CHECK(left.shape() == right.shape());
    CHECK(test::values_of(left) == test::values_of(right));
  };
  same("ij,jk", "ij,jk->ik", {{2, 3}, {3, 4}});
  same("ba", "ba->ab", {{2, 3}});
  same("aB", "aB->Ba", {{2, 3}});
  same("ii", "ii->", {{3, 3}});
  same(" i j , j k -> i k ", "ij,jk->ik", {{2, 3}, {3, 4}});
  same("...ij,...jk->...ik", "abij,abjk->abik", {{2, 3, 2, 4}, {2, 3, 4, 5}});
  same("...ij,jk", "abij,jk->abik", {{2, 3, 2, 4}, {4, 5}});
  same("i...->...", "iab->ab", {{2, 3, 4}});
  same("...i->", "abi->", {{2, 3, 4}});
  same("...i,...i->...", "abi,bi->ab", {{2, 3, 4}, {3, 4}});
}

TEST_CASE("einsum keeps integers and has the gradients of what it is made of") {
  const Tensor wrapped = einsum("ij,j->i", {make<std::int32_t>({1 << 30, 1 << 30, 1, 2}, {2, 2}), make<std::int32_t>({2, 2})});
  CHECK(wrapped.dtype() == DType::I32);
  CHECK(test::values_of(wrapped) == std::vector<double>{0, 6});
  CHECK(einsum("ij->i", {make<std::int32_t>({1, 2, 3, 4}, {2, 2})}).dtype() == DType::I32);

  const Tensor inputs[] = {requires_grad_(test::random({2, 3, 2}, DType::F64, 1)), requires_grad_(test::random({2, 2, 2}, DType::F64, 2))};
  CHECK_NOTHROW(gradcheck([](std::span<const Tensor> x) { return std::vector<Tensor>{einsum("bij,bjk->ki", x)}; }, inputs));
}

TEST_CASE("products of fixed numbers of axes are matmul's") {
  const Tensor a = make<float>({1, 2, 3, 4}, {2, 2});
  const Tensor v = make<float>({5, 7});
  CHECK(test::values_of(mm(a, a)) == std::vector<double>{7, 10, 15, 22});
  CHECK(test::values_of(bmm(reshape(a, {1, 2, 2}), reshape(a, {1, 2, 2}))) == std::vector<double>{7, 10, 15, 22});
  CHECK(test::values_of(mv(a, v)) == std::vector<double>{19, 43});
  CHECK(dot(v, v).ndim() == 0);
  CHECK(dot(v, v).item<float>() == 74);
  CHECK(test::values_of(outer(v, make<float>({1, 2, 3}))) == std::vector<double>{5, 10, 15, 7, 14, 21});
}
