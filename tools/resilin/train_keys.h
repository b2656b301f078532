// tools/resilin/train_keys.h -- Internal: the table of the keys of a training run.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "tools/resilin/train_config.h"

namespace resilin::tool {

/// Where a key's value is kept; its alternative is the key's type.
using KeyPlace = std::variant<bool*, i64*, double*, std::string*, Resume*, ProgressForm*>;

/// What numbers a key takes.
struct KeyRange {
  double least = 0;
  double most = 0;
  bool above_least = false;  // `least` itself is none of them
  bool below_most = false;

  bool holds(double value) const;  // not for NaN
};

struct TrainKey {
  std::string_view name;  // "table.key"
  KeyPlace (*place)(TrainConfig&);
  KeyRange range;                   // of numbers
  std::string_view doc;             // one sentence
  std::string_view otherwise = {};  // what holds when it is not given, if it is not the member's initial value

  std::string type() const;
  std::string initial() const;  // as it would stand in a file
  std::string must() const;     // what a value must be, in words
};

std::span<const TrainKey> train_keys();
/// Null pointer when there is none.
const TrainKey* find_train_key(std::string_view name);
/// The known key that somebody who wrote this may have meant.
std::string_view nearest_train_key(std::string_view name);
/// The first words of the keys: data, model ...
std::span<const std::string_view> train_tables();

}  // namespace resilin::tool
