#include "exec/results/project.h"

#include "base/hash.h"

#include <gmock/gmock.h>

namespace results {
namespace {

using domain::ToolError;

// Keeps what it is given; fails on cue.
class MemorySink final : public ArtifactSink {
public:
    base::Result<std::string> store(std::string_view role, std::string_view bytes) override {
        if (full) return base::fail(base::ErrorCode::Io, "write: No space left on device");
        stored.emplace_back(role, bytes);
        return fmt::format("/artifacts/{}-{}", stored.size(), role);
    }
    std::filesystem::path reserve(std::string_view role) override { return role; }

    bool full{false};
    std::vector<std::pair<std::string, std::string>> stored;
};

// A family of its own: shows one character per token and keeps the rest.
struct Poem final : Output {
    explicit Poem(std::string text) : text(std::move(text)) {}
    std::string text;
    base::Result<Canonical> project(ArtifactSink& sink, const OutputPolicy& policy) const override {
        const auto shown = static_cast<std::size_t>(policy.output_tokens_default);
        json::object result{{"lines", text.substr(0, shown)}};
        if (text.size() > shown) result["output_artifact"] = TRY(sink.store("poem", text));
        return Canonical{"A poem", std::move(result)};
    }
};

Completed poem(std::string text) {
    return std::make_unique<Poem>(std::move(text));
}

std::string recite(const Envelope& envelope) {
    return "Recited: " + base::string_at(envelope.result(), "lines");
}

// Untrusted input of a tool must not name files for a model to see.
TEST(Project, OnlyTheTypedImagesOfAnOutputAreItsImages) {
    struct Album final : Output {
        std::vector<domain::Media> media;
        base::Result<Canonical> project(ArtifactSink&, const OutputPolicy&) const override {
            return Canonical{"An album", {{"media", {"/etc/passwd"}}}, media};
        }
    };
    MemorySink sink;
    auto album = std::make_unique<Album>();
    EXPECT_EQ(media_of(project("Album", std::make_unique<Album>(), sink, {}).to_json()), nullptr);
    album->media = {{"image/png", "a.png", "d", 3, 1, 1}};
    const auto envelope = project("Album", std::move(album), sink, {}).to_json();
    EXPECT_EQ(base::from_json<std::vector<domain::Media>>(*media_of(envelope)).value(),
              (std::vector<domain::Media>{{"image/png", "a.png", "d", 3, 1, 1}}));
    EXPECT_EQ(media_of(nullptr), nullptr);
}

// contract: PROJ-02, RCPT-07
TEST(Project, GivesTheSameBytesForTheSameOutputPolicyAndSink) {
    const auto once = [] {
        MemorySink sink;
        const auto envelope =
            project("Poet", poem("Tyger Tyger"), sink, {.output_tokens_default = 5});
        return std::tuple(base::json_text(envelope.to_json()), render(envelope, recite),
                          sink.stored);
    };
    EXPECT_EQ(once(), once());
    EXPECT_EQ(std::get<0>(once()),
              R"({"tool_name":"Poet","status":"success","summary_text":"A poem",)"
              R"("result":{"lines":"Tyger","output_artifact":"/artifacts/1-poem"},"error":null})");
    EXPECT_EQ(std::get<1>(once()), "Recited: Tyger");
}

// Notes what is done to it, in order.
struct Traced final : Output {
    explicit Traced(std::vector<std::string>& steps) : steps(steps) {}
    std::vector<std::string>& steps;
    base::Result<Canonical> project(ArtifactSink& sink, const OutputPolicy&) const override {
        steps.emplace_back("bounded");
        const auto path = TRY(sink.store("whole", "everything"));
        steps.emplace_back("kept " + path);
        return Canonical{"Traced", {{"text", "ever"}, {"truncated", true}, {"artifact", path}}};
    }
};

// contract: PROJ-03
TEST(Project, BoundsThenKeepsThenMarksThenRenders) {
    std::vector<std::string> steps;
    MemorySink sink;
    const auto envelope = project("Tracer", std::make_unique<Traced>(steps), sink, {});
    EXPECT_EQ(steps, (std::vector<std::string>{"bounded", "kept /artifacts/1-whole"}));
    EXPECT_EQ(envelope.result().at("truncated"), true);
    EXPECT_EQ(envelope.result().at("artifact"), "/artifacts/1-whole");
    // The receipt is made of that, after it.
    static const Envelope* rendered = nullptr;
    const auto receipt = render(envelope, [](const Envelope& seen) {
        rendered = &seen;
        return "see " + base::string_at(seen.result(), "artifact");
    });
    EXPECT_EQ(rendered, &envelope);
    EXPECT_EQ(receipt, "see /artifacts/1-whole");
    // A failure is none of a family's business: exclusivity comes first.
    steps.clear();
    project("Tracer", std::unexpected(ToolError{.kind = "k", .message = "m"}), sink, {});
    EXPECT_TRUE(steps.empty());
}

// contract: ENV-09
TEST(Project, LeavesOnlyTheInnerResultToTheFamily) {
    MemorySink sink;
    EXPECT_EQ(project("Poet", poem("Ode"), sink, {}),
              Envelope::success("Poet", "A poem", {{"lines", "Ode"}}));
    EXPECT_EQ(sink.stored, (std::vector<std::pair<std::string, std::string>>{}));
}

TEST(Project, PassesAFailureOnAsItIs) {
    MemorySink sink;
    const ToolError error{.kind = "no_muse", .message = "Nothing came.", .retryable = true};
    EXPECT_EQ(project("Poet", std::unexpected(error), sink, {}), Envelope::failure("Poet", error));
}

TEST(Project, SaysSoWhenTheOutputCannotBeKept) {
    MemorySink sink;
    sink.full = true;
    EXPECT_EQ(
        project("Poet", poem("Tyger Tyger"), sink, {.output_tokens_default = 5}),
        Envelope::failure(
            "Poet",
            {.kind = "artifact_write_failed",
             .message = "The tool ran, but its output could not be kept: "
                        "write: No space left on device",
             .recovery_hint = "The side effects remain. Free disk space or request less output."}));
}

// contract: RCPT-06, TERR-08, TERR-09, TERR-10, TERR-11, TERR-12
TEST(RenderError, HasAllKeysOfAFullErrorAndOnlyThoseOfAPlainOne) {
    const auto full = Envelope::failure(
        "ExecCommand", {.kind = "execution_root_violation",
                        .message = "The working directory is outside.",
                        .details = json::object{{"workdir", "../x"}, {"field", "workdir"}},
                        .recovery_hint = "Leave workdir out.",
                        .retryable = true});
    EXPECT_EQ(render_error(full), R"({
  "details": {
    "field": "workdir",
    "workdir": "../x"
  },
  "field": "workdir",
  "hint": "Leave workdir out.",
  "kind": "execution_root_violation",
  "message": "The working directory is outside.",
  "ok": false,
  "retryable": true,
  "tool_name": "ExecCommand"
})");
    EXPECT_EQ(render_error(Envelope::failure("AgentGet", {.kind = "k", .message = "m"})), R"({
  "kind": "k",
  "message": "m",
  "ok": false,
  "retryable": false,
  "tool_name": "AgentGet"
})");
}

TEST(RenderError, TakesTheFieldOnlyFromText) {
    for (const json::value& details : {json::value(json::object{{"field", 7}}),
                                       json::value(json::array{"field"}), json::value("field")}) {
        const auto receipt =
            base::parse_json(render_error(Envelope::failure(
                                 "X", {.kind = "k", .message = "m", .details = details})))
                .value();
        EXPECT_EQ(base::find(receipt, "field"), nullptr) << base::json_text(details);
        EXPECT_EQ(receipt.at("details"), details);
    }
}

// contract: TERR-13
TEST(RenderError, ShowsOversizedDetailsAsOnePreviewAndTheirDigest) {
    const json::value details =
        json::object{{"text", std::string(1024 * 1024, '"')}, {"field", "patch"}};
    const std::string text = base::json_text(details);
    const auto envelope =
        Envelope::failure("ApplyPatch", {.kind = "k", .message = "m", .details = details});
    const std::string receipt = render(envelope, nullptr);
    EXPECT_LT(receipt.size(), 5000u);
    EXPECT_EQ(base::parse_json(receipt).value(),
              (json::value{{"ok", false},
                           {"tool_name", "ApplyPatch"},
                           {"kind", "k"},
                           {"message", "m"},
                           {"retryable", false},
                           {"field", "patch"},
                           {"details",
                            {{"omitted", true},
                             {"reason", "details were too large"},
                             {"char_count", text.size()},
                             {"sha256", base::sha256_hex(text)},
                             {"preview", text.substr(0, kDetailsCharsMax)},
                             {"field", "patch"}}}}));
    // What was stored and read back is shown in the same bytes.
    const auto stored = base::parse_json(base::json_text(envelope.to_json())).value();
    EXPECT_EQ(render(Envelope::from_json(stored).value(), nullptr), receipt);
}

}  // namespace
}  // namespace results
