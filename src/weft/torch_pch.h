// SPDX-License-Identifier: Apache-2.0
// The precompiled header of every room that sees LibTorch, forced in by the build: sources still include what they use.
// Narrow on purpose: it sets the build's time and memory (torch/torch.h would take twice as much).
#pragma once

#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
