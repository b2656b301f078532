// tests/codegen/gemm_test.cpp -- matrix products against a plain triple loop: sizes, layouts, dtypes, rounding, threads, memory outside C.
#include "resilin/codegen/gemm/gemm.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/config.h"
#include "resilin/base/thread_pool.h"
#include "resilin/codegen/gemm/block_kernel.h"

namespace resilin {
namespace {

/// A matrix of any strides inside a buffer of its own.
template <class T>
struct Matrix {
  std::vector<T> data;
  i64 rows = 0, cols = 0, row_stride = 0, col_stride = 0;
  T& at(i64 i, i64 j) { return data[static_cast<std::size_t>(i * row_stride + j * col_stride)]; }
  const T& at(i64 i, i64 j) const { return data[static_cast<std::size_t>(i * row_stride + j * col_stride)]; }
};

enum class Layout { Rows, Columns, WideRows, Scattered };
constexpr Layout kLayouts[] = {Layout::Rows, Layout::Columns, Layout::WideRows, Layout::Scattered};

std::mt19937& random_bits() {
  static std::mt19937 engine(7);
  return engine;
}

template <class T>
T random_item() {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>((static_cast<std::uint64_t>(random_bits()()) << 32) | random_bits()());
  } else {
    return static_cast<T>(std::uniform_real_distribution<float>(-1, 1)(random_bits()));
  }
}

template <class T>
Matrix<T> make(i64 rows, i64 cols, Layout layout) {
  Matrix<T> m;
  m.rows = rows;
  m.cols = cols;
  const bool by_columns = layout == Layout::Columns;
  const i64 inner = layout == Layout::Scattered ? 3 : 1;
  const i64 gap = layout == Layout::WideRows ? 5 : 0;
  m.col_stride = by_columns ? rows : inner;
  m.row_stride = by_columns ? 1 : cols * inner + gap;
  m.data.resize(static_cast<std::size_t>(std::max<i64>(1, rows * (cols * inner + gap))));
  for (T& item : m.data) item = random_item<T>();
  return m;
}

template <class T>
GemmArguments arguments(const Matrix<T>& a, const Matrix<T>& b, Matrix<T>& c) {
  GemmArguments g;
  g.dtype = kDTypeOf<T>;
  g.m = a.rows;
  g.n = b.cols;
  g.k = a.cols;
  g.a = a.data.data();
  g.a_row_stride = a.row_stride;
  g.a_col_stride = a.col_stride;
  g.b = b.data.data();
  g.b_row_stride = b.row_stride;
  g.b_col_stride = b.col_stride;
  g.c = c.data.data();
  g.c_row_stride = c.row_stride;
  g.c_col_stride = c.col_stride;
  return g;
}

template <class T>
double unit_roundoff() {
  if constexpr (std::is_same_v<T, BF16>) return std::ldexp(1.0, -8);
  if constexpr (std::is_same_v<T, F16>) return std::ldexp(1.0, -11);
  if constexpr (std::is_same_v<T, float>) return std::ldexp(1.0, -24);
  return std::ldexp(1.0, -53);
}

/// The plain loop; what differs from it by more than the rounding of its own sums is reported as a count.
template <class T>
i64 count_wrong(const Matrix<T>& a, const Matrix<T>& b, const Matrix<T>& before, const Matrix<T>& c, GemmUpdate update) {
  i64 wrong = 0;
  for (i64 i = 0; i < c.rows; ++i) {
    for (i64 j = 0; j < c.cols; ++j) {
      const bool from_c = update != GemmUpdate::Assign;
      if constexpr (std::is_integral_v<T>) {
        std::uint64_t sum = from_c ? static_cast<std::uint64_t>(before.at(i, j)) : 0;
        for (i64 p = 0; p < a.cols; ++p) {
          const std::uint64_t product = static_cast<std::uint64_t>(a.at(i, p)) * static_cast<std::uint64_t>(b.at(p, j));
          sum = update == GemmUpdate::Subtract ? sum - product : sum + product;
        }
        if (static_cast<T>(sum) != c.at(i, j)) ++wrong;
      } else {
        double sum = from_c ? static_cast<double>(before.at(i, j)) : 0.0;
        double size = std::fabs(sum);
        for (i64 p = 0; p < a.cols; ++p) {
          const double product = static_cast<double>(a.at(i, p)) * static_cast<double>(b.at(p, j));
          sum = update == GemmUpdate::Subtract ? sum - product : sum + product;
          size += std::fabs(product);
        }
        const double step = std::is_same_v<T, double> ? std::ldexp(1.0, -53) : std::ldexp(1.0, -24);
        const double bound =
            size * step * static_cast<double>(a.cols + 2) + std::fabs(sum) * unit_roundoff<T>() * 1.01 + std::ldexp(1.0, -24);
        if (!(std::fabs(static_cast<double>(c.at(i, j)) - sum) <= bound)) ++wrong;
      }
    }
  }
  return wrong;
}

struct Size {
  i64 m, n, k;
};

std::string describe(const GemmArguments& g) {
  return cat(g.dtype, " m ", g.m, " n ", g.n, " k ", g.k, " a ", g.a_row_stride, ":", g.a_col_stride, " b ", g.b_row_stride, ":",
             g.b_col_stride, " c ", g.c_row_stride, ":", g.c_col_stride, " update ", static_cast<int>(g.update));
}

template <class T>
void check_product(const Size& size, Layout la, Layout lb, Layout lc, GemmUpdate update) {
  const Matrix<T> a = make<T>(size.m, size.k, la);
  const Matrix<T> b = make<T>(size.k, size.n, lb);
  Matrix<T> c = make<T>(size.m, size.n, lc);
  const Matrix<T> before = c;
  GemmArguments g = arguments(a, b, c);
  g.update = update;
  gemm(g);
  const std::string what = describe(g);
  INFO(what);
  REQUIRE(count_wrong(a, b, before, c, update) == 0);
}

const Size kSizes[] = {{1, 1, 1},     {2, 3, 4},      {5, 15, 7},    {6, 16, 8},    {7, 17, 9},   {13, 31, 64}, {14, 32, 33},
                       {15, 33, 65},  {1, 67, 129},   {67, 1, 129},  {3, 100, 130}, {100, 4, 70}, {5, 64, 257}, {97, 101, 103},
                       {64, 48, 300}, {131, 37, 521}, {31, 541, 40}, {230, 70, 61}, {1, 1, 1000}, {300, 5, 3}};

template <class T>
void check_sizes_and_layouts() {
  int turn = 0;
  for (const Size& size : kSizes) {
    for (const Layout la : kLayouts) {
      for (const Layout lb : kLayouts) {
        const Layout lc = kLayouts[turn % 4];
        const GemmUpdate update = static_cast<GemmUpdate>(turn % 3);
        check_product<T>(size, la, lb, lc, update);
        ++turn;
      }
    }
  }
}

/// C that ends right before a page that cannot be touched, and begins right behind one.
template <class T>
struct GuardedMatrix {
  explicit GuardedMatrix(i64 count, bool at_end) {
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
    inside_ = (bytes + page - 1) / page * page;
    base_ = static_cast<char*>(mmap(nullptr, inside_ + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(base_ != MAP_FAILED);
    REQUIRE(mprotect(base_ + page, inside_, PROT_READ | PROT_WRITE) == 0);
    data = reinterpret_cast<T*>(at_end ? base_ + page + inside_ - bytes : base_ + page);
    whole_ = inside_ + 2 * page;
  }
  ~GuardedMatrix() { munmap(base_, whole_); }
  GuardedMatrix(const GuardedMatrix&) = delete;
  GuardedMatrix& operator=(const GuardedMatrix&) = delete;
  T* data = nullptr;

 private:
  char* base_ = nullptr;
  std::size_t inside_ = 0, whole_ = 0;
};

/// A, B and C between guard pages, in both orders of A and B; a touch outside is a fault.
template <class T>
void check_guarded(const Size& size, bool at_end, bool a_by_columns, bool b_by_columns) {
  GuardedMatrix<T> a(size.m * size.k, at_end);
  GuardedMatrix<T> b(size.k * size.n, at_end);
  GuardedMatrix<T> c(size.m * size.n, at_end);
  std::fill(a.data, a.data + size.m * size.k, static_cast<T>(1.0f));
  std::fill(b.data, b.data + size.k * size.n, static_cast<T>(1.0f));
  GemmArguments g;
  g.dtype = kDTypeOf<T>;
  g.m = size.m;
  g.n = size.n;
  g.k = size.k;
  g.a = a.data;
  g.a_row_stride = a_by_columns ? 1 : size.k;
  g.a_col_stride = a_by_columns ? size.m : 1;
  g.b = b.data;
  g.b_row_stride = b_by_columns ? 1 : size.n;
  g.b_col_stride = b_by_columns ? size.k : 1;
  g.c = c.data;
  g.c_row_stride = size.n;
  g.c_col_stride = 1;
  gemm(g);
  const T expected = static_cast<T>(static_cast<float>(size.k));
  const bool all_equal =
      std::all_of(c.data, c.data + size.m * size.n, [&](const T& item) { return std::memcmp(&item, &expected, sizeof(T)) == 0; });
  const std::string what = describe(g);
  INFO(what);
  CHECK(all_equal);
}

template <class T>
std::vector<T> product_with(int threads, const Size& size, Layout lb) {
  random_bits().seed(11);
  const Matrix<T> a = make<T>(size.m, size.k, Layout::Rows);
  const Matrix<T> b = make<T>(size.k, size.n, lb);
  Matrix<T> c = make<T>(size.m, size.n, Layout::Rows);
  set_thread_count(threads);
  gemm(arguments(a, b, c));
  set_thread_count(0);
  return c.data;
}

template <class T>
bool same_bits(const std::vector<T>& x, const std::vector<T>& y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0;
}

template <class T>
void check_threads() {
  for (const Size& size :
       {Size{1, 3000, 700}, Size{3000, 2, 300}, Size{190, 170, 600}, Size{40, 1500, 300}, Size{1000, 30, 40}, Size{5, 70, 5000}}) {
    for (const Layout lb : {Layout::Rows, Layout::Columns}) {
      const std::vector<T> one = product_with<T>(1, size, lb);
      CHECK(same_bits(one, product_with<T>(2, size, lb)));
      CHECK(same_bits(one, product_with<T>(3, size, lb)));
    }
  }
}

std::string runner(const GemmArguments& g) {
  const std::string text = explain_gemm(g);
  const std::size_t end = text.rfind(": runs");
  const std::size_t line = text.rfind('\n', end);
  return text.substr(line == std::string::npos ? 0 : line + 1, end - (line == std::string::npos ? 0 : line + 1));
}

}  // namespace

TEST_CASE_TEMPLATE("gemm agrees with the plain loop for odd sizes, all layouts and all updates", T, float, double, BF16, F16, i64,
                   std::int32_t, std::uint8_t) {
  check_sizes_and_layouts<T>();
}

TEST_CASE("gemm on the AVX2 target agrees with the plain loop on any machine") {
  const config::ScopedConfig avx2("codegen.target", "avx2");
  check_sizes_and_layouts<float>();
  check_sizes_and_layouts<BF16>();
}

TEST_CASE("sums are in ascending k: f32 products equal a chain of fused multiply-adds bit for bit, across blocks of k and from C on") {
  for (const Size& size :
       {Size{9, 33, 1000}, Size{64, 64, 64}, Size{3, 40, 777}, Size{70, 90, 2100}, Size{12, 20, 5000}, Size{5, 520, 4200}}) {
    for (const GemmUpdate update : {GemmUpdate::Assign, GemmUpdate::Add, GemmUpdate::Subtract}) {
      for (const Layout lc : {Layout::Rows, Layout::Scattered}) {
        const Matrix<float> a = make<float>(size.m, size.k, Layout::WideRows);
        const Matrix<float> b = make<float>(size.k, size.n, Layout::Rows);
        Matrix<float> c = make<float>(size.m, size.n, lc);
        const Matrix<float> before = c;
        GemmArguments g = arguments(a, b, c);
        g.update = update;
        gemm(g);
        i64 different = 0;
        for (i64 i = 0; i < size.m; ++i) {
          for (i64 j = 0; j < size.n; ++j) {
            float sum = update == GemmUpdate::Assign ? 0.0f : before.at(i, j);
            for (i64 p = 0; p < size.k; ++p) sum = std::fma(update == GemmUpdate::Subtract ? -a.at(i, p) : a.at(i, p), b.at(p, j), sum);
            if (std::memcmp(&sum, &c.at(i, j), 4) != 0) ++different;
          }
        }
        const std::string what = describe(g);
        INFO(what);
        CHECK(different == 0);
      }
    }
  }
}

TEST_CASE_TEMPLATE("gemm gives the same bits for 1, 2 and 3 threads", T, float, double, BF16, F16, i64) { check_threads<T>(); }

TEST_CASE("gemm touches nothing outside its matrices") {
  for (const Size& size : {Size{1, 1, 1}, Size{7, 17, 9}, Size{6, 16, 32}, Size{5, 3, 300}, Size{33, 70, 41}, Size{3, 101, 67},
                           Size{101, 2, 67}, Size{97, 113, 271}}) {
    for (int way = 0; way < 8; ++way) {
      check_guarded<float>(size, (way & 1) != 0, (way & 2) != 0, (way & 4) != 0);
      check_guarded<double>(size, (way & 1) != 0, (way & 2) != 0, (way & 4) != 0);
      check_guarded<F16>(size, (way & 1) != 0, (way & 2) != 0, (way & 4) != 0);
      check_guarded<i64>(size, (way & 1) != 0, (way & 2) != 0, (way & 4) != 0);
      if (size.k <= 256) check_guarded<BF16>(size, (way & 1) != 0, (way & 2) != 0, (way & 4) != 0);
    }
  }
}

TEST_CASE("gemm leaves the gaps between the rows of C alone") {
  const Matrix<float> a = make<float>(50, 60, Layout::Rows);
  const Matrix<float> b = make<float>(60, 70, Layout::Rows);
  Matrix<float> c = make<float>(50, 70, Layout::WideRows);
  const Matrix<float> before = c;
  gemm(arguments(a, b, c));
  for (i64 i = 0; i < 50; ++i) {
    for (i64 gap = 0; gap < 5; ++gap) CHECK(c.at(i, 70 + gap) == before.at(i, 70 + gap));
  }
}

TEST_CASE("an empty sum is zero, or C when C is added to, and empty matrices touch nothing") {
  float c[6] = {1, 2, 3, 4, 5, 6};
  GemmArguments g;
  g.m = 2;
  g.n = 3;
  g.k = 0;
  g.c = c;
  g.c_row_stride = 3;
  g.c_col_stride = 1;
  g.update = GemmUpdate::Add;
  gemm(g);
  CHECK(c[5] == 6);
  g.update = GemmUpdate::Assign;
  gemm(g);
  CHECK(std::all_of(c, c + 6, [](float x) { return x == 0; }));
  g.c = nullptr;
  for (i64* size : {&g.m, &g.n, &g.batch}) {
    const i64 kept = *size;
    *size = 0;
    g.k = 4;
    CHECK_NOTHROW(gemm(g));
    *size = kept;
  }
}

TEST_CASE("bf16 sums round once, to nearest even") {
  // 1 + 2^-8 is halfway between 1 and 1 + 2^-7 and goes to the even 1; 1 + 3 * 2^-8 goes up to 1 + 2^-6; a sticky bit far below breaks the
  // tie upwards.
  const float tie = std::ldexp(1.0f, -8);
  for (const i64 copies : {i64{1}, i64{3}, i64{40}, i64{130}}) {  // one, few and many columns take different paths
    for (const i64 rows : {i64{1}, i64{3}, i64{20}, i64{100}}) {
      Matrix<BF16> a = make<BF16>(rows, 20, Layout::Rows);
      Matrix<BF16> b = make<BF16>(20, copies, Layout::Rows);
      std::fill(a.data.begin(), a.data.end(), BF16(0.0f));
      std::fill(b.data.begin(), b.data.end(), BF16(1.0f));
      Matrix<BF16> c = make<BF16>(rows, copies, Layout::Rows);
      const auto product = [&](float x, float y, float z) {
        for (i64 i = 0; i < rows; ++i) {
          a.at(i, 0) = BF16(x);
          a.at(i, 7) = BF16(y);
          a.at(i, 19) = BF16(z);
        }
        gemm(arguments(a, b, c));
        for (const BF16& item : c.data) REQUIRE(item.bits == c.data[0].bits);
        return static_cast<float>(c.data[0]);
      };
      CHECK(product(1.0f, tie, 0.0f) == 1.0f);
      CHECK(product(1.0f, 3 * tie, 0.0f) == 1.0f + 4 * tie);
      CHECK(product(1.0f, tie, std::ldexp(1.0f, -20)) == 1.0f + 2 * tie);
      CHECK(product(-1.0f, -tie, -std::ldexp(1.0f, -20)) == -1.0f - 2 * tie);
      CHECK(product(std::ldexp(1.9921875f, 127), std::ldexp(1.0f, 119), 0.0f) == INFINITY);
      CHECK(std::isnan(product(INFINITY, -INFINITY, 0.0f)));
    }
  }
}

TEST_CASE("batches follow their strides, also where one matrix serves all of them") {
  for (const i64 shared : {i64{0}, i64{1}}) {
    for (const Size& size : {Size{1, 20, 30}, Size{4, 5, 6}, Size{40, 30, 50}}) {
      const i64 batch = 7;
      Matrix<float> a = make<float>(batch * size.m, size.k, Layout::Rows);
      Matrix<float> b = make<float>(batch * size.k, size.n, Layout::Rows);
      Matrix<float> c = make<float>(batch * size.m, size.n, Layout::Rows);
      GemmArguments g = arguments(a, b, c);
      g.m = size.m;
      g.batch = batch;
      g.a_batch_stride = size.m * size.k;
      g.b_batch_stride = shared * size.k * size.n;
      g.c_batch_stride = size.m * size.n;
      gemm(g);
      i64 wrong = 0;
      for (i64 i = 0; i < batch * size.m; ++i) {
        for (i64 j = 0; j < size.n; ++j) {
          double sum = 0;
          for (i64 p = 0; p < size.k; ++p) sum += static_cast<double>(a.at(i, p)) * b.at(shared * (i / size.m) * size.k + p, j);
          if (std::fabs(sum - c.at(i, j)) > 1e-4) ++wrong;
        }
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("the selector names why a candidate refuses and which one runs") {
  const config::ScopedConfig avx2("codegen.target", "avx2");
  const Matrix<float> a = make<float>(300, 300, Layout::Rows);
  Matrix<float> c = make<float>(300, 300, Layout::Rows);
  const std::string text = explain_gemm(arguments(a, a, c));
  CHECK(text.find("amx bf16: needs bf16") != std::string::npos);
  CHECK(text.find("direct avx512: needs avx512f") != std::string::npos);
  CHECK(runner(arguments(a, a, c)) == "blocked avx2");
  Matrix<float> small = make<float>(20, 20, Layout::Rows);
  CHECK(runner(arguments(small, small, small)) == "direct avx2");
  const Matrix<float> row = make<float>(1, 300, Layout::Rows);
  const Matrix<float> weights = make<float>(300, 300, Layout::Columns);
  CHECK(runner(arguments(row, a, c)) == "stream");
  CHECK(runner(arguments(row, weights, c)) == "dot");
  Matrix<i64> whole = make<i64>(9, 9, Layout::Rows);
  CHECK(runner(arguments(whole, whole, whole)) == "integer");
}

TEST_CASE("gemm refuses dtypes without a product and negative sizes") {
  GemmArguments g;
  g.dtype = DType::Bool;
  CHECK_THROWS_AS(gemm(g), DtypeError);
  g.dtype = DType::F32;
  g.m = -1;
  CHECK_THROWS_AS(gemm(g), ArgumentError);
}

TEST_CASE("packing for tiles lays pairs of k beside each other and pads with zeros") {
  const i64 rows = 37;
  const i64 k = 45;
  for (const Layout layout : kLayouts) {
    const Matrix<BF16> m = make<BF16>(rows, k, layout);
    std::vector<std::uint16_t> a(64 * 64, 0xffff);
    std::vector<std::uint16_t> b(64 * 64, 0xffff);
    const gemm_kernels::PackSource source{DType::BF16, m.data.data(), m.row_stride, m.col_stride, rows, k, false};
    gemm_kernels::pack_amx_a(source, a.data());
    gemm_kernels::pack_amx_b(source, b.data());
    i64 wrong = 0;
    for (i64 i = 0; i < 64; ++i) {
      for (i64 p = 0; p < 64; ++p) {
        const std::uint16_t expected = i < rows && p < k ? m.at(i, p).bits : 0;
        const std::size_t at_a = static_cast<std::size_t>((i / 32) * 32 * 64 + (p / 32) * 32 * 32 + (i % 32) * 32 + p % 32);
        const std::size_t at_b = static_cast<std::size_t>((i / 32) * 32 * 64 + (p / 2) * 64 + (i % 32) * 2 + p % 2);
        if (a[at_a] != expected || b[at_b] != expected) ++wrong;
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("AMX products agree with the plain loop") {
  const CpuFeatures& cpu = cpu_features();
  if (!cpu.amx_tile || !cpu.amx_bf16 || target_isa() != Isa::Avx512 || !gemm_kernels::amx_permitted()) {
    MESSAGE("skipped: needs amx_tile, amx_bf16 and avx512");
    return;
  }
  for (const Size& size : {Size{32, 32, 32}, Size{33, 65, 129}, Size{257, 600, 1100}, Size{64, 512, 1024}}) {
    for (const Layout la : kLayouts) check_product<BF16>(size, la, Layout::Rows, Layout::Rows, GemmUpdate::Subtract);
  }
}

}  // namespace resilin
