// tests/tool/markup.h -- Internal: a small reader of XML, which judges whether a page is well formed and finds elements in it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace resilin::testing {

struct Element {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::string text;                 // between its tags, of itself and all below
  std::vector<std::string> inside;  // ids and classes of the elements around it, outermost first: "#id" and ".class"

  std::string at(const std::string& attribute) const {
    const auto found = attributes.find(attribute);
    return found == attributes.end() ? "" : found->second;
  }
};

/// All elements in the order of their tags. Throws std::runtime_error with the place where the page is not well formed: tags that do not match,
/// attributes without quotes or twice, a bare & or <, an id twice.
std::vector<Element> read_markup(std::string_view page);

}  // namespace resilin::testing
