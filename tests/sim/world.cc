#include "tests/sim/world.h"

#include <random>
#include <set>

#include "agent/context/summary/summary.h"
#include "base/hash.h"
#include "provider/scripted/scripted_provider.h"

namespace sim {
namespace {

class NoHandle final : public base::ProcessRunner::Handle {
public:
    void cancel() override {}
};

// A placeholder for the task that the conversation's last result named.
constexpr std::string_view kLastTask = "$last_task";

std::string last_task(const provider::Request& request) {
    constexpr std::string_view kLabel = "Task: ";
    for (auto turn = request.conversation.rbegin(); turn != request.conversation.rend(); ++turn)
        if (const auto* results = std::get_if<provider::ToolResultsTurn>(&*turn))
            for (auto result = results->results.rbegin(); result != results->results.rend();
                 ++result)
                if (const auto at = result->content.find(kLabel); at != std::string::npos) {
                    const auto from = at + kLabel.size();
                    return result->content.substr(from, result->content.find('\n', from) - from);
                }
    return "none";
}

provider::Outcome with_task(provider::Outcome outcome, const std::string& task) {
    if (!outcome) return outcome;
    for (auto& block : outcome->blocks)
        if (auto* use = std::get_if<domain::ToolUseBlock>(&block))
            if (base::string_at(use->input, "task_id") == kLastTask)
                use->input.as_object()["task_id"] = task;
    return outcome;
}

base::CapturedStream stream_of(const std::string& text) {
    return {.head = text, .bytes = text.size(), .lines = 1, .sha256 = base::sha256_hex(text)};
}

provider::ScriptedCall random_call(std::mt19937_64& random, const std::string& name,
                                   bool may_follow_up) {
    switch (random() % 13) {
        case 0:
            return {.name = "Sleep", .input = json::object{{"reason", "later"}}};
        case 1:
            if (may_follow_up)
                return {.name = "Enqueue", .input = json::object{{"text", "follow up on " + name}}};
            break;
        case 2:
            return {.name = "AgentGet", .input = json::object{}};
        case 3:
            return {.name = "ExecCommand",
                    .input = json::object{{"command", name}}};  // Does not fit.
        case 4:
            return {.name = "ExecCommandBatch",
                    .input = json::object{
                        {"items", json::array{json::object{{"cmd", name + "-a"}},
                                              json::object{{"cmd", name + "-fail"}}}}}};
        case 5:
            return {.name = "NoSuchTool", .input = json::object{}};
        // Becomes a task that ends during the turn, after it, or in the life of another process;
        // some race with their promotion.
        case 6:
            return {.name = "ExecCommand",
                    .input = json::object{{"cmd", name + (random() % 2 == 0 ? " slow" : " slower")},
                                          {"yield_time_ms", 10}}};
        case 7:
            return {.name = "ExecCommand",
                    .input = json::object{{"cmd", name}, {"yield_time_ms", 5}}};
        case 8:
            return {.name = "TaskList", .input = json::object{}};
        case 9:
            return {.name = "TaskOutput",
                    .input = json::object{{"task_id", kLastTask}, {"timeout_ms", 180'000}}};
        case 10:
            return {.name = "TaskStop", .input = json::object{{"task_id", kLastTask}}};
        default:
            break;
    }
    return {.name = "ExecCommand", .input = json::object{{"cmd", name}}};
}

// A limit that a retry waits for, or one that parks the turn.
provider::ScriptedFault limited(std::mt19937_64& random) {
    provider::ScriptedFault fault{.kind = provider::FailureKind::RateLimited,
                                  .message = "slow down"};
    if (random() % 2 == 0) fault.retry_after_ms = 3'600'000;
    return fault;
}

// What the message says: the last line of the context the turn opened with.
std::string message_of(const provider::Request& request) {
    const std::string& text = request.frame.context_blocks.back().text;
    return text.substr(text.rfind('\n') + 1);
}

}  // namespace

base::Result<std::shared_ptr<base::ProcessRunner::Handle>> FakeProcesses::start(
    base::ProcessSpec spec, std::move_only_function<void(base::ProcessExit)> on_exit) {
    const std::string cmd = spec.argv.back();
    ++world_.runs[cmd];
    base::ProcessExit exit{.exit_code = cmd.contains("fail") ? 1 : 0,
                           .duration = std::chrono::milliseconds(5)};
    exit.out = stream_of("ran " + cmd + "\n");
    loop_.after(std::chrono::milliseconds(5),
                [exit = std::move(exit), on_exit = std::move(on_exit)]() mutable {
                    on_exit(std::move(exit));
                });
    return std::make_shared<NoHandle>();
}

struct SimSupervisor::Attached {
    std::string id;
    supervisor::OnEnd on_end;
    base::Loop::TimerHandle timer{};
};

class SimSupervisor::Handle final : public Command {
public:
    Handle(SimSupervisor& supervisor, std::shared_ptr<Attached> attached)
        : supervisor_(supervisor), attached_(std::move(attached)) {}
    void write(std::string bytes,
               std::move_only_function<void(base::Result<std::int64_t>)> done) override {
        done(std::ssize(bytes));
    }
    void close_input() override {}
    void stop(std::chrono::milliseconds) override {
        const auto found = supervisor_.world_.commands.find(attached_->id);
        if (found == supervisor_.world_.commands.end() ||
            found->second.ends_at <= supervisor_.clock_.now())
            return;
        found->second.ends_at = supervisor_.clock_.now();
        found->second.end = supervisor::Ended{.signal = 15, .stopped = true};
        supervisor_.loop_.cancel(attached_->timer);
        supervisor_.finish(attached_);
    }

private:
    SimSupervisor& supervisor_;
    std::shared_ptr<Attached> attached_;
};

base::Result<std::shared_ptr<supervisor::Supervisor::Command>> SimSupervisor::start(
    supervisor::Spec spec, supervisor::OnEnd on_end) {
    const std::string cmd = spec.argv.back();
    ++world_.runs[cmd];
    const std::chrono::milliseconds takes = cmd.contains("slower") ? std::chrono::hours(2)
                                            : cmd.contains("slow") ? std::chrono::minutes(2)
                                                                   : std::chrono::milliseconds(5);
    world_.commands[spec.id] = {
        .cmd = cmd,
        .ends_at = clock_.now() + takes,
        .end = supervisor::Ended{.exit_code = cmd.contains("fail") ? 1 : 0, .duration = takes},
        .boot = world_.boot};
    return attach(spec.id, std::move(on_end));
}

std::shared_ptr<supervisor::Supervisor::Command> SimSupervisor::attach(const std::string& id,
                                                                       supervisor::OnEnd on_end) {
    auto attached = std::make_shared<Attached>(Attached{id, std::move(on_end)});
    const auto found = world_.commands.find(id);
    if (found != world_.commands.end() && found->second.boot == world_.boot)
        attached->timer = loop_.after(found->second.ends_at - clock_.now(),
                                      [this, attached] { finish(attached); });
    else
        finish(attached);
    return std::make_shared<Handle>(*this, std::move(attached));
}

void SimSupervisor::finish(const std::shared_ptr<Attached>& attached) {
    loop_.post([this, attached] {
        if (!attached->on_end) return;
        auto on_end = std::exchange(attached->on_end, nullptr);
        const auto found = world_.commands.find(attached->id);
        if (found == world_.commands.end() || found->second.boot != world_.boot)
            return on_end(supervisor::Lost{"The machine was restarted."});
        on_end(found->second.end);
    });
}

bool SimSupervisor::knows(const std::string& id) {
    const auto found = world_.commands.find(id);
    return found != world_.commands.end() && found->second.boot == world_.boot;
}

std::vector<std::string> SimSupervisor::known() {
    std::vector<std::string> ids;
    for (const auto& [id, command] : world_.commands) ids.push_back(id);
    return ids;
}

bool SimSupervisor::is_in_use(const std::string& id) {
    return knows(id) && world_.commands.at(id).ends_at > clock_.now();
}

void SimSupervisor::collect(
    const std::string& id, const std::filesystem::path&, const supervisor::Ended&,
    supervisor::Capture, std::move_only_function<void(base::Result<supervisor::Captured>)> done) {
    done(
        supervisor::Captured{stream_of("ran " + world_.commands.at(id).cmd + "\n"), stream_of("")});
}

std::string pairing_fault(const std::vector<provider::ConversationTurn>& conversation) {
    std::vector<std::string> open;
    for (const auto& turn : conversation) {
        if (const auto* results = std::get_if<provider::ToolResultsTurn>(&turn)) {
            std::vector<std::string> answered;
            for (const auto& result : results->results) answered.push_back(result.tool_use_id);
            if (answered != open)
                return "the results do not answer the calls before them, in order";
            open.clear();
        } else if (!open.empty()) {
            return "calls were followed by something other than their results";
        } else if (const auto* assistant = std::get_if<provider::AssistantTurn>(&turn)) {
            for (const auto& block : assistant->blocks)
                if (const auto* use = std::get_if<domain::ToolUseBlock>(&block))
                    open.push_back(use->id);
        }
    }
    return open.empty() ? "" : "the last calls have no results";
}

namespace {

bool asks_for_summary(const provider::Request& request) {
    const auto* last = request.conversation.empty()
                           ? nullptr
                           : std::get_if<provider::UserTurn>(&request.conversation.back());
    return last && last->blocks.front().text == context::summary_request();
}

// One that passes, one that does not, or none: the same for the same request.
provider::Outcome summary_for(const provider::Request& request) {
    switch (std::hash<std::string>{}(request.request_id) % 4) {
        case 0:
            return std::unexpected(provider::Failure{.kind = provider::FailureKind::ServerError,
                                                     .message = "no summary"});
        case 1:
            return provider::Reply{.blocks = {domain::TextBlock{"There is little to say."}}};
        default:
            return provider::Reply{.blocks = {domain::TextBlock{base::json_text(base::to_json(
                                       context::Summary{.goal = "to work", .next = "more"}))}}};
    }
}

// A summary on its way.
class Summarising final : public provider::Exchange {
public:
    explicit Summarising(std::move_only_function<void(provider::Outcome)> done)
        : done_(std::move(done)) {}
    void finish(provider::Outcome outcome) {
        if (is_cancelled_)
            outcome = std::unexpected(provider::Failure{.kind = provider::FailureKind::Cancelled,
                                                        .message = "cancelled"});
        done_(std::move(outcome));
    }
    void cancel() override { is_cancelled_ = true; }

private:
    std::move_only_function<void(provider::Outcome)> done_;
    bool is_cancelled_{false};
};

}  // namespace

std::shared_ptr<provider::Exchange> SimModel::ask(
    provider::Request request, provider::Progress progress,
    std::move_only_function<void(provider::Outcome)> done) {
    ++world_.requests;
    std::vector<provider::ConversationTurn> said;
    provider::each_turn(request, [&](const auto& turn) { said.push_back(turn); });
    if (auto fault = pairing_fault(said); !fault.empty())
        world_.pairing_faults.push_back(request.request_id + ": " + fault);
    std::string prompt = base::json_text(base::to_json(request.frame));
    for (const auto& turn : said) prompt += base::json_text(base::to_json(turn));
    // The same question, asked again by a new process, must be the same to the byte.
    const auto [known, is_new] = world_.first_prompts.emplace(request.request_id, prompt);
    if (!is_new && known->second != prompt) world_.changed_prompts.push_back(request.request_id);
    if (asks_for_summary(request)) {
        auto summarising = std::make_shared<Summarising>(std::move(done));
        loop_.after(std::chrono::milliseconds(5), [summarising, outcome = summary_for(request)] {
            summarising->finish(outcome);
        });
        return summarising;
    }
    const std::string message = message_of(request);
    auto& model = by_message_[message];
    if (!model)
        model = std::make_unique<provider::ScriptedProvider>(make_scenario(seed_, message), loop_);
    const std::string task = last_task(request);
    return model->ask(std::move(request), std::move(progress),
                      [task, done = std::move(done)](provider::Outcome outcome) mutable {
                          done(with_task(std::move(outcome), task));
                      });
}

namespace {

// Only talks about the item, picks it, or completes it with a report.
provider::Scenario work_scenario(std::mt19937_64& random) {
    const provider::ScriptedCall pick{"PickWorkItem", {{"work_item_id", "$work_item"}}};
    const provider::ScriptedCall complete{"CompleteWorkItem", {{"work_item_id", "$work_item"}}};
    provider::Scenario scenario;
    switch (random() % 3) {
        case 0:
            break;
        case 1:
            scenario.rounds.push_back({.tool_calls = {pick}});
            break;
        default:
            scenario.rounds.push_back({.tool_calls = {pick}, .delay_ms = 5});
            scenario.rounds.push_back({.text = "the report", .tool_calls = {complete}});
            break;
    }
    scenario.rounds.push_back(
        {.text = "all done", .delay_ms = static_cast<std::int64_t>(random() % 50)});
    return scenario;
}

}  // namespace

provider::Scenario make_scenario(std::uint64_t seed, const std::string& message) {
    std::mt19937_64 random(seed ^
                           std::stoull(base::sha256_hex(message).substr(0, 15), nullptr, 16));
    const bool may_follow_up = !message.starts_with("follow up");
    provider::Scenario scenario;
    if (message.starts_with("All output:")) {
        scenario.rounds.push_back({.text = "the task is over"});
        return scenario;
    }
    // The same tick comes again while its item is open, so no command may depend on it.
    if (message.contains("CompleteWorkItem") || message.contains("(blocked by: "))
        return work_scenario(random);
    const std::uint64_t rounds = 1 + random() % 3;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        provider::Round made{.text = fmt::format("round {} of {}", round, message)};
        if (is_talkative(seed))
            made.text += std::string(4'000, '.');
        else
            made.usage = provider::ScriptedUsage{.input_tokens = 10, .output_tokens = 5};
        if (random() % 3 == 0) made.delay_ms = static_cast<std::int64_t>(random() % 50);
        if (random() % 5 == 0) made.fault = limited(random);
        const std::uint64_t calls = 1 + random() % 3;
        for (std::uint64_t call = 0; call < calls; ++call)
            made.tool_calls.push_back(random_call(
                random, fmt::format("run {} {} of {}", round, call, message), may_follow_up));
        scenario.rounds.push_back(std::move(made));
    }
    scenario.rounds.push_back({.text = "all done"});
    return scenario;
}

}  // namespace sim
