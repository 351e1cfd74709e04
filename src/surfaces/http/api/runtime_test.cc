// The surface over the real runtime: a store on disk, a scripted model, a loop of its own.
#include <gmock/gmock.h>

#include "service/views/presentation.h"
#include "surfaces/http/server/router.h"
#include "tests/http/fixture.h"
#include "tests/support/eventually.h"
#include "tests/support/recording.h"
#include "tests/support/resident.h"

namespace test_http {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kAnswer =
    R"({"rounds":[{"text":"the answer to everything"}],"loop":true})";

// One life of the runtime on the store of `folder`.
class Runtime {
public:
    explicit Runtime(const std::filesystem::path& folder)
        : folder_(folder), resident_(folder, {}, kAnswer) {
        auto server = Server::start(
            {.service = resident_.service(), .settings = settings_, .clock = resident_.clock()},
            {.tcp = {{.port = 0}}, .socket_path = folder / "holon.sock"});
        EXPECT_TRUE(server) << server.error().message;
        server_ = std::move(*server);
    }
    ~Runtime() { server_->drain(std::chrono::seconds(10)); }

    Client client() const { return Client::unix_socket(folder_ / "holon.sock"); }
    json::value read(const std::string& path) const {
        const auto answer = client().ask(get(path));
        EXPECT_EQ(answer.status, 200) << path << " " << answer.body;
        return answer.json();
    }
    json::value send(const std::string& path, const std::string& body) const {
        const auto answer = client().ask(post(path, body));
        EXPECT_EQ(answer.status, 200) << path << " " << answer.body;
        return answer.json();
    }
    std::size_t questions() const { return resident_.model().asked; }

private:
    std::filesystem::path folder_;
    FakeSettings settings_;
    test_support::Resident<test_support::Recording> resident_;
    std::unique_ptr<Server> server_;
};

class RuntimeTest : public ServerTest {
protected:
    void SetUp() override {
        runtime_.emplace(folder_);
        runtime_->send("/control/agents/main/create", "{}");
    }
    void TearDown() override { runtime_.reset(); }

    // Follows the agent until an event of `kind` comes; the texts of all frames up to it.
    std::vector<std::string> follow_until(Client& stream, std::string_view kind) {
        std::vector<std::string> frames;
        do {
            const auto frame = stream.read_until("\n\n");
            if (frame.empty()) {
                ADD_FAILURE() << "the stream ended before " << kind;
                break;
            }
            frames.push_back(frame);
        } while (frames.back().find(fmt::format("\nevent: {}\n", kind)) == std::string::npos);
        return frames;
    }
    Client stream(const std::string& query = "") {
        auto client = runtime_->client();
        client.send(get("/agents/main/events/stream" + query));
        EXPECT_THAT(client.read_until("\r\n\r\n"), HasSubstr("200 OK"));
        return client;
    }
    // Lets the agent answer once and come to rest.
    void answer_once(const std::string& text = "what is it?") {
        auto live = stream();
        runtime_->send("/control/agents/main/prompt",
                       json::serialize(json::object{{"text", text}}));
        follow_until(live, "turn_terminal");
        EXPECT_TRUE(test_support::eventually(
            [&] { return runtime_->read("/status").at("agent").at("status") != "awake_running"; }));
    }
    json::array events(const std::string& query = "?order=asc&limit=512") {
        return runtime_->read("/agents/main/events" + query).at("events").as_array();
    }

    std::optional<Runtime> runtime_;
};

TEST_F(RuntimeTest, APromptIsAnsweredAndSeenLive) {
    auto live = stream();
    runtime_->send("/control/agents/main/prompt", R"({"text":"what is it?"})");
    follow_until(live, "turn_terminal");
    EXPECT_THAT(follow_until(live, "brief_created").back(), HasSubstr("the answer to everything"));
    EXPECT_EQ(runtime_->read("/briefs").as_array().back().at("text"), "the answer to everything");
}

// contract: API-05
TEST_F(RuntimeTest, TheListIsNarrow) {
    answer_once();
    const auto list = runtime_->read("/agents/list").as_array();
    ASSERT_EQ(list.size(), 1U);
    for (const auto* heavy :
         {"skills", "active_children", "active_waiting_intents", "active_external_triggers",
          "recent_operator_notifications", "events", "loaded_agents_md"})
        EXPECT_FALSE(list[0].as_object().contains(heavy)) << heavy;
}

// contract: API-11
TEST_F(RuntimeTest, StateRepeatsTheStatusAndLittleElse) {
    answer_once();
    const auto status = runtime_->read("/status");
    const auto state = runtime_->read("/state");
    EXPECT_EQ(state.at("agent"), status);
    std::vector<std::string> keys;
    for (const auto& member : state.as_object()) keys.emplace_back(member.key());
    EXPECT_THAT(keys, testing::UnorderedElementsAre("agent", "session", "tasks", "timers",
                                                    "work_items", "waiting_intents",
                                                    "external_triggers", "operator_notifications",
                                                    "workspace", "execution", "event_seq"));
}

// contract: API-10
TEST_F(RuntimeTest, AStateAndTheEventsBehindItsCursorLeadToTheNextState) {
    answer_once();
    const auto before = runtime_->read("/state");
    answer_once("and now?");
    const auto after = runtime_->read("/state");
    // What a client that was away in between makes of the events that it missed.
    json::value agent = before.at("agent").at("agent");
    std::int64_t seq = before.at("event_seq").as_int64();
    for (const auto& event : events(fmt::format("?order=asc&limit=512&after_seq={}", seq))) {
        EXPECT_EQ(event.at("event_seq").as_int64(), ++seq);
        if (event.at("type") == "agent_state_changed") agent = event.at("payload");
    }
    EXPECT_EQ(seq, after.at("event_seq").as_int64());
    for (const auto* fact : {"status", "turn_index", "pending", "total_message_count",
                             "total_model_rounds", "current_run_id"})
        EXPECT_EQ(agent.at(fact), after.at("agent").at("agent").at(fact)) << fact;
    EXPECT_NE(before.at("agent").at("agent").at("turn_index"), agent.at("turn_index"));
}

// contract: API-12
TEST_F(RuntimeTest, OneStateMakesGoodForALostReplay) {
    // What a client that followed every event knows of the agent.
    answer_once();
    answer_once("and now?");
    json::value followed;
    for (const auto& event : events())
        if (event.at("type") == "agent_state_changed") followed = event.at("payload");
    // Another has lost its stream and its cursor, and asks once.
    EXPECT_EQ(runtime_->client().ask(get("/agents/main/events/stream?after_seq=999999")).status,
              404);
    const auto state = runtime_->read("/state");
    for (const auto* fact : {"status", "turn_index", "pending", "total_message_count",
                             "total_model_rounds", "current_run_id", "last_brief_at"})
        EXPECT_EQ(state.at("agent").at("agent").at(fact), followed.at(fact)) << fact;
    // From there it follows again, without a gap.
    const auto seq = state.at("event_seq").as_int64();
    auto again = stream(fmt::format("?after_seq={}", seq));
    runtime_->send("/control/agents/main/prompt", R"({"text":"and then?"})");
    const auto frames = follow_until(again, "turn_terminal");
    EXPECT_THAT(frames.front(), HasSubstr(fmt::format("id: {}\n", seq + 1)));
}

// contract: API-08
TEST_F(RuntimeTest, TheStatusDoesNotGrowWithTheRecord) {
    answer_once();
    const auto before = runtime_->client().ask(get("/status")).body.size();
    for (int i = 0; i < 20; ++i) answer_once(fmt::format("question {}", i));
    const auto after = runtime_->client().ask(get("/status")).body.size();
    EXPECT_LT(after, before + 200);
}

TEST_F(RuntimeTest, AnswersFitTheirSchemas) {
    answer_once();
    runtime_->send("/control/agents/main/timers", R"({"duration_ms":3600000,"summary":"later"})");
    const auto document = runtime_->read("/openapi.json");
    for (const auto& [path, answer_path] : std::map<std::string, std::string>{
             {"/agents/list", "/agents/list"},
             {"/agents/{agent_id}/status", "/agents/main/status"},
             {"/agents/{agent_id}/state", "/agents/main/state"},
             {"/agents/{agent_id}/briefs", "/agents/main/briefs"},
             {"/agents/{agent_id}/transcript", "/agents/main/transcript"},
             {"/agents/{agent_id}/timers", "/agents/main/timers"},
             {"/agents/{agent_id}/events", "/agents/main/events"},
             {"/control/runtime/status", "/control/runtime/status"}}) {
        const auto& schema = document.at("paths")
                                 .at(path)
                                 .at("get")
                                 .at("responses")
                                 .at("200")
                                 .at("content")
                                 .at("application/json")
                                 .at("schema");
        for (const auto& fault :
             tools::check_schema(schema.as_object(), runtime_->read(answer_path)))
            ADD_FAILURE() << path << fault.pointer << ": " << fault.message;
    }
}

// contract: EVENT-21
TEST_F(RuntimeTest, PayloadsFitTheServedSchemasOfTheirKinds) {
    answer_once();
    runtime_->send("/control/agents/main/timers", R"({"duration_ms":3600000,"summary":"later"})");
    runtime_->send("/control/agents/main/control", R"({"action":"stop"})");
    const auto document = runtime_->read("/openapi.json");
    std::map<std::string, std::string> schemas;  // By type.
    for (const auto& kind : document.at("x-event-kinds").as_array()) {
        const std::string ref = base::string_at(kind.at("payload"), "$ref");
        schemas[base::string_at(kind, "type")] = ref.substr(ref.rfind('/') + 1);
    }
    std::set<std::string> seen;
    for (const auto& event : events()) {
        const auto type = base::string_at(event, "type");
        seen.insert(type);
        ASSERT_TRUE(schemas.contains(type)) << type;
        const auto& schema = document.at("components").at("schemas").at(schemas[type]);
        for (const auto& fault : tools::check_schema(schema.as_object(), event.at("payload")))
            ADD_FAILURE() << type << fault.pointer << ": " << fault.message;
    }
    EXPECT_GE(seen.size(), 15U);
}

// contract: EVENT-13
TEST_F(RuntimeTest, ReplayingHistoryAsksNoModelAndQueuesNothing) {
    answer_once();
    const auto asked = runtime_->questions();
    const auto newest = runtime_->read("/state").at("event_seq");
    auto replay = stream("?after_seq=0");
    EXPECT_THAT(follow_until(replay, "turn_terminal"),
                Contains(HasSubstr("event: message_enqueued")));
    EXPECT_EQ(runtime_->questions(), asked);
    EXPECT_EQ(runtime_->read("/status").at("agent").at("pending"), 0);
    EXPECT_EQ(runtime_->read("/state").at("event_seq"), newest);
}

// contract: EVENT-17
TEST_F(RuntimeTest, NumbersAndPayloadsOutliveARestart) {
    answer_once();
    runtime_->send("/control/agents/second/create", "{}");
    const auto second = runtime_->read("/agents/second/events?order=asc");
    EXPECT_EQ(second.at("events").at(0).at("event_seq"), 1);
    const auto before = events();
    runtime_.reset();
    runtime_.emplace(folder_);
    auto after = events();
    ASSERT_GE(after.size(), before.size());
    after.erase(after.begin() + static_cast<std::ptrdiff_t>(before.size()), after.end());
    EXPECT_EQ(after, before);
    answer_once();
    std::int64_t expected = 1;
    for (const auto& event : events()) EXPECT_EQ(event.at("event_seq").as_int64(), expected++);
}

TEST_F(RuntimeTest, AWakeUrlWorksOnRequestAndIsNowhereInTheRecord) {
    const auto trigger = runtime_->send("/control/agents/main/external-trigger", "{}");
    const auto url = base::string_at(trigger, "trigger_url");
    const auto path = url.substr(url.find("/callbacks"));
    const auto token = path.substr(path.rfind('/') + 1);
    const auto called = runtime_->client().ask(request("POST", path, {}, "news"));
    EXPECT_EQ(called.status, 200) << called.body;
    EXPECT_EQ(called.json().at("delivery_mode"), "wake_hint");
    for (const auto* read : {"/agents/main/events?limit=512", "/state", "/status", "/transcript"})
        EXPECT_THAT(runtime_->client().ask(get(read)).body, Not(HasSubstr(token))) << read;
    runtime_->send("/control/agents/main/external-trigger/rotate", "{}");
    EXPECT_EQ(runtime_->client().ask(request("POST", path)).status, 403);
}

TEST_F(RuntimeTest, AStoppedAgentRefusesWithItsWayOut) {
    runtime_->send("/control/agents/main/control", R"({"action":"stop"})");
    const auto refused = runtime_->client().ask(post("/agents/main/enqueue", R"({"text":"x"})"));
    EXPECT_EQ(refused.status, 409);
    EXPECT_EQ(refused.json().at("code"), "agent_stopped");
    EXPECT_EQ(refused.json().at("agent_id"), "main");
    EXPECT_NE(base::string_at(refused.json(), "hint"), "");
    EXPECT_EQ(runtime_->read("/status").at("agent").at("status"), "stopped");
    runtime_->send("/control/agents/main/control", R"({"action":"start"})");
    EXPECT_EQ(runtime_->client().ask(post("/agents/main/enqueue", R"({"text":"x"})")).status, 200);
}

TEST_F(RuntimeTest, TheRecordIsTheSameWhateverIsDisplayed) {
    answer_once();
    const auto raw = events();
    std::map<views::DisplayMode, std::size_t> rows;
    for (const auto mode :
         {views::DisplayMode::Info, views::DisplayMode::Verbose, views::DisplayMode::Debug}) {
        for (const auto& one : events()) {
            const domain::Event event{.kind = base::string_at(one, "type"),
                                      .data = one.at("payload")};
            rows[mode] += views::is_shown(event, views::present(event), mode) ? 1 : 0;
        }
        EXPECT_EQ(events(), raw);
    }
    EXPECT_GE(rows[views::DisplayMode::Info], 1U);
    EXPECT_LT(rows[views::DisplayMode::Info], rows[views::DisplayMode::Verbose]);
    EXPECT_LT(rows[views::DisplayMode::Verbose], rows[views::DisplayMode::Debug]);
    EXPECT_LT(rows[views::DisplayMode::Debug], raw.size());
}

}  // namespace
}  // namespace test_http
