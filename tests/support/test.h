// tests/support/test.h -- Internal: the precompiled header of all tests.
#pragma once

#include <string>
#include <vector>

#include <doctest/doctest.h>
