// Images that a real MCP server returns, and what a model behind each of the APIs is sent.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "base/scan/engine/encodings.h"
#include "tests/e2e/program.h"
#include "tests/support/fake_model_server.h"

namespace e2e {
namespace {

using test_support::Contract;
using testing::HasSubstr;
using testing::Not;

class ImagesE2e : public testing::Test {
protected:
    // A provider `fake` with the model `model-a`, which takes images or not.
    void configure(std::string_view transport, bool takes_images) {
        std::filesystem::create_directories(program.home());
        json::object provider{
            {"transport", transport},
            {"base_url", server.base_url()},
            {"auth", {{"source", "env"}, {"kind", "api_key"}, {"env", "FAKE_KEY"}}}};
        json::object document;
        document["providers"] = json::object{{"fake", std::move(provider)}};
        document["models"] = {{"catalog", {{"fake/model-a", {{"image_input", takes_images}}}}}};
        document["mcp"] = {
            {"servers",
             {{"pics", {{"command", "/usr/bin/python3"}, {"args", {HOLON_MCP_IMAGES_SERVER}}}}}}};
        program.write(program.home() / "config.json", base::json_text(document));
        program.environment["FAKE_KEY"] = "key";
        program.environment["HOLON_MODEL"] = "fake/model-a";
    }
    void ask_for(std::string_view what, Contract contract) {
        server.enqueue(test_support::calls(
            "mcp__pics__show", base::json_text(json::object{{"what", what}}), "call_a", contract));
    }
    json::value run(std::string_view text = "go") {
        return program.json_of(
            {"run", "--json", "--agent", "k", "--create-agent", std::string(text)});
    }
    std::string body(std::size_t request) { return server.requests().at(request).body; }
    json::value results() {
        return of_kind(program.json_of({"transcript", "--agent", "k"}), "tool_results")
            .back()
            .at("data")
            .at("results")
            .at(0);
    }
    // The image of the last result, in base64, as its file has it.
    std::string kept() {
        const auto media = results().at("media").at(0);
        const auto bytes = program.read(program.agent_home("k") / "tool-artifacts" /
                                        base::string_at(media, "file"));
        EXPECT_EQ(base::sha256_hex(bytes), base::string_at(media, "sha256"));
        return scan::base64(bytes);
    }

    Program program;
    test_support::FakeModelServer server;
};

TEST_F(ImagesE2e, EachApiIsSentTheImageInItsOwnForm) {
    struct Row {
        std::string_view transport;
        Contract contract;
        std::string before, after;
    };
    const std::vector<Row> rows{
        {"anthropic_messages", Contract::Messages,
         R"({"type":"image","source":{"type":"base64","media_type":"image/png","data":")",
         R"("}})"},
        {"openai_responses", Contract::Responses,
         R"({"type":"input_image","image_url":"data:image/png;base64,)", R"("})"},
        {"openai_chat_completions", Contract::ChatCompletions,
         R"({"type":"image_url","image_url":{"url":"data:image/png;base64,)", R"("}})"}};
    std::size_t asked = 0;
    for (const auto& row : rows) {
        SCOPED_TRACE(row.transport);
        configure(row.transport, true);
        ask_for("png", row.contract);
        ask_for("resource", row.contract);
        server.enqueue(test_support::says("Seen.", row.contract));
        EXPECT_EQ(base::string_at(run(), "final_text"), "Seen.");
        asked += 3;
        const auto image = kept();
        EXPECT_THAT(body(asked - 1), HasSubstr(row.before + image + row.after));
        EXPECT_THAT(body(asked - 1), HasSubstr("The screen."));
        // The record names the image and does not hold it.
        EXPECT_THAT(base::json_text(program.json_of({"transcript", "--agent", "k"})),
                    Not(HasSubstr(image)));
        EXPECT_THAT(base::string_at(results(), "content"),
                    HasSubstr("[resource file:///shot.png, image/png, "));
    }
}

TEST_F(ImagesE2e, AModelWithoutImagesReadsWhichFileWasKept) {
    configure("anthropic_messages", false);
    ask_for("png", Contract::Messages);
    server.enqueue(test_support::says("Seen.", Contract::Messages));
    run();
    EXPECT_THAT(body(1), Not(HasSubstr(R"("type":"image")")));
    EXPECT_THAT(body(1), HasSubstr("[image, image/png, "));
    EXPECT_THAT(body(1), HasSubstr("tool-artifacts/mcp--pics--show-"));
    EXPECT_THAT(body(1), Not(HasSubstr(kept())));
}

TEST_F(ImagesE2e, WhatLiesIsTooLargeOrTooMuchIsKeptAndNotShown) {
    configure("anthropic_messages", true);
    for (const auto* what : {"liar", "huge", "many", "audio"}) ask_for(what, Contract::Messages);
    server.enqueue(test_support::says("Seen.", Contract::Messages));
    run();
    const auto count = [](const std::string& text, std::string_view part) {
        std::size_t found = 0;
        for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
        return found;
    };
    EXPECT_EQ(count(body(2), R"("type":"image")"), 0U);
    EXPECT_THAT(body(1), HasSubstr("not shown: its bytes are no PNG, JPEG, GIF or WebP image"));
    EXPECT_THAT(body(2), HasSubstr("not shown: at most 3750000 bytes of an image are shown"));
    EXPECT_EQ(count(body(3), R"("type":"image")"), 8U);
    EXPECT_THAT(body(3), HasSubstr("not shown: at most 8 images of one result are shown"));
    EXPECT_THAT(body(4), HasSubstr("[audio, audio/wav, 12 bytes, kept as artifact 1]"));
    EXPECT_EQ(count(body(4), R"("type":"image")"), 8U);
}

TEST_F(ImagesE2e, ALaterTurnSendsTheSameBytesAndAMissingFileIsNoError) {
    configure("openai_responses", true);
    ask_for("png", Contract::Responses);
    server.enqueue(test_support::says("Seen.", Contract::Responses));
    run();
    const auto input = [&](std::size_t request) {
        return base::parse_json(body(request)).value().at("input").as_array();
    };
    server.enqueue(test_support::says("Again.", Contract::Responses));
    run("and now?");
    const auto before = input(1), after = input(2);
    ASSERT_GT(after.size(), before.size());
    for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(after[i], before[i]) << i;

    const auto file = program.agent_home("k") / "tool-artifacts" /
                      base::string_at(results().at("media").at(0), "file");
    std::filesystem::remove(file);
    server.enqueue(test_support::says("Without it.", Contract::Responses));
    EXPECT_EQ(base::string_at(run("once more"), "final_text"), "Without it.");
    EXPECT_THAT(body(3), Not(HasSubstr("input_image")));
    EXPECT_THAT(body(3), HasSubstr("The screen."));
}

TEST_F(ImagesE2e, AServerThatRefusesTheImageIsAskedWithoutIt) {
    configure("anthropic_messages", true);
    ask_for("png", Contract::Messages);
    server.enqueue(test_support::status_reply(400, "Could not process image"));
    server.enqueue(test_support::says("Read the text.", Contract::Messages));
    const auto finished = program.run({"run", "--agent", "k", "--create-agent", "go"});
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    EXPECT_THAT(finished.out, HasSubstr("Read the text."));
    EXPECT_THAT(finished.err, HasSubstr("refused a request with images"));
    EXPECT_THAT(body(1), HasSubstr(R"("type":"image")"));
    EXPECT_THAT(body(2), Not(HasSubstr(R"("type":"image")")));
}

TEST_F(ImagesE2e, AKillBetweenTheResultAndTheAnswerSendsTheSameRequestAgain) {
    configure("anthropic_messages", true);
    ask_for("png", Contract::Messages);
    server.enqueue(test_support::hangs());
    auto running = program.start({"run", "--agent", "k", "--create-agent", "go"});
    ASSERT_TRUE(server.wait_for_requests(2));
    running.send(SIGKILL);
    running.wait();
    server.enqueue(test_support::says("Seen.", Contract::Messages));
    const auto resumed = program.json_of({"run", "--json", "--agent", "k", "--resume"});
    EXPECT_EQ(base::string_at(resumed, "final_text"), "Seen.");
    EXPECT_THAT(body(1), HasSubstr(kept()));
    EXPECT_EQ(body(2), body(1));
}

}  // namespace
}  // namespace e2e
