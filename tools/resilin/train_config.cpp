// tools/resilin/train_config.cpp -- TOML and words of the command line become a TrainConfig, or an error that says where it is wrong.
#include "tools/resilin/train_config.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include <toml++/toml.h>

#include "resilin/base/error.h"
#include "resilin/base/reflect.h"

#include "tools/resilin/train_keys.h"

namespace resilin::tool {
namespace {

// The parser and its trees recurse for each dot of a key: a text of this length ends within any stack.
constexpr std::size_t kLongestText = 16384;
constexpr std::size_t kLongestShown = 60;
constexpr std::string_view kCommandLine = "command line";

/// For messages: no byte that a terminal would obey, and not more than a line.
std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kLongestShown)) {
    const unsigned byte = static_cast<unsigned char>(c);
    constexpr std::string_view kDigits = "0123456789abcdef";
    if (byte < 0x20 || byte == 0x7f) {
      out += cat("\\x", kDigits[byte / 16], kDigits[byte % 16]);
    } else {
      out += c;
    }
  }
  return text.size() > kLongestShown ? out + "..." : out;
}

std::string shown(const toml::node& node) {
  if (const auto value = node.value_exact<std::string_view>()) return cat("\"", shown(*value), "\"");
  if (const auto value = node.value_exact<bool>()) return cat(*value);
  if (const auto value = node.value_exact<std::int64_t>()) return cat(*value);
  if (const auto value = node.value_exact<double>()) return cat(*value);
  return node.is_table() ? "a table" : node.is_array() ? "an array" : "a date or time";
}

std::string must_be(const TrainKey& key) { return cat("it must be ", key.must()); }

/// A config on its way: what was set, and where, so that keys that do not fit each other can be told with their places.
class Reading {
 public:
  explicit Reading(std::string source) : source_(std::move(source)) {}

  void take(const toml::table& table) {
    for (const auto& [name, node] : table) {
      const std::string where = place_of(name.source());
      if (std::ranges::find(train_tables(), name.str()) == train_tables().end()) {
        refuse_unknown(
            where, name.str(),
            node.is_table() ? nearest_name(name.str(), train_tables().data(), train_tables().size()) : nearest_train_key(name.str()));
      }
      if (!node.is_table()) {
        throw ArgumentError(
            cat(where, ": ", name.str(), " is a table of keys, but is ", shown(node), "; write ", name.str(), ".KEY = VALUE"));
      }
      for (const auto& [leaf, value] : *node.as_table()) take(place_of(leaf.source()), cat(name.str(), ".", leaf.str()), value);
    }
  }

  void take_word(const std::string& word) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw ArgumentError(cat(kCommandLine, ": neither a flag nor KEY=VALUE: \"", shown(word), "\"; for example train.steps=100"));
    }
    const std::string name = word.substr(0, equals), text = word.substr(equals + 1);
    const std::optional<toml::table> parsed = parse_value(text);
    const TrainKey* key = find_train_key(name);
    const bool is_path = key != nullptr && key->type() == "text";
    if (parsed && !(is_path && !parsed->begin()->second.is_string())) return take(std::string(kCommandLine), name, parsed->begin()->second);
    take(std::string(kCommandLine), name, toml::value<std::string>(text));
  }

  TrainConfig finish() {
    if (!places_.contains("data.text")) throw ArgumentError(cat(source_, ": data.text is not given; it names the file to learn"));
    TrainConfig::Train& train = config_.train;
    if (!places_.contains("train.min_lr")) train.min_lr = train.lr / 10;
    if (!places_.contains("train.warmup")) train.warmup = std::min<i64>(100, train.steps / 10 + 1);
    const TrainConfig::Model& model = config_.model;
    if (model.width % model.heads != 0) {
      throw ArgumentError(cat(place_of("model.width", "model.heads"), ": model.width is no multiple of model.heads: ", model.width, " and ",
                              model.heads, "; each head has an equal part of the width"));
    }
    if (train.min_lr > train.lr) {
      throw ArgumentError(cat(place_of("train.min_lr", "train.lr"), ": train.min_lr is above train.lr: ", train.min_lr, " and ", train.lr,
                              "; the rate falls from lr to min_lr"));
    }
    return std::move(config_);
  }

 private:
  static std::optional<toml::table> parse_value(const std::string& text) {
    if (text.size() > kLongestText)
      throw ArgumentError(cat(kCommandLine, ": a value of ", text.size(), " bytes; ", kLongestText, " are the most"));
    try {
      toml::table table = toml::parse(cat("value = ", text));
      if (table.size() == 1) return table;
    } catch (const toml::parse_error&) {
    } catch (const std::out_of_range&) {}
    return std::nullopt;  // a bare word
  }

  void take(const std::string& where, const std::string& name, const toml::node& node) {
    const TrainKey* key = find_train_key(name);
    if (key == nullptr) refuse_unknown(where, name, nearest_train_key(name));
    std::visit([&](auto* place) { set(where, *key, node, *place); }, key->place(config_));
    places_[name] = where;
  }

  [[noreturn]] static void refuse(const std::string& where, const TrainKey& key, const toml::node& node) {
    throw ArgumentError(cat(where, ": ", key.name, " is ", shown(node), "; ", must_be(key)));
  }

  [[noreturn]] static void refuse_unknown(const std::string& where, std::string_view name, std::string_view nearest) {
    throw ArgumentError(cat(where, ": unknown key: ", shown(name), "; did you mean ", nearest, "?"));
  }

  static void set(const std::string& where, const TrainKey& key, const toml::node& node, bool& place) {
    const auto value = node.value_exact<bool>();
    if (!value) refuse(where, key, node);
    place = *value;
  }
  static void set(const std::string& where, const TrainKey& key, const toml::node& node, i64& place) {
    const auto value = node.value_exact<std::int64_t>();
    if (!value || !key.range.holds(static_cast<double>(*value))) refuse(where, key, node);
    place = *value;
  }
  static void set(const std::string& where, const TrainKey& key, const toml::node& node, double& place) {
    const auto whole = node.value_exact<std::int64_t>();
    const auto value = whole ? std::optional<double>(static_cast<double>(*whole)) : node.value_exact<double>();
    if (!value || !key.range.holds(*value)) refuse(where, key, node);
    place = *value;
  }
  static void set(const std::string& where, const TrainKey& key, const toml::node& node, std::string& place) {
    const auto value = node.value_exact<std::string>();
    // A path with a zero byte would name another file.
    if (!value || value->empty() || value->find('\0') != std::string::npos) refuse(where, key, node);
    place = *value;
  }
  template <NamedEnum E>
  static void set(const std::string& where, const TrainKey& key, const toml::node& node, E& place) {
    const auto value = node.value_exact<std::string_view>();
    const auto names = enum_names(static_cast<E*>(nullptr));
    const auto* const found = value ? std::ranges::find(names, *value) : names.end();
    if (found == names.end()) refuse(where, key, node);
    place = static_cast<E>(found - names.begin());
  }

  std::string place_of(const toml::source_region& region) const { return cat(source_, ":", region.begin.line); }
  /// Of two keys that do not fit: where one of them was set, preferably the first.
  std::string place_of(const std::string& name, const std::string& other) const {
    for (const std::string& one : {name, other}) {
      if (places_.contains(one)) return places_.at(one);
    }
    return source_;
  }

  std::string source_;
  TrainConfig config_;
  std::map<std::string, std::string> places_;
};

/// Bounded, whatever the path names.
std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kLongestText + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad()) throw IoError(cat("train: cannot read ", path, "; a file of TOML is needed"));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

constexpr std::string_view kUsage =
    "usage: resilin train CONFIG.toml [KEY=VALUE]... [--resume auto|never|must]\n"
    "A GPT learns the bytes of a text, on one process or, under `resilin run`, on several. Keys of the file, which words of the command "
    "line\n"
    "may replace:\n\n";

}  // namespace

TrainConfig parse_train_config(std::string_view toml, const std::string& source, std::span<const std::string> words) {
  if (toml.size() > kLongestText) {
    throw ArgumentError(cat(source, ": the text is longer than ", kLongestText, " bytes; no run has so much to set"));
  }
  Reading reading(source);
  try {
    reading.take(toml::parse(toml, source));
  } catch (const toml::parse_error& error) {
    throw ArgumentError(cat(source, ":", error.source().begin.line, ": no TOML: ", shown(error.description())));
  } catch (const std::out_of_range&) {  // an assertion of the parser (cmake/build.cmake)
    throw ArgumentError(cat(source, ": no TOML: the parser cannot say what is wrong; look for a table or key whose name is empty"));
  }
  for (const std::string& word : words) reading.take_word(word);
  return reading.finish();
}

TrainCommand read_train_command(std::span<const std::string> arguments) {
  TrainCommand command;
  std::string path;
  std::vector<std::string> words;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--help" || word == "-h") {
      command.help = true;
      return command;
    }
    if (word.starts_with("--resume=")) {
      words.push_back("checkpoint.resume=" + word.substr(9));
    } else if (word == "--resume") {
      if (++i == arguments.size()) throw ArgumentError("command line: --resume has no value; auto, never or must is needed");
      words.push_back("checkpoint.resume=" + arguments[i]);
    } else if (word.starts_with("-")) {
      throw ArgumentError(cat(kCommandLine, ": unknown flag: ", shown(word), "; --resume and --help are known, and KEY=VALUE"));
    } else if (word.find('=') == std::string::npos && path.empty()) {
      path = word;
    } else {
      words.push_back(word);
    }
  }
  if (path.empty()) throw ArgumentError("command line: no file of the configuration is given; resilin train CONFIG.toml [KEY=VALUE]...");
  command.config = parse_train_config(read_text(path), path, words);
  return command;
}

std::string train_help() {
  std::string text(kUsage);
  for (const TrainKey& key : train_keys()) {
    std::string left = cat("  ", key.name, " = ", key.initial());
    left.resize(std::max<std::size_t>(left.size() + 2, 46), ' ');
    text += cat(left, key.doc, " (", key.must(), ")\n");
  }
  return text;
}

std::vector<std::string> train_key_rows() {
  std::vector<std::string> rows;
  for (const TrainKey& key : train_keys()) {
    rows.push_back(cat("| `", key.name, "` | ", key.type(), " | ", key.initial(), " | ", key.must(), " | ", key.doc, " |"));
  }
  return rows;
}

}  // namespace resilin::tool
