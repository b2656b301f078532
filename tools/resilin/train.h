// tools/resilin/train.h -- trains a GPT on the bytes of a text: what `make demo` runs.
#pragma once

#include <string>

#include "resilin/base/text.h"

namespace resilin::tool {

struct TrainOptions {
  std::string text;          // path
  std::string out = "demo";  // folder of result.json, loss.csv and checkpoints
  double budget_s = 100;     // fewer steps are taken where all would last longer
  i64 steps = 2000;
  i64 batch = 12;
  i64 length = 64;
  double held_out = 0.05;  // the end of the text, by share
};

/// Trains, shows progress, the loss on what was held out and a sample of the model; writes the files. Gives back 0.
int train(const TrainOptions& options);

}  // namespace resilin::tool
