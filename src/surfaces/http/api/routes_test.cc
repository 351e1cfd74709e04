// Every route, over TCP and over the socket.
#include <gmock/gmock.h>

#include "surfaces/http/server/router.h"
#include "tests/http/fake_gate.h"
#include "tests/http/fake_mcp.h"
#include "tests/http/fixture.h"

namespace test_http {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Routes : public ServerTest, public testing::WithParamInterface<bool> {
protected:
    void SetUp() override {
        gate_ = &fake_gate_;
        mcp_ = &fake_mcp_;
        start();
    }
    Client client() const { return GetParam() ? tcp() : local(); }
    Received ask(const std::string& bytes) const { return client().ask(bytes); }

    // The answer's status and its `code`.
    std::pair<int, std::string> refusal(const std::string& bytes) const {
        const auto answer = ask(bytes);
        EXPECT_EQ(answer.headers.at("content-type"), "application/json");
        const auto body = answer.json();
        EXPECT_EQ(body.at("ok"), false) << answer.body;
        EXPECT_NE(base::string_at(body, "error"), "");
        return {answer.status, base::string_at(body, "code")};
    }

    FakeGate fake_gate_;
    FakeMcp fake_mcp_;
};
INSTANTIATE_TEST_SUITE_P(Listeners, Routes, testing::Bool(),
                         [](const auto& info) { return info.param ? "Tcp" : "Socket"; });

using Refusal = std::pair<int, std::string>;

TEST_P(Routes, RootNamesTheDefaultAgent) {
    const auto answer = ask(get("/"));
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.headers.at("content-type"), "application/json");
    EXPECT_EQ(answer.json(), (json::value{{"ok", true}, {"default_agent", "main"}}));
}

TEST_P(Routes, HandshakeShowsWhatTheListenerRequires) {
    const auto answer = ask(get("/handshake")).json();
    EXPECT_EQ(answer.at("protocol"), (json::value{{"name", "holon-control"}, {"version", 1}}));
    EXPECT_EQ(answer.at("auth"), (json::value{{"mode", "local"}, {"required", false}}));
    EXPECT_EQ(answer.at("runtime").at("advertise_url"),
              GetParam() ? json::value("https://h.example") : json::value(nullptr));
    EXPECT_EQ(answer.at("capabilities").as_array().size(), 5U);
}

// contract: API-01, API-02, API-03, API-07, API-09
TEST_P(Routes, ThreeInspectionsOfAnAgentHaveThreeShapes) {
    const auto list = ask(get("/agents/list"));
    const auto status = ask(get("/agents/other/status"));
    const auto state = ask(get("/agents/other/state"));
    EXPECT_EQ(list.status, 200);
    EXPECT_EQ(status.status, 200);
    EXPECT_EQ(state.status, 200);
    EXPECT_TRUE(list.json().is_array());
    EXPECT_EQ(list.json().at(1).at("identity").at("agent_id"), "other");
    EXPECT_EQ(status.json().at("identity").at("agent_id"), "other");
    EXPECT_EQ(state.json().at("agent").at("identity").at("agent_id"), "other");
}

TEST_P(Routes, TheListOfAgentsIsPagedThroughBehindACursor) {
    const auto first = ask(get("/agents/list?limit=1")).json().as_array();
    ASSERT_EQ(first.size(), 1U);
    EXPECT_EQ(first.at(0).at("identity").at("agent_id"), "main");
    const auto next = ask(get("/agents/list?after=main")).json().as_array();
    ASSERT_EQ(next.size(), 1U);
    EXPECT_EQ(next.at(0).at("identity").at("agent_id"), "other");
    EXPECT_EQ(ask(get("/agents/list?limit=x")).status, 400);
}

// contract: API-18, API-19
TEST_P(Routes, WithoutAnAgentMeanTheDefaultOne) {
    for (const auto* path : {"/status", "/state", "/briefs", "/transcript"}) {
        const auto alias = ask(get(path));
        EXPECT_EQ(alias.status, 200) << path;
        EXPECT_EQ(alias.body, ask(get("/agents/main" + std::string(path))).body);
    }
    EXPECT_EQ(ask(post("/enqueue", R"({"text":"x"})")).json().at("agent_id"), "main");
}

TEST_P(Routes, ListsTakeALimitWithTheDefaultsOfTheReference) {
    for (const auto* path : {"/agents/main/briefs", "/agents/main/transcript", "/agents/main/tasks",
                             "/agents/main/timers", "/agents/main/tasks?limit=3"})
        EXPECT_EQ(ask(get(path)).status, 200) << path;
    EXPECT_THAT(service_.calls(), ElementsAre("briefs main 20", "transcript main 50",
                                              "tasks main 50", "timers main 50", "tasks main 3"));
    EXPECT_EQ(refusal(get("/briefs?limit=-1")), (Refusal{400, "invalid_query"}));
    EXPECT_EQ(refusal(get("/briefs?limit=1&limit=2")), (Refusal{400, "invalid_query"}));
    for (const auto* path : {"/agents/main/tasks?other=1", "/status?x", "/agents/list?page=2"})
        EXPECT_EQ(refusal(get(path)), (Refusal{400, "invalid_query"})) << path;
    EXPECT_EQ(refusal(get("/agents/nobody/status")), (Refusal{404, "resource_not_found"}))
        << "every failure has a code";
}

TEST_P(Routes, TasksAgentsAndRunsCanBeManaged) {
    EXPECT_EQ(ask(get("/control/runs?limit=3")).json().at(0).at("agent_id"), "tmp_run_1");
    EXPECT_EQ(ask(get("/agents/main/tasks/t1/output")).json().at("task_id"), "t1");
    for (const auto& [path, body] :
         {std::pair("/tasks/t1/stop", "{}"), std::pair("/tasks/t1/input", R"({"text":"yes"})"),
          std::pair("/workspace/move", R"({"path":"/src"})"), std::pair("/delete", "{}")})
        EXPECT_EQ(ask(post(std::string("/control/agents/main") + path, body)).status, 200) << path;
    EXPECT_THAT(service_.calls(),
                ElementsAre("recent_runs 3", "task_output main t1", "stop_task main t1",
                            "task_input main t1 yes", "move main /src", "delete main"));
    EXPECT_EQ(refusal(post("/control/agents/main/workspace/move", R"({"path":"src"})")),
              (Refusal{400, "bad_request"}));
}

TEST_P(Routes, ALinkLeadsToTheNextPartOfAList) {
    const auto first = ask(get("/agents/main/briefs?limit=3"));
    EXPECT_EQ(first.headers.at("link"), "<?limit=3&before=a%20%26b>; rel=\"next\"");
    const auto last = ask(get("/agents/main/briefs?limit=3&before=a%20%26b"));
    EXPECT_FALSE(last.headers.contains("link"));
    EXPECT_THAT(service_.calls(), ElementsAre("briefs main 3", "briefs main 3a &b"));
}

TEST_P(Routes, EventPagesHaveTheFieldsOfTheReference) {
    service_.add_events("main", 10);
    const auto page = ask(get("/agents/main/events?limit=4")).json();
    EXPECT_EQ(page.at("oldest_seq"), 7);
    EXPECT_EQ(page.at("newest_seq"), 10);
    EXPECT_EQ(page.at("has_older"), true);
    EXPECT_EQ(page.at("has_newer"), false);
    EXPECT_EQ(page.at("order"), "desc");
    EXPECT_EQ(page.at("limit"), 4);
    EXPECT_EQ(page.at("events").at(0).at("event_seq"), 10);
    EXPECT_EQ(page.at("events").at(0).at("provenance").at("trust"), "trusted_operator");
    const auto empty = ask(get("/agents/other/events")).json();
    EXPECT_EQ(empty.at("oldest_seq"), nullptr);
    EXPECT_EQ(empty.at("limit"), 128);
    EXPECT_EQ(refusal(get("/agents/main/events?nonsense=1")), (Refusal{400, "invalid_query"}));
    EXPECT_EQ(refusal(get("/agents/main/events?order=up")), (Refusal{400, "invalid_query"}));
    EXPECT_EQ(refusal(get("/agents/main/events?projection=all")), (Refusal{400, "invalid_query"}));
}

// contract: EVENT-18
TEST_P(Routes, EventsAfterACursorStartWithTheNext) {
    service_.add_events("main", 10);
    const auto page = ask(get("/agents/main/events?after_seq=3&limit=2&order=asc")).json();
    EXPECT_EQ(page.at("events").at(0).at("event_seq"), 4);
    EXPECT_EQ(page.at("events").at(1).at("event_seq"), 5);
    EXPECT_EQ(page.at("has_newer"), true);
    EXPECT_EQ(ask(get("/agents/main/events?before_seq=3")).json().at("newest_seq"), 2);
}

TEST_P(Routes, ReadingHistoryDoesNothing) {
    service_.add_events("main", 10);
    ask(get("/agents/main/events?limit=512"));
    EXPECT_THAT(service_.calls(), IsEmpty());
}

TEST_P(Routes, StateHasTheCursorToFollowFrom) {
    service_.add_events("main", 5);
    EXPECT_EQ(ask(get("/agents/main/state")).json().at("event_seq"), 5);
    EXPECT_EQ(ask(get("/agents/other/state")).json().at("event_seq"), 0);
}

TEST_P(Routes, RuntimeStatusDescribesTheProcessAndItsActivity) {
    const auto status = ask(get("/control/runtime/status")).json();
    EXPECT_EQ(status.at("pid"), ::getpid());
    EXPECT_EQ(status.at("home_dir"), "/home");
    EXPECT_EQ(status.at("socket_path"), json::value(socket_path().string()));
    EXPECT_EQ(status.at("http_addr"), "127.0.0.1:7878");
    EXPECT_EQ(status.at("activity").at("active_agent_count"), 2);
    EXPECT_EQ(status.at("last_failure").at("phase"), "runtime_turn");
    const auto readiness = ask(get("/control/runtime/readiness")).json().as_object();
    EXPECT_FALSE(readiness.contains("activity") || readiness.contains("last_failure"));
}

TEST_P(Routes, ShutdownNeedsNoBody) {
    const auto answer =
        ask(request("POST", "/control/runtime/shutdown", {{"Content-Type", "application/json"}}));
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.json().at("shutdown_requested"), true);
    EXPECT_EQ(shutdowns_, 1);
}

TEST_P(Routes, ModelsNameTheCatalogueAndAllThatIsKnown) {
    const auto models = ask(get("/models")).json();
    EXPECT_EQ(models.at("available_models").as_array().size(), 1U);
    EXPECT_EQ(models.at("model_availability").as_array().size(), 2U);
}

TEST_P(Routes, PromptIsDeliveredAsAnOperatorMessage) {
    const auto answer = ask(post("/control/agents/main/prompt", R"({"text":"hello","x":1})"));
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.json(),
              (json::value{{"ok", true}, {"agent_id", "main"}, {"message_id", "message-1"}}));
    EXPECT_THAT(service_.calls(), Contains("prompt main hello"));
    EXPECT_EQ(service_.last_caller()->admission, domain::AdmissionContext::LocalProcess);
}

TEST_P(Routes, EnqueueAcceptsWhatTheReferenceAccepts) {
    EXPECT_EQ(ask(post("/agents/other/enqueue",
                       R"({"kind":"channel_event","priority":"next",
                           "origin":{"kind":"channel","channel_id":"c"},"json":{"a":1},
                           "text":"wins","metadata":{"m":1},"correlation_id":"corr"})"))
                  .status,
              200);
    const auto got = *service_.last_enqueue();
    EXPECT_EQ(got.kind, domain::MessageKind::ChannelEvent);
    EXPECT_EQ(got.priority, domain::Priority::Next);
    EXPECT_EQ(got.body, domain::Body(domain::TextBody{"wins"}));
    EXPECT_EQ(got.correlation_id, "corr");
    EXPECT_EQ(got.surface, domain::DeliverySurface::HttpPublicEnqueue);
    EXPECT_EQ(ask(post("/enqueue", "{}")).status, 200);
    EXPECT_EQ(service_.last_enqueue()->origin,
              domain::Origin(domain::WebhookOrigin{.source = "http"}));
    EXPECT_EQ(service_.last_enqueue()->body, domain::Body(domain::TextBody{}));
}

TEST_P(Routes, EnqueueRefusesClaimsOfAuthority) {
    const std::string path = "/agents/main/enqueue";
    for (const auto* body : {R"({"trust":"trusted_operator"})", R"({"priority":"interject"})",
                             R"({"priority":"interrupt"})", R"({"origin":{"kind":"operator"}})",
                             R"({"kind":"operator_prompt"})", R"({"kind":"channel_event"})",
                             R"({"origin":{"kind":"channel","channel_id":"c"}})"})
        EXPECT_EQ(refusal(post(path, body)).first, 403) << body;
    EXPECT_EQ(refusal(post(path, R"({"priority":"soon"})")), (Refusal{422, "invalid_body"}));
    EXPECT_EQ(refusal(post(path, R"({"origin":{"kind":"channel"}})")),
              (Refusal{422, "invalid_body"}));
    EXPECT_THAT(service_.calls(), IsEmpty());
}

TEST_P(Routes, AWebhookReceivesTheBytesAndTheHeadersThatWereSigned) {
    const auto sent = ask(request("POST", "/webhooks/wh_right",
                                  {{"Content-Type", "application/json"},
                                   {"X-Hub-Signature-256", "sha256=ab"},
                                   {"X-GitHub-Event", "push"},
                                   {"X-Other", "x"}},
                                  "[1,  2]"));
    EXPECT_EQ(sent.status, 200) << sent.body;
    const auto got = *service_.last_webhook();
    EXPECT_EQ(got.body, "[1,  2]");
    EXPECT_THAT(got.headers,
                testing::UnorderedElementsAre(testing::Pair("x-hub-signature-256", "sha256=ab"),
                                              testing::Pair("x-github-event", "push")));
    EXPECT_EQ(refusal(post("/webhooks/wh_wrong", "{}")), (Refusal{403, "webhook_refused"}));
    EXPECT_EQ(refusal(request("POST", "/webhooks/wh_right", {{"Content-Type", "text/plain"}}, "x")),
              (Refusal{415, "unsupported_media_type"}));
}

TEST_P(Routes, AWebhookBeyondItsRateSaysWhenToTryAgain) {
    const auto busy = ask(post("/webhooks/wh_busy", "{}"));
    EXPECT_EQ(busy.status, 429);
    EXPECT_EQ(busy.headers.at("retry-after"), "7");
}

// The name of an agent is no secret.
TEST_P(Routes, TheOldWebhookURLIsClosedAndNamesTheCommand) {
    const auto closed = ask(post("/webhooks/generic/main", "[1,2]"));
    EXPECT_EQ(closed.status, 403);
    EXPECT_THAT(closed.body, testing::HasSubstr("holon webhook create --agent main"));
    EXPECT_EQ(service_.last_enqueue(), std::nullopt);
    EXPECT_EQ(service_.last_webhook(), std::nullopt);
}

TEST_P(Routes, WebhooksAreMadeListedRotatedAndRevoked) {
    const auto made = ask(post("/control/agents/main/webhooks", R"({"signature":"github"})"));
    EXPECT_EQ(made.status, 200) << made.body;
    EXPECT_THAT(made.body, testing::HasSubstr("/webhooks/wh_right"));
    EXPECT_EQ(ask(get("/agents/main/webhooks")).status, 200);
    EXPECT_EQ(ask(post("/control/agents/main/webhooks/w/rotate", R"({"secret":"s"})")).status, 200);
    EXPECT_EQ(ask(post("/control/agents/main/webhooks/w/revoke", "{}")).status, 200);
    EXPECT_THAT(service_.calls(),
                testing::ElementsAre("webhook main github", "rotate_webhook main w",
                                     "revoke_webhook main w"));
    EXPECT_EQ(refusal(post("/control/agents/main/webhooks", R"({"signature":"pgp"})")).first, 422);
}

TEST_P(Routes, CallbacksReadTheirBodyByItsType) {
    const auto body_of = [&](std::vector<std::pair<std::string, std::string>> headers,
                             std::string_view body) {
        const auto answer = ask(request("POST", "/callbacks/wake/cb_right", headers, body));
        EXPECT_EQ(answer.status, 200) << answer.body;
        return service_.last_callback()->body;
    };
    using Body = std::optional<domain::Body>;
    EXPECT_EQ(body_of({}, ""), Body());
    EXPECT_EQ(body_of({}, "plain"), Body(domain::TextBody{"plain"}));
    EXPECT_EQ(body_of({{"Content-Type", "text/plain"}}, "t"), Body(domain::TextBody{"t"}));
    EXPECT_EQ(body_of({{"Content-Type", "application/x+json"}}, "{}"),
              Body(domain::JsonBody{json::object{}}));
    EXPECT_EQ(body_of({{"Content-Type", "application/x-www-form-urlencoded"}}, "the build is red"),
              Body(domain::TextBody{"the build is red"}))
        << "what curl -d sends";
    EXPECT_EQ(body_of({{"Content-Type", "image/png"}}, "\x89P"),
              Body(domain::JsonBody{{{"content_type", "image/png"}, {"body_base64", "iVA="}}}));
    EXPECT_EQ(body_of({}, "\xff\xfe"), Body(domain::JsonBody{{{"body_base64", "//4="}}}));
    EXPECT_EQ(refusal(request("POST", "/callbacks/wake/cb_right",
                              {{"Content-Type", "application/json"}}, "{"))
                  .first,
              400);
    EXPECT_EQ(refusal(request("POST", "/callbacks/wake/cb_wrong")),
              (Refusal{403, "capability_refused"}));
    EXPECT_EQ(ask(request("POST", "/callbacks/enqueue/cb_right")).status, 200);
    EXPECT_EQ(service_.last_callback()->mode, "enqueue");
}

TEST_P(Routes, ControlsReachTheService) {
    const auto done = [&](const std::string& path, const char* body) {
        const auto answer = ask(post("/control/agents/main" + path, body));
        EXPECT_EQ(answer.status, 200) << path << answer.body;
        return answer.json();
    };
    EXPECT_EQ(done("/wake", R"({"reason":"look"})").at("disposition"), "triggered");
    EXPECT_EQ(done("/control", R"({"action":"stop","trust":"trusted_operator"})"),
              (json::value{{"ok", true}}));
    EXPECT_EQ(done("/current-run/abort", "{}").at("run_id"), "run-9");
    EXPECT_EQ(done("/compact", "{}").at("projected_estimated_tokens"), 400);
    EXPECT_EQ(done("/create", R"({"template":"dev"})").at("agent_id"), "main");
    EXPECT_EQ(done("/tasks", R"({"summary":"s","cmd":"ls"})").at("id"), "task-1");
    EXPECT_EQ(done("/timers", R"({"duration_ms":5})").at("id"), "timer-1");
    EXPECT_EQ(done("/timers/t-7/cancel", "{}").at("id"), "t-7");
    EXPECT_EQ(done("/debug-prompt", R"({"text":"hi"})").at("dump"), "the prompt for hi");
    EXPECT_EQ(done("/model", R"({"model":"x/y"})").at("model").at("effective_model"), "x/y");
    EXPECT_EQ(done("/model/clear", "{}").at("ok"), true);
    EXPECT_EQ(done("/workspace/attach", R"({"path":"/p"})").at("workspace_anchor"), "/p");
    EXPECT_EQ(done("/workspace/exit", "{}").at("agent_id"), "main");
    EXPECT_EQ(done("/workspace/detach", R"({"workspace_id":"ws-1"})").at("workspace_id"), "ws-1");
    EXPECT_EQ(done("/external-trigger", "{}").at("path"), "/callbacks/wake/cb_x");
    EXPECT_EQ(done("/external-trigger/rotate", "{}").at("ok"), true);
    EXPECT_EQ(done("/external-trigger/revoke", "{}").at("ok"), true);
    EXPECT_THAT(
        service_.calls(),
        ElementsAre("wake main look", "lifecycle main stop", "abort main -", "compact main",
                    "create main dev", "task main ls true", "timer main 5", "cancel_timer main t-7",
                    "debug_prompt main hi trusted_operator", "set_model main x/y",
                    "clear_model main", "attach main /p", "exit main", "detach main ws-1",
                    "trigger main false", "trigger main true", "revoke main"));
}

TEST_P(Routes, SearchesReachTheService) {
    const auto found =
        ask(get("/agents/main/memory?query=a%20%22b%22&limit=3"
                "&include_all_workspaces=true"));
    EXPECT_EQ(found.status, 200);
    EXPECT_EQ(found.json().at("results").at(0).at("source_ref"), "brief:b1");
    EXPECT_EQ(ask(get("/agents/main/memory/document?source_ref=brief:b1&max_chars=7"))
                  .json()
                  .at("content"),
              "text");
    EXPECT_EQ(ask(get("/search?query=x&agent=other&since=2031-01-02T03:04:05Z&limit=9"))
                  .json()
                  .at("results")
                  .at(0)
                  .at("agent_id"),
              "main");
    EXPECT_EQ(ask(get("/search?query=x")).status, 200);
    EXPECT_THAT(
        service_.calls(),
        ElementsAre("search_memory main a \"b\" 3 true", "memory_document main brief:b1 7",
                    "search x other 2031-01-02T03:04:05.000000Z 9", "search x all always 20"));
    EXPECT_EQ(refusal(get("/search")), (Refusal{400, "invalid_query"}));
    EXPECT_EQ(refusal(get("/search?query=x&since=soon")), (Refusal{400, "invalid_query"}));
    EXPECT_EQ(refusal(get("/agents/main/memory?query=x&include_all_workspaces=2")),
              (Refusal{400, "invalid_query"}));
}

// contract: WORK-99, WORK-101
TEST_P(Routes, WorkItemsReachTheService) {
    const auto done = [&](const std::string& path, const char* body) {
        const auto answer = ask(post("/control/agents/main/work-items" + path, body));
        EXPECT_EQ(answer.status, 200) << path << answer.body;
        return answer.json();
    };
    EXPECT_EQ(done("", R"({"objective":"ship"})").at("objective"), "ship");
    EXPECT_EQ(done("/w/pick", "{}").at("id"), "w");
    EXPECT_EQ(done("/w/block", R"({"blocked_by":"CI","recheck_after":5})").at("id"), "w");
    EXPECT_EQ(done("/w/unblock", "{}").at("id"), "w");
    EXPECT_EQ(done("/w/done", "{}").at("id"), "w");
    EXPECT_EQ(ask(get("/agents/main/work-items")).json().at("work_items").as_array().size(), 1U);
    EXPECT_EQ(ask(get("/agents/main/work-items?filter=open&limit=7&after=x")).json().at("next"),
              "x");
    EXPECT_EQ(ask(get("/agents/main/work-items/w")).json().at("id"), "w");
    EXPECT_EQ(refusal(post("/control/agents/main/work-items", "{}")),
              (Refusal{422, "invalid_body"}));
    EXPECT_EQ(refusal(post("/control/agents/main/work-items", R"({"objective":" "})")).second,
              "invalid_body");
    EXPECT_EQ(refusal(post("/control/agents/main/work-items/w/block", "{}")),
              (Refusal{422, "invalid_body"}));
    EXPECT_EQ(refusal(get("/agents/main/work-items?filter=odd")).second, "invalid_query");
    EXPECT_THAT(service_.calls(),
                ElementsAre("new work main ship", "pick main w ", "block main w CI",
                            "unblock main w ", "done main w ", "work items main all 50",
                            "work items main open 7", "work item main w"));
}

// contract: WT-25
TEST_P(Routes, DetachingNeedsTheWorkspaceThatIsMeant) {
    EXPECT_EQ(refusal(post("/control/agents/main/workspace/detach", "{}")),
              (Refusal{422, "invalid_body"}));
    EXPECT_EQ(refusal(post("/control/agents/main/workspace/detach", R"({"workspace_id":7})")),
              (Refusal{422, "invalid_body"}));
    EXPECT_THAT(service_.calls(), IsEmpty());
}

TEST_P(Routes, WrongBodiesHaveDistinctErrors) {
    const std::string path = "/control/agents/main/prompt";
    EXPECT_EQ(refusal(post(path, "{")), (Refusal{400, "invalid_json"}));
    EXPECT_EQ(refusal(post(path, "{\"text\":\"\xff\"}")), (Refusal{400, "invalid_json"}));
    EXPECT_EQ(refusal(post(path, R"({"text":5})")), (Refusal{422, "invalid_body"}));
    EXPECT_EQ(refusal(post(path, "[]")), (Refusal{422, "invalid_body"}));
    EXPECT_EQ(refusal(request("POST", path, {}, R"({"text":"x"})")),
              (Refusal{415, "unsupported_media_type"}));
    EXPECT_EQ(refusal(request("POST", path, {{"Content-Type", "text/plain"}}, R"({"text":"x"})")),
              (Refusal{415, "unsupported_media_type"}));
    // Where the reference denies unknown members, so do we.
    EXPECT_EQ(refusal(post("/control/agents/main/tasks", R"({"summary":"s","cmd":"c","x":1})")),
              (Refusal{422, "invalid_body"}));
    EXPECT_EQ(refusal(post("/control/agents/main/workspace/attach", R"({"path":"p","x":1})")),
              (Refusal{422, "invalid_body"}));
    EXPECT_EQ(refusal(post("/control/agents/main/wake", R"({"reason":" "})")).first, 403);
    EXPECT_EQ(
        refusal(post("/control/agents/main/model", R"({"model":"a/b","reasoning_effort":"huge"})"))
            .first,
        400);
    EXPECT_EQ(refusal(post("/control/agents/main/current-run/abort", R"({"mode":"x"})")).first,
              400);
    EXPECT_EQ(refusal(post("/control/agents/a%20b/create", "{}")).first, 400);
    EXPECT_THAT(service_.calls(), IsEmpty());
}

TEST_P(Routes, FailuresOfTheServiceKeepTheirKindAndDetails) {
    service_.fail_next({base::ErrorCode::Conflict,
                        "the agent is stopped",
                        "agent_stopped",
                        {{"agent_id", "main"}, {"hint", "start it"}}});
    const auto answer = ask(post("/control/agents/main/prompt", R"({"text":"x"})"));
    EXPECT_EQ(answer.status, 409);
    EXPECT_EQ(answer.json(), (json::value{{"ok", false},
                                          {"error", "the agent is stopped"},
                                          {"code", "agent_stopped"},
                                          {"agent_id", "main"},
                                          {"hint", "start it"}}));
    EXPECT_EQ(refusal(get("/agents/nobody/status")).first, 404);
    EXPECT_EQ(refusal(get("/agents/..%2f..%2fetc/status")).first, 404);
    service_.fail_next({base::ErrorCode::Io, "disk full"});
    EXPECT_EQ(refusal(get("/readyz")).first, 503);
    EXPECT_EQ(ask(get("/readyz")).status, 200);
}

TEST_P(Routes, UnknownPathsAndMethodsAreJsonErrors) {
    EXPECT_EQ(refusal(get("/nowhere")), (Refusal{404, "not_found"}));
    EXPECT_EQ(refusal(get("/agents")), (Refusal{404, "not_found"}));
    EXPECT_EQ(refusal(get("//status")), (Refusal{404, "not_found"}));
    EXPECT_EQ(refusal(get("/status/")), (Refusal{404, "not_found"}));
    EXPECT_EQ(refusal(get("/agents/%zz/status")), (Refusal{404, "not_found"}));
    const auto wrong = ask(request("DELETE", "/agents/main/status"));
    EXPECT_EQ(wrong.status, 405);
    EXPECT_EQ(wrong.headers.at("allow"), "GET, HEAD");
    EXPECT_EQ(wrong.json().at("code"), "method_not_allowed");
    EXPECT_EQ(ask(get("/enqueue")).headers.at("allow"), "POST");
}

TEST_P(Routes, SkillsAreListedInstalledAndRemovedInTheShapesOfOlderClients) {
    EXPECT_EQ(ask(get("/agents/main/skills")).json(),
              (json::value{{"ok", true},
                           {"agent_id", "main"},
                           {"skills", {{{"skill_id", "agent:ghx"}, {"name", "ghx"}}}}}));
    EXPECT_EQ(ask(get("/agents/main/skills/ghx")).json().at("text"), "how to");
    EXPECT_EQ(ask(get("/templates")).json(), (json::value{{{"template_id", "holon-default"}}}));
    const json::value changed{{"ok", true}, {"agent_id", "main"}, {"skill_name", "ghx"}};
    EXPECT_EQ(ask(post("/control/agents/main/skills/install",
                       R"({"kind":{"kind":"named","name":"ghx","mode":"linked"}})"))
                  .json(),
              changed);
    EXPECT_EQ(ask(post("/control/agents/main/skills/uninstall", R"({"name":"ghx"})")).json(),
              changed);
    EXPECT_EQ(
        ask(post("/control/agents/main/skills/install", R"({"kind":{"kind":"magic"}})")).status,
        422);
}

TEST_P(Routes, PartsThatAreNotBuiltYetSaySo) {
    EXPECT_EQ(refusal(get("/worktree-summary")), (Refusal{501, "not_supported"}));
}

TEST_P(Routes, AnOperatorsTransportIsBoundUsedAndRevoked) {
    const auto bound = ask(post("/control/agents/main/operator-bindings", R"({
        "transport":"chat","operator_actor_id":"ada","default_route_id":"room",
        "delivery_callback_url":"https://chat.example/in",
        "delivery_auth":{"kind":"bearer","bearer_token":"t0"},"capabilities":{"text":true}})"));
    ASSERT_EQ(bound.status, 200) << bound.body;
    EXPECT_EQ(bound.json().at("agent_id"), "main");
    EXPECT_EQ(bound.json().at("binding").at("delivery_auth").at("bearer_token"), "t0");
    const auto sent = ask(post("/control/agents/main/operator-ingress",
                               R"({"text":"go on","actor_id":"ada","binding_id":"opbind_1"})"));
    EXPECT_EQ(sent.json(),
              (json::value{{"ok", true}, {"agent_id", "main"}, {"message_id", "message-1"}}));
    EXPECT_EQ(ask(get("/agents/main/operator-bindings")).json().at(0).at("binding_id"), "opbind_1");
    EXPECT_EQ(ask(post("/control/agents/main/operator-bindings/opbind_1/revoke", "{}"))
                  .json()
                  .at("status"),
              "revoked");
    EXPECT_EQ(refusal(post("/control/agents/main/operator-bindings", "{}")),
              (Refusal{422, "invalid_body"}));
    EXPECT_EQ(refusal(post("/control/agents/main/operator-ingress",
                           R"({"text":"x","actor_id":"a","binding_id":"b","trust":"x"})")),
              (Refusal{422, "invalid_body"}));
}

TEST_P(Routes, HeadAnswersLikeGetWithoutABody) {
    auto connection = client();
    connection.send(request("HEAD", "/healthz"));
    const auto head = connection.receive(true);
    EXPECT_EQ(head.status, 200);
    EXPECT_EQ(head.headers.at("content-length"), "11");
    EXPECT_EQ(connection.ask(get("/healthz")).body, R"({"ok":true})");
}

TEST_P(Routes, MetricsCountRequestsByRoute) {
    ask(get("/agents/main/status"));
    ask(get("/agents/other/status"));
    const auto text = ask(get("/metrics"));
    EXPECT_THAT(text.headers.at("content-type"), HasSubstr("text/plain; version=0.0.4"));
    EXPECT_THAT(text.body,
                HasSubstr("holon_http_requests_total{route=\"/agents/{agent_id}/status\","
                          "status=\"200\"} 2\n"));
    EXPECT_THAT(text.body, HasSubstr("holon_http_connections_open "));
}

// A path of the pattern that the fake answers, and a body for it.
std::string example_path(std::string_view pattern) {
    std::string path(pattern);
    const char* token = pattern.starts_with("/webhooks") ? "wh_right" : "cb_right";
    for (const auto& [name, value] : std::map<std::string, std::string>{{"{agent_id}", "main"},
                                                                        {"{token}", token},
                                                                        {"{timer_id}", "timer-1"},
                                                                        {"{run_id}", "run-1"},
                                                                        {"{document_id}", "TS-1"}})
        if (const auto at = path.find(name); at != std::string::npos)
            path.replace(at, name.size(), value);
    return path;
}

std::string example_body(std::string_view pattern) {
    const std::map<std::string_view, std::string> bodies{
        {"/prompt", R"({"text":"x"})"},
        {"/wake", R"({"reason":"x"})"},
        {"/control", R"({"action":"start"})"},
        {"/tasks", R"({"summary":"s","cmd":"c"})"},
        {"/work-items", R"({"objective":"ship"})"},
        {"/block", R"({"blocked_by":"CI"})"},
        {"/timers", R"({"duration_ms":1})"},
        {"/debug-prompt", R"({"text":"x"})"},
        {"/model", R"({"model":"a/b"})"},
        {"/attach", R"({"path":"/p"})"},
        {"/move", R"({"path":"/p"})"},
        {"/input", R"({"text":"x"})"},
        {"/detach", R"({"workspace_id":"w"})"},
        {"/skills/install", R"({"kind":{"kind":"named","name":"ghx"}})"},
        {"/skills/uninstall", R"({"name":"ghx"})"},
        {"/answer", R"({"action":"decline"})"},
        {"/prompts/expand", R"({"server":"s","name":"p","arguments":{}})"},
        {"/gate/check", R"({"file":"/f.md"})"},
        {"/interrupt", R"({"reason":"x"})"},
        {"/release", R"({"reason":"x"})"},
        {"/operator-bindings",
         R"({"transport":"chat","operator_actor_id":"ada","default_route_id":"room",
             "delivery_callback_url":"https://chat.example",
             "delivery_auth":{"kind":"bearer","bearer_token":"t"},"capabilities":{"text":true}})"},
        {"/operator-ingress", R"({"text":"x","actor_id":"ada","binding_id":"b"})"},
        {"/gate/purge", R"({"document_id":"TS-1"})"}};
    for (const auto& [end, body] : bodies)
        if (pattern.ends_with(end)) return body;
    return "{}";
}

TEST_P(Routes, AnswersToMcpServersReachThem) {
    const auto questions = ask(get("/control/mcp/questions")).json();
    EXPECT_EQ(base::string_at(questions.at(0), "message"), "Who?");
    EXPECT_EQ(ask(post("/control/mcp/questions/q-1/answer",
                       R"({"action":"accept","content":{"name":"Ada"}})"))
                  .status,
              200);
    EXPECT_EQ(ask(post("/control/mcp/questions/gone/answer", R"({"action":"decline"})")).status,
              404);
    for (const char* bad : {"{}", R"({"action":7})", R"({"action":"accept","more":1})", "[]"})
        EXPECT_EQ(ask(post("/control/mcp/questions/q-1/answer", bad)).status, 422) << bad;
    EXPECT_EQ(ask(post("/control/mcp/prompts/expand", R"({"server":"s"})")).status, 422);
    EXPECT_THAT(fake_mcp_.calls(), ElementsAre(R"(answer q-1 accept {"name":"Ada"})"));
}

// contract: CMD-59
TEST_P(Routes, NoneOfThemGivesOutArtifacts) {
    for (const auto& route : http_surface::routes())
        EXPECT_THAT(std::string(route.pattern), Not(HasSubstr("artifact")));
}

// contract: API-14, API-15, API-16, API-17, API-20
TEST_P(Routes, OpenApiDescribesEveryRouteAsItAnswers) {
    service_.add_events("main", 3);
    const auto document = ask(get("/openapi.json")).json();
    EXPECT_EQ(document.at("openapi"), "3.1.0");
    const auto about = base::string_at(document.at("info"), "description");
    EXPECT_THAT(about, HasSubstr("To read the state of an agent, use /agents/{agent_id}/status"));
    EXPECT_THAT(about, HasSubstr("continue from /agents/{agent_id}/events/stream"));
    EXPECT_THAT(about, HasSubstr("not a general snapshot for third parties"));
    for (const auto& route : http_surface::routes()) {
        const bool is_get = route.method == http_surface::Method::Get;
        const auto& operation =
            document.at("paths").at(route.pattern).at(is_get ? "get" : "post").as_object();
        // Plans are not made up here: tests/remote asks real ones.
        if (route.pattern.ends_with("/stream") || route.pattern.starts_with("/plans/")) continue;
        const bool is_search = route.pattern == "/search" || route.pattern.ends_with("/memory");
        const auto path = example_path(route.pattern) + (is_search ? "?query=x" : "");
        const auto answer =
            ask(is_get ? get(path)
                       : post(path,
                              path.starts_with("/callbacks") ? "{}" : example_body(route.pattern)));
        if (!route.supported) {
            EXPECT_EQ(answer.status, 501) << path;
            EXPECT_TRUE(operation.at("responses").as_object().contains("501"));
            continue;
        }
        if (route.pattern.starts_with("/webhooks/generic/")) {
            EXPECT_EQ(answer.status, 403) << "it is closed for good";
            continue;
        }
        EXPECT_EQ(answer.status, 200) << path << " " << answer.body;
        const auto& content = operation.at("responses").at("200").at("content").as_object();
        if (!content.contains("application/json")) continue;
        const auto& schema = content.at("application/json").at("schema");
        for (const auto& fault : tools::check_schema(schema.as_object(), answer.json()))
            ADD_FAILURE() << path << fault.pointer << ": " << fault.message;
    }
    // The status body is fixed, and /state contains the same.
    const auto& paths = document.at("paths");
    const auto schema_of = [&](const char* path) {
        return paths.at(path)
            .at("get")
            .at("responses")
            .at("200")
            .at("content")
            .at("application/json")
            .at("schema");
    };
    const auto status = schema_of("/agents/{agent_id}/status");
    EXPECT_EQ(status.at("required").as_array().size(), 8U);
    EXPECT_EQ(schema_of("/agents/{agent_id}/state").at("properties").at("agent"), status);
    json::object lacking = ask(get("/status")).json().as_object();
    lacking.erase("closure");
    EXPECT_EQ(tools::check_schema(status.as_object(), lacking).size(), 1U);
}

}  // namespace
}  // namespace test_http
