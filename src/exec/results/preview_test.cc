#include "exec/results/preview.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/scan/secrets.h"

namespace results {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kSecret = "sk-live-4f9a0123-zyxw";

class PreviewTest : public testing::Test {
protected:
    PreviewTest() { scan::know({kSecret}); }
    ~PreviewTest() override { scan::know_nothing(); }
};

TEST_F(PreviewTest, ACredentialIsTakenOutBeforeTheTextIsCut) {
    for (std::size_t before = 0; before < 200; ++before) {
        const std::string text = std::string(before, '.') + kSecret + std::string(400, '.');
        const auto shown = preview({.head = text, .bytes = text.size(), .lines = 1}, 300).text;
        EXPECT_THAT(shown, Not(HasSubstr("sk-live-"))) << before;
        EXPECT_THAT(shown, Not(HasSubstr("0123-zyxw"))) << before;
    }
}

// Each is much longer than its mark, so that what is shown reaches to where the stream was cut.
TEST_F(PreviewTest, NorIsHalfOfOneShownWhereTheStreamItselfWasCut) {
    std::string many;
    for (int i = 0; i < 40; ++i) many += kSecret;
    for (std::size_t cut = 0; cut < kSecret.size(); ++cut) {
        const base::CapturedStream stream{.head = many.substr(0, many.size() - cut),
                                          .tail = many.substr(cut),
                                          .spilled = true,
                                          .bytes = 10 * many.size()};
        const auto shown = preview(stream, 4000).text;
        for (std::size_t at = 0; at + scan::kPartBytesMin <= kSecret.size(); ++at)
            EXPECT_THAT(shown, Not(HasSubstr(kSecret.substr(at, scan::kPartBytesMin)))) << cut;
    }
}

}  // namespace
}  // namespace results
