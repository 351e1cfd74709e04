// Plans as HTTP clients see them: shapes, refusals, and the journal as a stream.
#include <gmock/gmock.h>

#include "exec/tools/schema_check.h"
#include "tests/remote/plan_world.h"
#include "tests/support/eventually.h"

namespace plans_test {
namespace {

using test_http::get;
using test_http::post;
using test_http::request;
using testing::HasSubstr;

class PlanRoutes : public PlanServerTest {
protected:
    json::value ask(const std::string& bytes, int status = 200) {
        const auto answer = local().ask(bytes);
        EXPECT_EQ(answer.status, status) << answer.body;
        return answer.json();
    }
    std::string create(const json::object& plan) {
        const auto made = ask(post("/plans/runs", base::json_text(json::object{{"plan", plan}})));
        return base::string_at(made.at("run"), "runId");
    }
    void wait_until_ended(const std::string& run) {
        ASSERT_TRUE(test_support::eventually([&] { return plans().has_ended(run).value(); }));
    }
};

TEST_F(PlanRoutes, CreateApproveBeginShow) {
    const std::string run = create(write_plan("a.md", "x"));
    const std::string path = "/plans/runs/" + run;
    EXPECT_EQ(base::string_at(ask(post(path + "/begin", "{}"), 403), "error").empty(), false);
    const auto approved = ask(post(path + "/approve", R"({"lifetimeMs":60000})"));
    EXPECT_NE(base::string_at(approved.at("confirmation"), "approver"), "");
    EXPECT_EQ(base::string_at(ask(post(path + "/begin", "{}")), "carrier"), "runtime");
    wait_until_ended(run);
    const auto status = ask(get(path));
    EXPECT_EQ(base::string_at(status.at("run"), "status"), "succeeded");
    EXPECT_EQ(status.at("isCarried"), json::value(false));
    const auto page = ask(get(path + "/records?after_seq=1&limit=2"));
    ASSERT_EQ(page.at("records").get_array().size(), 2U);
    EXPECT_EQ(page.at("records").get_array()[0].at("seq"), json::value(2));
    EXPECT_EQ(page.at("hasNewer"), json::value(true));
    EXPECT_TRUE(
        base::bool_at(ask(post("/plans/verify", fmt::format(R"({{"run":"{}"}})", run))), "ok"));
    EXPECT_THAT(local().ask(get("/metrics")).body, HasSubstr("holon_plan_runs_ended_total 1\n"));
}

TEST_F(PlanRoutes, TheApproverIsTheCallerAndNotANameInTheBody) {
    const std::string run = create(write_plan("a.md", "x"));
    const std::string path = "/plans/runs/" + run + "/approve";
    EXPECT_EQ(base::string_at(ask(post(path, R"({"approver":"the pope"})"), 422), "code"),
              "invalid_body");
    serve({.token = "t"});
    const auto by_token = tcp().ask(request(
        "POST", path, {{"Content-Type", "application/json"}, {"Authorization", "Bearer t"}}, "{}"));
    EXPECT_EQ(base::string_at(by_token.json().at("confirmation"), "approver"),
              "control_authenticated");
}

TEST_F(PlanRoutes, RefusesWhatItCannotUse) {
    const auto code = [&](const std::string& bytes, int status) {
        return base::string_at(ask(bytes, status), "code");
    };
    EXPECT_EQ(code(post("/plans/check", R"({"text":"{","plan":{}})"), 422), "invalid_body");
    EXPECT_EQ(code(post("/plans/check", "{}"), 422), "invalid_body");
    EXPECT_EQ(code(post("/plans/check", "{"), 400), "invalid_json");
    EXPECT_EQ(code(request("POST", "/plans/check", {}, "{}"), 415), "unsupported_media_type");
    EXPECT_EQ(code(post("/plans/runs", R"({"plan":{},"vault":"here"})"), 422), "invalid_body");
    EXPECT_EQ(code(get("/plans/runs?limit=x"), 400), "invalid_query");
    EXPECT_EQ(code(get("/plans/runs?colour=red"), 400), "invalid_query");
    EXPECT_EQ(code(post("/plans/verify", R"({"folder":"../x"})"), 422), "invalid_body");
    EXPECT_EQ(code(post("/plans/verify", R"({"run":"a","folder":"/a"})"), 422), "invalid_body");
    for (const char* path : {"/plans/runs/nope", "/plans/runs/..%2F..", "/plans/actions/nope",
                             "/plans/runs/nope/records/stream"})
        ask(get(path), 404);
    const std::string big(3 * 1024 * 1024, ' ');
    EXPECT_EQ(local().ask(post("/plans/check", big)).status, 413);
    const auto faults = ask(post("/plans/runs", R"({"plan":{"version":"1.0"}})"));
    EXPECT_FALSE(faults.at("faults").get_array().empty());
}

TEST_F(PlanRoutes, RequiresATokenAndLetsViewersOnlyRead) {
    const std::string run = create(loop_plan("test.slow", 1));
    serve({.token = "t", .viewer_token = "v"});
    const auto as = [&](std::string_view method, const std::string& path, const char* token) {
        std::vector<std::pair<std::string, std::string>> headers{
            {"Content-Type", "application/json"}};
        if (*token) headers.emplace_back("Authorization", std::string("Bearer ") + token);
        return tcp().ask(request(method, path, headers, method == "POST" ? "{}" : "")).status;
    };
    const std::string path = "/plans/runs/" + run;
    EXPECT_EQ(as("GET", path, ""), 401);
    EXPECT_EQ(as("GET", path, "v"), 200);
    EXPECT_EQ(as("GET", path + "/show", "v"), 403);
    EXPECT_EQ(as("GET", path + "/records/stream", "v"), 403);
    EXPECT_EQ(as("POST", path + "/begin", "v"), 403);
    EXPECT_EQ(as("POST", path + "/begin", "t"), 200);
}

TEST_F(PlanRoutes, AnActionRunsAtOnceUnlessItNeedsApproval) {
    const auto save = [&](const char* name, const json::object& plan) {
        ask(post("/plans/actions",
                 base::json_text(json::object{{"name", name}, {"text", base::json_text(plan)}})));
    };
    save("look", loop_plan("test.slow", 1));
    save("write", write_plan("a.md", "x"));
    const auto looks = ask(post("/plans/actions/look/run", "{}"));
    EXPECT_EQ(base::string_at(looks.at("run"), "status"), "running");
    const auto writes = ask(post("/plans/actions/write/run", "{}"));
    EXPECT_EQ(writes.at("needsApproval"), json::value(true));
    EXPECT_EQ(base::string_at(writes.at("run"), "status"), "awaiting_approval");
    wait_until_ended(base::string_at(looks.at("run"), "runId"));
}

// The numbers of a stream's frames, up to its end.
std::vector<std::int64_t> numbers_of(std::string_view body) {
    std::vector<std::int64_t> seqs;
    for (std::size_t at = body.find("id: "); at != std::string_view::npos;
         at = body.find("\nid: ", at + 1))
        seqs.push_back(std::stoll(std::string(body.substr(body.find("id: ", at) + 4, 20))));
    return seqs;
}

std::vector<std::int64_t> from_to(std::int64_t first, std::int64_t last) {
    std::vector<std::int64_t> list;
    for (std::int64_t i = first; i <= last; ++i) list.push_back(i);
    return list;
}

TEST_F(PlanRoutes, TheStreamHasEveryLineOnceEndsWithTheRunAndContinuesFromACursor) {
    const std::string run = create(loop_plan("test.slow", 30, 2));
    const std::string path = "/plans/runs/" + run + "/records/stream";
    auto early = local();
    early.send(get(path));
    EXPECT_THAT(early.read_until("\r\n\r\n"), HasSubstr("text/event-stream"));
    ask(post("/plans/runs/" + run + "/begin", "{}"));
    const std::string body = early.read_until("0\r\n\r\n");
    const auto last = plans().run(run)->last_seq;
    EXPECT_EQ(numbers_of(body), from_to(1, last));
    EXPECT_THAT(body, HasSubstr("event: call\ndata: {\"seq\":"));

    auto late = local();
    late.send(request("GET", path + "?after_seq=1", {{"Last-Event-ID", "40"}}));
    EXPECT_EQ(numbers_of(late.read_until("0\r\n\r\n")), from_to(41, last)) << "the header wins";
    EXPECT_EQ(local().ask(get(fmt::format("{}?after_seq={}", path, last))).status, 204);
    EXPECT_EQ(
        base::string_at(ask(get(fmt::format("{}?after_seq={}", path, last + 1)), 404), "code"),
        "cursor_not_found");
    EXPECT_EQ(base::string_at(ask(request("GET", path, {{"Last-Event-ID", "x"}}), 400), "code"),
              "invalid_query");
}

TEST_F(PlanRoutes, AReaderThatReadsNothingIsDroppedAndTheRunContinues) {
    http_surface::Options options;
    options.limits.write = std::chrono::milliseconds(200);
    serve(std::move(options));
    const std::string run = create(loop_plan("test.slow", 1500, 0));
    auto stalled = local();
    stalled.send(get("/plans/runs/" + run + "/records/stream"));
    ask(post("/plans/runs/" + run + "/begin", "{}"));
    wait_until_ended(run);
    EXPECT_EQ(plans().run(run)->status, domain::PlanRunStatus::Succeeded);
    const std::string dropped = "holon_http_streams_dropped_total 1\n";
    EXPECT_TRUE(test_support::eventually(
        [&] { return local().ask(get("/metrics")).body.contains(dropped); }));
}

TEST_F(PlanRoutes, TheDocumentDescribesEveryRoute) {
    const auto document = ask(get("/openapi.json"));
    const auto& paths = document.at("paths").get_object();
    const auto& run = paths.at("/plans/runs/{run_id}").at("get");
    EXPECT_THAT(base::json_text(run), HasSubstr("\"confirmation\""));
    EXPECT_THAT(base::json_text(run), HasSubstr("\"planHash\""));
    const auto stream = base::json_text(paths.at("/plans/runs/{run_id}/records/stream").at("get"));
    EXPECT_THAT(stream, HasSubstr("text/event-stream"));
    EXPECT_THAT(base::json_text(paths.at("/plans/check").at("post")), HasSubstr("\"vault\""));
}

TEST_F(PlanRoutes, AnswersFitTheDocument) {
    const auto document = ask(get("/openapi.json"));
    const std::string run = create(write_plan("a.md", "x"));
    ask(post("/plans/actions",
             base::json_text(
                 json::object{{"name", "w"}, {"text", base::json_text(write_plan("a.md", "x"))}})));
    const auto fits = [&](const char* pattern, const char* method, const std::string& bytes) {
        const auto answer = ask(bytes);
        const auto& schema = document.at("paths").at(pattern).at(method).at("responses").at("200");
        for (const auto& fault : tools::check_schema(
                 schema.at("content").at("application/json").at("schema").as_object(), answer))
            ADD_FAILURE() << pattern << fault.pointer << ": " << fault.message;
    };
    const std::string path = "/plans/runs/" + run;
    const std::string plan = base::json_text(json::object{{"plan", write_plan("b.md", "x")}});
    fits("/plans/check", "post", post("/plans/check", plan));
    fits("/plans/preview", "post", post("/plans/preview", plan));
    fits("/plans/tools", "get", get("/plans/tools"));
    fits("/plans/runs", "post", post("/plans/runs", plan));
    fits("/plans/runs/{run_id}/approve", "post", post(path + "/approve", "{}"));
    fits("/plans/runs/{run_id}/begin", "post", post(path + "/begin", "{}"));
    wait_until_ended(run);
    fits("/plans/runs", "get", get("/plans/runs"));
    fits("/plans/runs/{run_id}", "get", get(path));
    fits("/plans/runs/{run_id}/show", "get", get(path + "/show"));
    fits("/plans/runs/{run_id}/records", "get", get(path + "/records"));
    fits("/plans/runs/{run_id}/revert", "post", post(path + "/revert", "{}"));
    const std::string subject = fmt::format(R"({{"run":"{}"}})", run);
    fits("/plans/verify", "post", post("/plans/verify", subject));
    fits("/plans/replay", "post", post("/plans/replay", subject));
    fits("/plans/actions", "get", get("/plans/actions"));
    fits("/plans/actions/{name}", "get", get("/plans/actions/w"));
    fits("/plans/actions/{name}/run", "post", post("/plans/actions/w/run", "{}"));
    fits("/plans/actions/{name}/remove", "post", post("/plans/actions/w/remove", "{}"));
}

TEST_F(PlanRoutes, ARuntimeWithoutPlansSaysSo) {
    auto server = test_http::Server::start(
        {.service = service_, .settings = settings_, .clock = clock_}, {.tcp = {{.port = 0}}});
    ASSERT_TRUE(server);
    auto client = test_http::Client::tcp((*server)->tcp_addresses().at(0));
    EXPECT_EQ(client.ask(get("/plans/runs")).status, 501);
}

}  // namespace
}  // namespace plans_test
