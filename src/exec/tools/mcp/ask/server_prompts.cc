// The prompts of all servers.
#include <algorithm>

#include "exec/tools/mcp/servers.h"

namespace mcp {
namespace {

// What servers have listed so far; the last one that is released reports.
struct Collected {
    std::vector<Prompt> prompts;
    std::move_only_function<void(std::vector<Prompt>)> done;

    ~Collected() {
        std::ranges::sort(prompts, {}, [](const Prompt& prompt) {
            return std::pair(prompt.server, prompt.name);
        });
        done(std::move(prompts));
    }
};

}  // namespace

void Servers::prompts(std::move_only_function<void(std::vector<Prompt>)> done) {
    auto all = std::make_shared<Collected>();
    all->done = std::move(done);
    for (auto& entry : entries_) {
        auto& session = *entry.session;
        if (!session.server().enabled || !fault_of(session.server()).empty()) continue;
        session.open([&session, all](const base::Status& status) {
            if (!status || !session.has_prompts()) return;
            const auto running = session.call(
                "prompts/list", {}, kPromptWait, [&session, all](const Session::Answer& answer) {
                    if (!answer) return;
                    auto listed = listed_prompts(session.server().name, *answer);
                    std::ranges::move(listed, std::back_inserter(all->prompts));
                });
        });
    }
}

void Servers::expand(const std::string& server, json::object params,
                     std::move_only_function<void(base::Result<Expanded>)> done) {
    const auto found = std::ranges::find(
        entries_, server, [](const Entry& entry) { return entry.session->server().name; });
    if (found == entries_.end() || !found->session->server().enabled)
        return done(base::fail(base::ErrorCode::NotFound,
                               "there is no MCP server '{}'; holon mcp status lists all", server));
    const auto running = found->session->call(
        "prompts/get", std::move(params), kPromptWait,
        [server, done = std::move(done)](const Session::Answer& answer) mutable {
            if (answer) return done(expanded_prompt(*answer));
            done(base::fail(base::ErrorCode::Unavailable, "{}",
                            error_for(answer.error(), server, "prompts/get").message));
        });
}

}  // namespace mcp
