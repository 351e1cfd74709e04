#include "exec/results/envelope.h"

#include "base/hash.h"
#include "base/text.h"

#include <gmock/gmock.h>

namespace results {
namespace {

using domain::ToolError;
using testing::HasSubstr;

json::value parsed(std::string_view text) {
    return base::parse_json(text).value();
}

std::vector<std::string> keys(const json::object& object) {
    std::vector<std::string> names;
    for (const auto& member : object) names.emplace_back(std::string_view(member.key()));
    return names;
}

ToolError full_error() {
    return {.kind = "existing_file",
            .message = "There is a file already.",
            .details = json::object{{"field", "path"}, {"path", "a.txt"}},
            .recovery_hint = "Choose another name.",
            .retryable = true};
}

// Ruling 16: the wider envelope is in force. contract: TERR-21
TEST(Envelope, OfASuccessHasFiveFieldsInOrderAndANullError) {
    EXPECT_EQ(base::json_text(Envelope::success("Sleep", "Rests", {{"reason", "tired"}}).to_json()),
              R"({"tool_name":"Sleep","status":"success","summary_text":"Rests",)"
              R"("result":{"reason":"tired"},"error":null})");
}

// contract: ENV-06
TEST(Envelope, OfAFailureHasFiveFieldsInOrderAndANullResult) {
    EXPECT_EQ(base::json_text(Envelope::failure("ApplyPatch", full_error()).to_json()),
              R"({"tool_name":"ApplyPatch","status":"error",)"
              R"("summary_text":"There is a file already.","result":null,)"
              R"("error":{"kind":"existing_file","message":"There is a file already.",)"
              R"("details":{"field":"path","path":"a.txt"},)"
              R"("recovery_hint":"Choose another name.","retryable":true}})");
}

// contract: TERR-02
TEST(Envelope, LeavesOutOnlyTheOptionalPartsOfAnError) {
    const auto full = base::to_json(Envelope::failure("X", full_error()).error());
    const auto least = base::to_json(Envelope::failure("X", {.kind = "k", .message = "m"}).error());
    EXPECT_EQ(keys(full.as_object()), (std::vector<std::string>{"kind", "message", "details",
                                                                "recovery_hint", "retryable"}));
    EXPECT_EQ(keys(least.as_object()), (std::vector<std::string>{"kind", "message", "retryable"}));
}

TEST(Envelope, SurvivesATripThroughJson) {
    const std::vector<Envelope> envelopes{
        Envelope::success("ExecCommand", "Process exited", {{"exit_status", 0}}),
        Envelope::success("AgentGet", "", json::object{}),
        Envelope::failure("ApplyPatch", full_error()),
        Envelope::failure("X", {.kind = "k", .message = "m"})};
    for (const auto& envelope : envelopes) {
        const auto back = Envelope::from_json(parsed(base::json_text(envelope.to_json())));
        ASSERT_TRUE(back) << back.error().message;
        EXPECT_EQ(*back, envelope);
    }
}

// contract: ENV-03, ENV-05
TEST(Envelope, RefusesEverythingButOneResultOrOneError) {
    const std::vector<std::pair<std::string, std::string>> cases{
        {R"([])", "must be an object"},
        {R"({"tool_name":"X","status":"success","summary_text":"s","result":{},)"
         R"("error":{"kind":"k","message":"m","retryable":false}})",
         "got status 'success', result true, error true"},
        {R"({"tool_name":"X","status":"error","summary_text":"s","result":{},)"
         R"("error":{"kind":"k","message":"m","retryable":false}})",
         "got status 'error', result true, error true"},
        {R"({"tool_name":"X","status":"success","summary_text":"s","result":null,"error":null})",
         "got status 'success', result false, error false"},
        {R"({"tool_name":"X","status":"error","summary_text":"s","result":null,"error":null})",
         "got status 'error', result false, error false"},
        {R"({"tool_name":"X","status":"success","summary_text":"s","result":null,)"
         R"("error":{"kind":"k","message":"m","retryable":false}})",
         "got status 'success', result false, error true"},
        {R"({"tool_name":"X","status":"timeout","summary_text":"s","result":{},"error":null})",
         "got status 'timeout'"},
        {R"({"tool_name":"X","status":"success","summary_text":"s","result":[1],"error":null})",
         "result of a tool result envelope must be an object"},
        {R"({"tool_name":"X","status":"error","summary_text":"s","result":null,)"
         R"("error":{"message":"m"}})",
         "/kind: is missing"}};
    for (const auto& [text, expected] : cases) {
        const auto envelope = Envelope::from_json(parsed(text));
        ASSERT_FALSE(envelope) << text;
        EXPECT_THAT(envelope.error().message, HasSubstr(expected)) << text;
    }
}

TEST(Envelope, RefusesMissingForeignAndMistypedFields) {
    const json::object good =
        Envelope::success("ExecCommand", "Process exited", {{"exit_status", 0}}).to_json();
    for (const auto& name : keys(good)) {
        json::object without = good;
        without.erase(name);
        EXPECT_FALSE(Envelope::from_json(without)) << name;
    }
    for (const char* text : {"tool_name", "status", "summary_text"}) {
        json::object mistyped = good;
        mistyped[text] = 1;
        EXPECT_FALSE(Envelope::from_json(mistyped)) << text;
    }
    json::object more = good;
    more["truncated"] = true;
    const auto refused = Envelope::from_json(more);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error(), (base::Error{base::ErrorCode::Corrupt,
                                            "a tool result envelope has no field 'truncated'"}));
}

// contract: ENV-04
TEST(Envelope, KeepsItsSummaryShortAndValid) {
    const std::string large(5 * 1024 * 1024, 'x');
    const std::string cut = std::string(kSummaryCharsMax - 1, 'x') + "…";
    EXPECT_EQ(Envelope::success("X", large, {}).summary_text(), cut);
    EXPECT_EQ(Envelope::failure("X", {.kind = "k", .message = large}).summary_text(), cut);
    EXPECT_LT(base::char_count(cut), 500u);
    EXPECT_EQ(Envelope::success("X", "a\xff", {}).summary_text(), "a\uFFFD");
}

// contract: PROJ-08
TEST(Envelope, ShortensNothingButTheDetailsOfAnError) {
    ToolError error = full_error();
    error.details = json::object{{"field", "path"}, {"text", std::string(1024 * 1024, 'x')}};
    const std::string text = base::json_text(*error.details);

    ToolError expected = full_error();
    expected.details = json::object{{"omitted", true},
                                    {"reason", "details were too large"},
                                    {"char_count", text.size()},
                                    {"sha256", base::sha256_hex(text)},
                                    {"preview", text.substr(0, kDetailsCharsMax)},
                                    {"field", "path"}};
    const Envelope envelope = Envelope::failure("ApplyPatch", error);
    EXPECT_EQ(envelope.error(), expected);
    EXPECT_EQ(keys(envelope.to_json()),
              (std::vector<std::string>{"tool_name", "status", "summary_text", "result", "error"}));
}

TEST(Envelope, KeepsDetailsThatJustFit) {
    ToolError error = full_error();
    // {"text":"…"} is eleven characters around the text; those of the text may be several bytes.
    std::string text;
    for (std::size_t i = 0; i < kDetailsCharsMax - 11; ++i) text += "ä";
    error.details = json::object{{"text", text}};
    EXPECT_EQ(Envelope::failure("X", error).error(), error);
    error.details = json::object{{"text", text + "ä"}};
    EXPECT_TRUE(base::bool_at(*Envelope::failure("X", error).error().details, "omitted"));
}

}  // namespace
}  // namespace results
