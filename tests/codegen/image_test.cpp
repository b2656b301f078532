// tests/codegen/image_test.cpp -- objects that cannot be linked, and images that are not what they should be.
#include <cstring>
#include <fstream>
#include <random>

#include <elf.h>

#include <doctest/doctest.h>

#include "resilin/codegen/llvm/plugin.h"

#include "tests/codegen/program_kit.h"

namespace resilin {
namespace {

using namespace kit;

/// out[i] = in[i] + 1.5 for 8 lanes.
loop::Program small_program() {
  Phase p;
  const int input = p.pointer(0);
  const int output = p.pointer(1);
  const int loop = p.loop(p.begin(), p.end(), 8);
  p.store(DType::F32, 8, output, loop, p.op(Operation::Add, DType::F32, 8, p.load(DType::F32, 8, input, loop), p.number(1.5f, 8)));
  p.end_loop(loop);
  return p.program();
}

std::string small_image() { return make_image(test_key("a nest"), generate(small_program(), 0, describe_target(Isa::Avx2), "small")); }

/// The object that the plug-in makes for small_program is not at hand here, so one is built: code that calls or reads `symbol`.
std::vector<std::byte> object_with(std::uint32_t relocation, bool defined, std::uint64_t data_flags = SHF_ALLOC) {
  const char names[] = "\0phase0\0thing\0.text\0.rodata\0.rela.text\0.symtab\0.strtab";
  const std::uint8_t code[16] = {0xe8, 0, 0, 0, 0, 0x31, 0xc0, 0xc3};
  const std::uint8_t data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  const Elf64_Rela rela = {1, ELF64_R_INFO(2, relocation), -4};
  Elf64_Sym symbols[3] = {};
  symbols[1] = {1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, 0, sizeof code};
  symbols[2] = {8, ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE), 0, static_cast<std::uint16_t>(defined ? 2 : SHN_UNDEF), 4, 0};
  std::vector<std::byte> bytes(sizeof(Elf64_Ehdr));
  const auto append = [&](const void* content, std::size_t size) {
    const std::size_t at = bytes.size();
    bytes.resize(at + size);
    std::memcpy(bytes.data() + at, content, size);
    return at;
  };
  Elf64_Shdr sections[6] = {};
  sections[1] = {14, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0, append(code, sizeof code), sizeof code, 0, 0, 16, 0};
  sections[2] = {20, SHT_PROGBITS, data_flags, 0, append(data, sizeof data), sizeof data, 0, 0, 4, 0};
  sections[3] = {28, SHT_RELA, 0, 0, append(&rela, sizeof rela), sizeof rela, 4, 1, 8, sizeof rela};
  sections[4] = {39, SHT_SYMTAB, 0, 0, append(symbols, sizeof symbols), sizeof symbols, 5, 1, 8, sizeof(Elf64_Sym)};
  sections[5] = {47, SHT_STRTAB, 0, 0, append(names, sizeof names), sizeof names, 0, 0, 1, 0};
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_type = ET_REL;
  header.e_machine = EM_X86_64;
  header.e_shnum = 6;
  header.e_shstrndx = 5;
  header.e_shoff = append(sections, sizeof sections);
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

std::string link_error(const std::vector<std::byte>& object, i64 phases = 1) {
  try {
    link_object(object, phases);
  } catch (const InternalError& error) {
    return error.what();
  }
  return "";
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST_CASE("a relocation against the program counter is applied") {
  const LinkedCode code = link_object(object_with(R_X86_64_PC32, true), 1);
  REQUIRE(code.bytes.size() == 24);
  std::int32_t distance = 0;
  std::memcpy(&distance, code.bytes.data() + 1, 4);
  CHECK(distance == 16 + 4 - 5);  // `thing` is byte 4 of the data after 16 bytes of code; the distance counts from the next instruction
  CHECK(code.entries == std::vector<std::uint64_t>{0});
}

TEST_CASE("what a kernel must not contain is an error that names it") {
  CHECK(has(link_error(object_with(R_X86_64_PLT32, false)), "\"thing\""));
  CHECK(has(link_error(object_with(R_X86_64_64, true)), "relocation of kind 1"));
  CHECK(has(link_error(object_with(R_X86_64_PC32, true, SHF_ALLOC | SHF_WRITE)), "section .rodata"));
  CHECK(has(link_error(object_with(R_X86_64_PC32, true), 2), "a phase of the kernel is missing"));
  CHECK(has(link_error({}), "ends"));
}

TEST_CASE("an object with any byte changed or its end missing is linked or refused, never misread") {
  const std::vector<std::byte> object = object_with(R_X86_64_PC32, true);
  for (std::size_t i = 0; i < object.size(); ++i) {
    for (const int bit : {0, 3, 7}) {
      std::vector<std::byte> changed = object;
      changed[i] ^= static_cast<std::byte>(1 << bit);
      static_cast<void>(link_error(changed));
    }
    CHECK(!link_error({object.begin(), object.begin() + static_cast<std::ptrdiff_t>(i)}).empty());
  }
}

TEST_CASE("an image gives back its code") {
  const std::string image = small_image();
  REQUIRE(check_image(image, test_key("a nest")).empty());
  const std::shared_ptr<const Code> code = map_image(image, Origin::Disk);
  CHECK(code->origin() == Origin::Disk);
  float in[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  float out[8] = {};
  void* pointers[] = {in, out};
  Status status;
  const Launch launch = {&kAbi, pointers, nullptr, nullptr, nullptr, 0, &status};
  CHECK(code->phase(0)(&launch, 0, 8, nullptr) == 0);
  CHECK(out[7] == 8.5f);
  CHECK_THROWS_AS(code->phase(1), InternalError);
}

TEST_CASE("an image is refused for another key, another target and another version") {
  const std::string image = small_image();
  CHECK(check_image(image, test_key("another nest")) == "it is another kernel");
  CHECK(check_image(image, test_key("a nest", Isa::Avx512)) == "it is for another processor");
  KernelKey key = test_key("a nest");
  key.features += ",+sha";
  CHECK(check_image(image, key) == "it is for another processor");
  CHECK(check_image(image.substr(1), test_key("a nest")) == "it is not a kernel");
  CHECK(check_image("", test_key("a nest")) == "it is too short");
}

TEST_CASE("an image with any bit changed, cut at any length or with bytes behind is refused") {
  const std::string image = small_image();
  const KernelKey key = test_key("a nest");
  for (std::size_t i = 0; i < image.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = image;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      if (check_image(changed, key).empty()) FAIL_CHECK(cat("byte ", i, " bit ", bit, " is not missed"));
    }
    if (check_image(std::string_view(image).substr(0, i), key).empty()) FAIL_CHECK(cat("accepted at ", i, " bytes"));
  }
  CHECK(!check_image(image + '\0', key).empty());
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string changed = image;
    for (int n = 0; n < 4; ++n) changed[random() % changed.size()] = static_cast<char>(random());
    if (changed != image && check_image(changed, key).empty()) FAIL_CHECK("random bytes are accepted");
  }
}

TEST_CASE("pages of code are never writable and executable at once") {
  const std::shared_ptr<const Code> code = map_image(small_image(), Origin::Compiled);
  const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(code->phase(0));
  std::ifstream maps("/proc/self/maps");
  std::string found;
  for (std::string line; std::getline(maps, line);) {
    CHECK(line.find("rwx") == std::string::npos);
    const std::size_t dash = line.find('-');
    const std::uintptr_t begin = std::stoull(line.substr(0, dash), nullptr, 16);
    const std::uintptr_t end = std::stoull(line.substr(dash + 1), nullptr, 16);
    if (begin <= address && address < end) found = line;
  }
  CHECK(found.find(" r-xp ") != std::string::npos);
}

TEST_CASE("code for AVX-512 is made on any machine and uses its registers") {
  const Target target = describe_target(Isa::Avx512);
  Phase p;
  const int input = p.pointer(0);
  const int output = p.pointer(1);
  const int loop = p.loop(p.begin(), p.end(), 64);
  const int count = p.op(Operation::Sub, DType::I64, 1, p.end(), loop);
  const int value = p.load(DType::BF16, 64, input, loop, count);
  const int wide = p.op(Operation::Cast, DType::F32, 64, value);
  const int positive = p.op(Operation::Gt, DType::Bool, 64, wide, p.number(0, 64));
  const int chosen = p.op(Operation::Select, DType::F32, 64, positive, wide, p.number(1, 64));
  p.store(DType::U8, 64, output, loop, p.op(Operation::Cast, DType::U8, 64, chosen), count);
  p.end_loop(loop);
  const LinkedCode code = generate(p.program(), 0, target, "wide");
  i64 evex = 0;  // prefix 62 with 512-bit length (bits 5 and 6 of the fourth byte are 10)
  for (std::size_t i = 0; i + 4 < code.bytes.size(); ++i) {
    if (code.bytes[i] == std::byte{0x62} && (code.bytes[i + 3] & std::byte{0x60}) == std::byte{0x40}) ++evex;
  }
  CHECK(evex > 20);
}

}  // namespace
}  // namespace resilin
