// A view that covers the conversation for a while. All of it runs on the thread of the keys.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "service/mcp.h"
#include "service/plans.h"
#include "service/service.h"
#include "service/settings.h"
#include "surfaces/show/line.h"
#include "surfaces/tui/keys.h"
#include "surfaces/tui/session/inbox.h"

namespace tui {

// All models that the runtime knows.
using Models = std::function<base::Result<std::vector<service::ModelAvailability>>()>;

// What overlays may use and do. It outlives them.
struct Desk {
    service::Service& service;
    service::Plans& plans;
    base::Clock& clock;
    Background& background;
    Background& slow;                // For calls that wait for MCP servers.
    service::McpLive* mcp{nullptr};  // Null: the runtime has none.
    Models models{};
    service::Caller caller{};
    std::string user{};                       // The approver of approvals given here.
    std::string agent{};                      // The one that is shown.
    std::function<void(std::string)> note{};  // Says something in the status line.
    std::function<void(std::string)> switch_agent{};
    std::function<void(std::string)> set_model{};  // "default": without one of its own.
    std::function<void(std::string)> set_draft{};  // Of the composer.
    std::function<void(service::McpQuestion)> open_question{};
    std::function<void()> open_approvals{};
    std::function<void(std::string)> copy{};  // Into the operator's clipboard.
    std::function<void()> close{};            // The overlay that is open.
};

class Overlay : public std::enable_shared_from_this<Overlay> {
public:
    virtual ~Overlay() = default;
    virtual std::string title() const = 0;
    virtual std::string hint() const = 0;
    // What Escape does, where on_key() has no other use for it.
    virtual std::string escape_hint() const { return "Esc closes"; }
    // Once, when it is opened, and on /refresh: loads what it shows.
    virtual void load() {}
    // Exactly `rows` lines.
    virtual std::vector<show::Line> view(std::size_t columns, std::size_t rows) = 0;
    // False: it has no use for the key, and Escape closes it.
    virtual bool on_key(const Key& key, std::size_t rows) = 0;
    // The agent has new events.
    virtual void on_change() {}
    // It shows something that changes without events: how often it wants to look.
    virtual std::chrono::milliseconds interval() const { return std::chrono::milliseconds(0); }
    virtual void on_tick() {}

protected:
    explicit Overlay(Desk& desk) : desk_(desk) {}

    // `then` with the result of `job`, while the overlay is open.
    template <class Job, class Then>
    void call(Job job, Then then) {
        desk_.background.run(shared_from_this(), std::move(job), std::move(then));
    }
    // The same for a call that waits for MCP servers.
    template <class Job, class Then>
    void call_slow(Job job, Then then) {
        desk_.slow.run(shared_from_this(), std::move(job), std::move(then));
    }
    // The value of a result; null, and its error is noted, when there is none.
    template <class T>
    const T* good(const base::Result<T>& result) {
        if (result) return &*result;
        desk_.note(result.error().message);
        return nullptr;
    }

    Desk& desk_;
};

// The runs that wait for the operator's yes, newest first, at most `max` of them.
base::Result<std::vector<domain::PlanRun>> waiting_runs(service::Plans& plans, base::Time now,
                                                        std::size_t max);

// What MCP servers ask the operator, the oldest first; nothing where there are none.
std::vector<service::McpQuestion> waiting_questions(service::McpLive* mcp);

// The overlays, by what they show.
std::shared_ptr<Overlay> help_overlay(Desk& desk);
std::shared_ptr<Overlay> agents_overlay(Desk& desk, std::vector<json::object> children);
// At the start, to choose from: `entries` is the list so far, and Escape takes `default_agent`.
std::shared_ptr<Overlay> agent_picker_overlay(Desk& desk, const std::vector<json::object>& entries,
                                              std::string default_agent);
std::shared_ptr<Overlay> transcript_overlay(Desk& desk, const std::string& search);
std::shared_ptr<Overlay> tasks_overlay(Desk& desk, std::vector<domain::Task> recent);
std::shared_ptr<Overlay> work_overlay(Desk& desk);
std::shared_ptr<Overlay> approvals_overlay(Desk& desk);
// One question of an MCP server, to be answered.
std::shared_ptr<Overlay> question_overlay(Desk& desk, service::McpQuestion question);
// What MCP servers offer to say.
std::shared_ptr<Overlay> prompts_overlay(Desk& desk);
std::shared_ptr<Overlay> plans_overlay(Desk& desk);
// What a plan would do, to be run from there.
std::shared_ptr<Overlay> plan_preview_overlay(Desk& desk, service::PlanRequest request);
std::shared_ptr<Overlay> events_overlay(Desk& desk);
std::shared_ptr<Overlay> state_overlay(Desk& desk);
std::shared_ptr<Overlay> prompt_overlay(Desk& desk, const std::string& text);
std::shared_ptr<Overlay> model_overlay(Desk& desk);
std::shared_ptr<Overlay> skills_overlay(Desk& desk);

}  // namespace tui
