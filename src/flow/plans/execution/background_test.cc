#include "flow/plans/execution/background.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/support/fake_loop.h"

namespace plans {
namespace {

TEST(Background, RunsTheWorkAndThenItsEnd) {
    test_support::FakeLoop loop;
    std::string order;
    Background background(loop);
    background.run(
        [&] {
            order += "work ";
            EXPECT_EQ(background.running(), 1);
        },
        [&] {
            order += "done";
            EXPECT_EQ(background.running(), 0);
        });
    loop.run();
    EXPECT_EQ(order, "work done");
}

TEST(Background, WorkThatThrowsIsOver) {
    test_support::FakeLoop loop;
    Background background(loop);
    bool is_done = false;
    background.run([] { throw std::runtime_error("no"); }, [&] { is_done = true; });
    EXPECT_THROW(loop.run(), std::runtime_error);
    EXPECT_EQ(background.running(), 0) << "or its destructor would wait forever";
    EXPECT_FALSE(is_done);
}

TEST(Background, WorkThatHasNotBegunWhenItsOwnerIsGoneNeverDoes) {
    test_support::FakeLoop loop;
    bool has_run = false;
    {
        Background(loop).run([&] { has_run = true; }, [&] { has_run = true; });
    }
    loop.run();
    EXPECT_FALSE(has_run);
}

}  // namespace
}  // namespace plans
