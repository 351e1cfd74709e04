// How a test says that this machine cannot run it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

namespace test_support {

// True where HOLON_NO_SKIPS=1 is set, as `.ci/run` does: there the machine has all that the tests
// need, so a test that cannot run is a fault of the machine or of the program.
inline bool skips_are_failures() {
    const char* set = std::getenv("HOLON_NO_SKIPS");
    return set != nullptr && std::string_view(set) == "1";
}

}  // namespace test_support

// Ends the test or SetUp() that it is in: as skipped, or as failed where skips are failures. No
// test uses GTEST_SKIP itself (tests/scripts/test_skips.py).
#define HOLON_SKIP(reason)                                        \
    do {                                                          \
        if (test_support::skips_are_failures())                   \
            FAIL() << "HOLON_NO_SKIPS is set, and: " << (reason); \
        GTEST_SKIP() << (reason);                                 \
    } while (false)
