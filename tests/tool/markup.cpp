// tests/tool/markup.cpp -- a small reader of XML, which judges whether a page is well formed and finds elements in it.
#include "tests/tool/markup.h"

#include <algorithm>
#include <set>
#include <stdexcept>

namespace resilin::testing {
namespace {

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == ':' || c == '_';
}

class MarkupReader {
 public:
  explicit MarkupReader(std::string_view page) : page_(page) {}

  std::vector<Element> read() {
    if (page_.substr(0, 15) == "<!DOCTYPE html>") at_ = 15;
    while (at_ < page_.size()) {
      if (page_[at_] != '<') {
        read_text();
      } else if (page_.substr(at_, 2) == "</") {
        close();
      } else {
        open();
      }
    }
    if (!stack_.empty()) fail("an element without its end: " + elements_[stack_.back()].name);
    return std::move(elements_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(what + " at byte " + std::to_string(at_) + ": " + std::string(page_.substr(at_, 60)));
  }

  std::string name() {
    const std::size_t begin = at_;
    while (at_ < page_.size() && is_name(page_[at_])) ++at_;
    if (at_ == begin) fail("no name");
    return std::string(page_.substr(begin, at_ - begin));
  }

  void expect(std::string_view words) {
    if (page_.substr(at_, words.size()) != words) fail("not " + std::string(words));
    at_ += words.size();
  }

  /// Up to `end`; entities become what they stand for.
  std::string plain(char end) {
    static const std::map<std::string, char> kEntities = {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"#39", '\''}};
    std::string out;
    while (at_ < page_.size() && page_[at_] != end) {
      const char c = page_[at_];
      if (c == '<' || (static_cast<unsigned char>(c) < 0x20 && c != '\n')) fail("a bare character");
      if (c == '&') {
        const std::size_t semicolon = page_.find(';', at_);
        const auto entity = kEntities.find(std::string(page_.substr(at_ + 1, semicolon - at_ - 1)));
        if (entity == kEntities.end()) fail("a bare &");
        out += entity->second;
        at_ = semicolon + 1;
      } else {
        out += c;
        ++at_;
      }
    }
    return out;
  }

  void read_text() {
    const std::string text = plain('<');
    if (stack_.empty() && text.find_first_not_of(" \n") != std::string::npos) fail("text outside of the page");
    for (const std::size_t element : stack_) elements_[element].text += text;
  }

  void open() {
    expect("<");
    Element element;
    element.name = name();
    while (page_.substr(at_, 1) == " " || page_.substr(at_, 1) == "\n") {
      ++at_;
      if (page_.substr(at_, 1) == ">" || page_.substr(at_, 1) == "/" || page_.substr(at_, 1) == " ") continue;
      const std::string attribute = name();
      expect("=\"");
      if (!element.attributes.insert({attribute, plain('"')}).second) fail("an attribute twice");
      expect("\"");
    }
    if (element.attributes.contains("id") && !ids_.insert(element.at("id")).second) fail("an id twice");
    for (const std::size_t outer : stack_)
      element.inside.insert(element.inside.end(), {"#" + elements_[outer].at("id"), "." + elements_[outer].at("class")});
    const bool empty = page_.substr(at_, 1) == "/";
    if (empty) ++at_;
    expect(">");
    elements_.push_back(element);
    if (!empty) stack_.push_back(elements_.size() - 1);
  }

  void close() {
    expect("</");
    const std::string ended = name();
    expect(">");
    if (stack_.empty() || elements_[stack_.back()].name != ended) fail("an end of another element: " + ended);
    stack_.pop_back();
  }

  std::string_view page_;
  std::size_t at_ = 0;
  std::vector<Element> elements_;
  std::vector<std::size_t> stack_;
  std::set<std::string> ids_;
};

}  // namespace

std::vector<Element> read_markup(std::string_view page) { return MarkupReader(page).read(); }

}  // namespace resilin::testing
