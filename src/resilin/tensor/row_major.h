// src/resilin/tensor/row_major.h -- Internal: the elements of a tensor of any layout as row-major bytes.
#pragma once

#include <string_view>

#include "resilin/tensor/tensor.h"

namespace resilin {

/// The tensor itself when it is contiguous, else a row-major copy.
Tensor row_major(const Tensor& x);
/// Row-major bytes as the elements of a tensor of any layout: numel x element size of them.
void assign_row_major(const Tensor& x, std::string_view bytes);
/// The bytes of a contiguous tensor; they live as long as its storage.
std::string_view bytes_of(const Tensor& x);

}  // namespace resilin
