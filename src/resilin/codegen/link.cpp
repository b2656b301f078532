// src/resilin/codegen/link.cpp -- lays out the sections of an object and relocates them against each other.
#include "resilin/codegen/link.h"

#include <algorithm>
#include <cstring>
#include <string>

#include <elf.h>

#include "resilin/base/error.h"

namespace resilin {
namespace {

constexpr std::uint64_t kLargestObject = 64u << 20;

/// The object as tables; every access is checked against its size.
class Object {
 public:
  explicit Object(std::span<const std::byte> bytes) : bytes_(bytes) {
    RESILIN_ASSERT(bytes.size() <= kLargestObject, cat("the object has ", bytes.size(), " bytes"));
    const Elf64_Ehdr header = read<Elf64_Ehdr>(0);
    RESILIN_ASSERT(std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64,
                   "the object is no 64-bit ELF file");
    RESILIN_ASSERT(header.e_type == ET_REL && header.e_machine == EM_X86_64, "the object is not relocatable x86-64 code");
    for (std::uint64_t i = 0; i < header.e_shnum; ++i) sections_.push_back(read<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr)));
  }

  template <class T>
  T read(std::uint64_t offset) const {
    T value;
    std::memcpy(&value, range(offset, sizeof(T)).data(), sizeof(T));
    return value;
  }

  std::span<const std::byte> range(std::uint64_t offset, std::uint64_t size) const {
    RESILIN_ASSERT(offset <= bytes_.size() && size <= bytes_.size() - offset, cat("the object ends before ", offset, " + ", size));
    return bytes_.subspan(offset, size);
  }

  const std::vector<Elf64_Shdr>& sections() const { return sections_; }

  const Elf64_Shdr& section(std::uint64_t index) const {
    RESILIN_ASSERT(index < sections_.size(), cat("the object has no section ", index));
    return sections_[index];
  }

  std::string text(const Elf64_Shdr& strings, std::uint64_t offset) const {
    const std::span<const std::byte> all = range(strings.sh_offset, strings.sh_size);
    RESILIN_ASSERT(offset < all.size(), "a name lies outside its table");
    const char* const begin = reinterpret_cast<const char*>(all.data()) + offset;
    return {begin, strnlen(begin, all.size() - offset)};
  }

  std::string section_name(std::uint64_t index) const {
    const Elf64_Ehdr header = read<Elf64_Ehdr>(0);
    return text(section(header.e_shstrndx), section(index).sh_name);
  }

 private:
  std::span<const std::byte> bytes_;
  std::vector<Elf64_Shdr> sections_;
};

class Linker {
 public:
  explicit Linker(std::span<const std::byte> bytes) : object_(bytes) {}

  LinkedCode link(i64 phase_count) {
    place_sections(true);
    place_sections(false);
    for (const Elf64_Shdr& section : object_.sections()) {
      if (section.sh_type == SHT_SYMTAB) symbols_ = &section;
      RESILIN_ASSERT(section.sh_type != SHT_REL, "the object has relocations without addends");
    }
    RESILIN_ASSERT(symbols_ != nullptr, "the object has no symbols");
    for (const Elf64_Shdr& section : object_.sections()) {
      if (section.sh_type == SHT_RELA && is_placed(section.sh_info)) relocate(section);
    }
    find_entries(phase_count);
    return std::move(code_);
  }

 private:
  static constexpr std::uint64_t kNowhere = ~std::uint64_t{0};

  bool is_placed(std::uint64_t section) const { return section < places_.size() && places_[section] != kNowhere; }

  /// Code first, then constants.
  void place_sections(bool executable) {
    places_.resize(object_.sections().size(), kNowhere);
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const Elf64_Shdr& section = object_.section(i);
      if ((section.sh_flags & SHF_ALLOC) == 0 || section.sh_size == 0) continue;
      if (((section.sh_flags & SHF_EXECINSTR) != 0) != executable) continue;
      RESILIN_ASSERT((section.sh_flags & SHF_WRITE) == 0 && section.sh_type == SHT_PROGBITS,
                     cat("a kernel has a section ", object_.section_name(i)));
      const std::uint64_t align = std::max<std::uint64_t>(section.sh_addralign, 1);
      RESILIN_ASSERT(align <= 4096 && (align & (align - 1)) == 0, "a section has a strange alignment");
      const std::uint64_t place = (code_.bytes.size() + align - 1) / align * align;
      const std::span<const std::byte> content = object_.range(section.sh_offset, section.sh_size);
      code_.bytes.resize(place);
      code_.bytes.insert(code_.bytes.end(), content.begin(), content.end());
      places_[i] = place;
    }
  }

  Elf64_Sym symbol(std::uint64_t index) const {
    RESILIN_ASSERT(index < symbols_->sh_size / sizeof(Elf64_Sym), cat("the object has no symbol ", index));
    return object_.read<Elf64_Sym>(symbols_->sh_offset + index * sizeof(Elf64_Sym));
  }

  std::string symbol_name(const Elf64_Sym& symbol) const { return object_.text(object_.section(symbols_->sh_link), symbol.st_name); }

  void relocate(const Elf64_Shdr& table) {
    const std::uint64_t section = places_[table.sh_info];
    const std::uint64_t section_bytes = object_.section(table.sh_info).sh_size;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Rela) <= table.sh_size; at += sizeof(Elf64_Rela)) {
      const Elf64_Rela entry = object_.read<Elf64_Rela>(table.sh_offset + at);
      const Elf64_Sym target = symbol(ELF64_R_SYM(entry.r_info));
      const std::uint64_t kind = ELF64_R_TYPE(entry.r_info);
      RESILIN_ASSERT(is_placed(target.st_shndx), cat("a kernel names the symbol \"", symbol_name(target), "\", which it does not define"));
      RESILIN_ASSERT(kind == R_X86_64_PC32 || kind == R_X86_64_PLT32, cat("a kernel has a relocation of kind ", kind));
      RESILIN_ASSERT(section_bytes >= 4 && entry.r_offset <= section_bytes - 4, "a relocation lies outside its section");
      const std::uint64_t place = section + entry.r_offset;
      // Modulo 2^64, as a damaged object may hold any numbers.
      const i64 value = static_cast<i64>(places_[target.st_shndx] + target.st_value + static_cast<std::uint64_t>(entry.r_addend) - place);
      const std::int32_t word = static_cast<std::int32_t>(value);
      RESILIN_ASSERT(word == value, "a relocation does not reach");
      std::memcpy(code_.bytes.data() + place, &word, sizeof word);
    }
  }

  void find_entries(i64 phase_count) {
    code_.entries.assign(static_cast<std::size_t>(phase_count), kNowhere);
    for (std::uint64_t i = 0; i < symbols_->sh_size / sizeof(Elf64_Sym); ++i) {
      const Elf64_Sym entry = symbol(i);
      if (ELF64_ST_TYPE(entry.st_info) != STT_FUNC || !is_placed(entry.st_shndx)) continue;
      const std::string name = symbol_name(entry);
      for (i64 phase = 0; phase < phase_count; ++phase) {
        if (name == cat("phase", phase)) code_.entries[static_cast<std::size_t>(phase)] = places_[entry.st_shndx] + entry.st_value;
      }
    }
    for (const std::uint64_t entry : code_.entries)
      RESILIN_ASSERT(entry < code_.bytes.size(), "a phase of the kernel is missing in the object");
  }

  Object object_;
  LinkedCode code_;
  std::vector<std::uint64_t> places_;  // by section: where it lies in the code
  const Elf64_Shdr* symbols_ = nullptr;
};

}  // namespace

LinkedCode link_object(std::span<const std::byte> object, i64 phase_count) { return Linker(object).link(phase_count); }

}  // namespace resilin
