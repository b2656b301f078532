// tools/resilin/train_keys.cpp -- the one table of the keys of a training run: parsing, help and documentation follow it.
#include "tools/resilin/train_keys.h"

#include <algorithm>
#include <vector>

#include "resilin/base/json.h"
#include "resilin/base/overloaded.h"
#include "resilin/base/reflect.h"

namespace resilin::tool {
namespace {

constexpr double kManySteps = 1e12;
constexpr double kLongest_s = 1e6;

constexpr TrainKey kKeys[] = {
    {"data.text",
     [](TrainConfig& c) -> KeyPlace { return &c.data.text; },
     {},
     "File whose bytes are learnt, from the folder of the command.",
     "must be given"},
    {"data.held_out",
     [](TrainConfig& c) -> KeyPlace { return &c.data.held_out; },
     {0, 1, true, true},
     "Share of the text, at its end, that is not learnt but measured with."},
    {"data.measure_every",
     [](TrainConfig& c) -> KeyPlace { return &c.data.measure_every; },
     {0, kManySteps},
     "Steps from one measurement of the loss on what is held out to the next; 0: only at the end."},
    {"model.layers", [](TrainConfig& c) -> KeyPlace { return &c.model.layers; }, {1, 1024}, "Blocks of attention and MLP."},
    {"model.heads",
     [](TrainConfig& c) -> KeyPlace { return &c.model.heads; },
     {1, 1024},
     "Attention heads of a block; they divide the width."},
    {"model.width",
     [](TrainConfig& c) -> KeyPlace { return &c.model.width; },
     {1, 65536},
     "Numbers that stand for a position between blocks."},
    {"model.length",
     [](TrainConfig& c) -> KeyPlace { return &c.model.length; },
     {1, 65536},
     "Bytes of a sequence, the most that the model looks back."},
    {"model.dropout",
     [](TrainConfig& c) -> KeyPlace { return &c.model.dropout; },
     {0, 1, false, true},
     "Share of activations that training sets to 0."},
    {"train.steps", [](TrainConfig& c) -> KeyPlace { return &c.train.steps; }, {1, kManySteps}, "Optimizer steps of the whole run."},
    {"train.budget_s",
     [](TrainConfig& c) -> KeyPlace { return &c.train.budget_s; },
     {0, kLongest_s},
     "Seconds into which the steps are made to fit by taking fewer of them; 0: no limit."},
    {"train.seed",
     [](TrainConfig& c) -> KeyPlace { return &c.train.seed; },
     {0, 9e15},
     "Decides the first weights, the order of the text and dropout."},
    {"train.slots",
     [](TrainConfig& c) -> KeyPlace { return &c.train.slots; },
     {1, 65536},
     "Equal pieces of a step's batch, which are shared out to the ranks whatever their number."},
    {"train.slot_batch", [](TrainConfig& c) -> KeyPlace { return &c.train.slot_batch; }, {1, 65536}, "Sequences of a slot."},
    {"train.lr", [](TrainConfig& c) -> KeyPlace { return &c.train.lr; }, {0, 100, true}, "Learning rate after the warm-up."},
    {"train.min_lr",
     [](TrainConfig& c) -> KeyPlace { return &c.train.min_lr; },
     {0, 100},
     "Learning rate at the end, not above lr.",
     "lr / 10"},
    {"train.warmup",
     [](TrainConfig& c) -> KeyPlace { return &c.train.warmup; },
     {0, kManySteps},
     "Steps in which the learning rate rises from 0.",
     "100, at most steps / 10 + 1"},
    {"train.weight_decay", [](TrainConfig& c) -> KeyPlace { return &c.train.weight_decay; }, {0, 100}, "Weight decay of AdamW."},
    {"train.beta1",
     [](TrainConfig& c) -> KeyPlace { return &c.train.beta1; },
     {0, 1, false, true},
     "AdamW's decay of the mean of gradients."},
    {"train.beta2",
     [](TrainConfig& c) -> KeyPlace { return &c.train.beta2; },
     {0, 1, false, true},
     "AdamW's decay of the mean of their squares."},
    {"train.clip",
     [](TrainConfig& c) -> KeyPlace { return &c.train.clip; },
     {0, 1e9},
     "Longest gradient; longer ones are shortened; 0: never."},
    {"elastic.fault_tolerance",
     [](TrainConfig& c) -> KeyPlace { return &c.elastic.fault_tolerance; },
     {},
     "A step counts when all ranks voted for it, and the run goes on when ranks die; false: the first death ends it."},
    {"elastic.digest_every",
     [](TrainConfig& c) -> KeyPlace { return &c.elastic.digest_every; },
     {0, kManySteps},
     "Steps after which ranks compare digests of their states; 0: never."},
    {"elastic.step_timeout_s",
     [](TrainConfig& c) -> KeyPlace { return &c.elastic.step_timeout_s; },
     {0, kLongest_s, true},
     "Seconds after which a collective of a step has failed."},
    {"elastic.heal_timeout_s",
     [](TrainConfig& c) -> KeyPlace { return &c.elastic.heal_timeout_s; },
     {0, kLongest_s, true},
     "Seconds that a returning rank may take to fetch the state."},
    {"elastic.min_world",
     [](TrainConfig& c) -> KeyPlace { return &c.elastic.min_world; },
     {1, 65536},
     "Fewer ranks wait for others, and then fail."},
    {"checkpoint.every",
     [](TrainConfig& c) -> KeyPlace { return &c.checkpoint.every; },
     {0, kManySteps},
     "Steps from one checkpoint to the next; 0: only at the end."},
    {"checkpoint.keep", [](TrainConfig& c) -> KeyPlace { return &c.checkpoint.keep; }, {1, 1e6}, "Newest checkpoints that stay."},
    {"checkpoint.resume",
     [](TrainConfig& c) -> KeyPlace { return &c.checkpoint.resume; },
     {},
     "Whether a run goes on from the newest checkpoint of its folder; --resume is the same."},
    {"run.out", [](TrainConfig& c) -> KeyPlace { return &c.run.out; }, {}, "Folder of the run: events, ledger, checkpoints, result."},
    {"run.progress",
     [](TrainConfig& c) -> KeyPlace { return &c.run.progress; },
     {},
     "One line that changes, plain lines, or nothing; auto: the line on a terminal."},
    {"run.http_port",
     [](TrainConfig& c) -> KeyPlace { return &c.run.http_port; },
     {0, 65535},
     "Port of /metrics and /healthz on 127.0.0.1, plus the local rank; 0: none."},
};

template <class E>
std::string choices() {
  std::string text;
  const auto names = enum_names(static_cast<E*>(nullptr));
  for (std::size_t i = 0; i < names.size(); ++i) text += cat(i == 0 ? "" : i + 1 == names.size() ? " or " : ", ", names[i]);
  return text;
}

/// Bounds are written as a person would: 1000000, not 1e+06.
std::string bound_text(double value) {
  return value == static_cast<double>(static_cast<i64>(value)) ? cat(static_cast<i64>(value)) : cat(value);
}

std::string range_text(const KeyRange& range) {
  const std::string least = bound_text(range.least), most = bound_text(range.most);
  if (!range.above_least && !range.below_most) return cat("from ", least, " to ", most);
  return cat(range.above_least ? "above " : "at least ", least, " and ", range.below_most ? "below " : "at most ", most);
}

KeyPlace place_in(const TrainKey& key, TrainConfig& config) { return key.place(config); }

std::string_view leaf_of(std::string_view name) { return name.substr(name.find('.') + 1); }

}  // namespace

bool KeyRange::holds(double value) const {
  const bool fits_least = above_least ? value > least : value >= least;
  const bool fits_most = below_most ? value < most : value <= most;
  return fits_least && fits_most;
}

std::string TrainKey::type() const {
  TrainConfig config;
  return std::visit(Overloaded{[](bool*) { return std::string("true or false"); }, [](i64*) { return std::string("integer"); },
                               [](double*) { return std::string("number"); }, [](auto*) { return std::string("text"); }},
                    place_in(*this, config));
}

std::string TrainKey::initial() const {
  if (!otherwise.empty()) return std::string(otherwise);
  TrainConfig config;
  return std::visit(
      Overloaded{[](const bool* value) { return cat(*value); }, [](const i64* value) { return cat(*value); },
                 [](const double* value) { return cat(*value); }, [](const std::string* value) { return write_json(Json(*value)); },
                 [](const auto* value) { return cat("\"", enum_name(*value), "\""); }},
      place_in(*this, config));
}

std::string TrainKey::must() const {
  TrainConfig config;
  return std::visit(
      Overloaded{[](bool*) { return std::string("true or false"); }, [this](i64*) { return cat("an integer ", range_text(range)); },
                 [this](double*) { return cat("a number ", range_text(range)); },
                 [](std::string*) { return std::string("a text that is not empty"); }, []<class E>(E*) { return choices<E>(); }},
      place_in(*this, config));
}

std::span<const TrainKey> train_keys() { return kKeys; }

const TrainKey* find_train_key(std::string_view name) {
  const TrainKey* found = std::ranges::find(kKeys, name, &TrainKey::name);
  return found == std::end(kKeys) ? nullptr : found;
}

std::string_view nearest_train_key(std::string_view name) {
  const std::string_view leaf = leaf_of(name);
  std::vector<std::string_view> names;
  for (const TrainKey& key : kKeys) {
    if (leaf_of(key.name) == leaf) return key.name;  // it stands in another table
    names.push_back(key.name);
  }
  return nearest_name(name, names.data(), names.size());
}

std::span<const std::string_view> train_tables() {
  static const std::vector<std::string_view> tables = [] {
    std::vector<std::string_view> found;
    for (const TrainKey& key : kKeys) {
      const std::string_view table = key.name.substr(0, key.name.find('.'));
      if (found.empty() || found.back() != table) found.push_back(table);
    }
    return found;
  }();
  return tables;
}

}  // namespace resilin::tool
