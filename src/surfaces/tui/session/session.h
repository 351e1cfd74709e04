// One agent on the operator's screen: what is shown of it, and what the operator does to it. Knows
// keys and lines; the terminal is the console's. One thread.
#pragma once

#include <chrono>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/time.h"
#include "service/plans.h"
#include "service/service.h"
#include "surfaces/tui/compose/commands.h"
#include "surfaces/tui/compose/composer.h"
#include "surfaces/tui/overlays/overlay.h"
#include "surfaces/tui/screen/presenter.h"
#include "surfaces/tui/screen/tty.h"
#include "surfaces/tui/session/conversation.h"
#include "surfaces/tui/session/follower.h"
#include "surfaces/tui/session/inbox.h"
#include "surfaces/tui/session/keep.h"
#include "surfaces/tui/session/status.h"

namespace tui {

inline constexpr std::chrono::milliseconds kSpinInterval{250};
inline constexpr std::chrono::seconds kNoteShown{10};
inline constexpr std::chrono::seconds kTwiceWithin{2};  // Two presses that mean one thing.
inline constexpr std::size_t kStreamRowsMax = 8;
inline constexpr std::size_t kPendingRowsMax = 4;
inline constexpr std::size_t kHistoryBlocks = 40;  // Shown at the start.
inline constexpr std::size_t kHistoryPages = 12;   // Read for them at most.
inline constexpr std::size_t kHistoryTurns = 12;   // Messages and briefs that are enough.
inline constexpr std::size_t kKeptBlocks = 500;    // For the full screen, which has no scrollback.
inline constexpr std::size_t kRecentTasks = 50;
// While agents work, approvals are looked for: those of children come without an event.
inline constexpr std::chrono::seconds kApprovalsInterval{3};
inline constexpr std::size_t kApprovalsCounted = 50;
inline constexpr std::int64_t kPatchEntries = 50;         // Of the transcript, to find a patch in.
inline constexpr std::size_t kFinishedLinesMax = 20'000;  // Held while an overlay is open.
inline constexpr std::chrono::seconds kPromptsKept{60};   // Lists of MCP prompts, and of models.
// A text of an MCP server is not sent by an Enter that was on its way when it appeared.
inline constexpr std::chrono::milliseconds kReadFirst{1000};

struct SessionParts {
    service::Service& service;
    service::Plans& plans;
    base::Clock& clock;
    const Wake& wake;
    Inbox& inbox;
    std::string agent;    // The one to begin with; with `picks`, the one that Escape takes.
    std::string where{};  // Which runtime, for the status line.
    std::string user{};
    std::filesystem::path cwd{};        // Where relative paths start.
    std::filesystem::path kept_file{};  // What is remembered between starts.
    bool fullscreen{false};
    bool overlays_fill{true};  // The whole screen; else a row above them stays.
    std::string greeting{};    // Shown first.
    bool picks{false};         // The operator chooses where there are several agents.
    Models models{};
    service::McpLive* mcp{nullptr};  // Null: the runtime has no MCP servers.
    std::stop_source leaves{};       // Stopped at the end: calls of `mcp` end soon then.
};

// What the terminal is to be asked for.
enum class Request { None, Quit, Suspend, Editor, Redraw };

struct Drawing {
    std::vector<show::Line> finished{};  // For the scrollback.
    Frame frame{};
    bool is_overlay{false};  // The frame fills the screen.
};

// What puts a text into the clipboard of a terminal that allows it (OSC 52). Pure.
std::string clipboard_bytes(std::string_view text);

class Session : public std::enable_shared_from_this<Session> {
public:
    explicit Session(SessionParts parts);
    ~Session();

    // Begins to load the agent. Call it once.
    void start(Size size);
    void resize(Size size);
    void on_key(const Key& key);
    // What other threads brought.
    void on_news();
    void on_lost(const base::Error& error);
    // When to call on_tick(); nothing: never.
    std::optional<std::chrono::milliseconds> next_tick() const;
    void on_tick();
    Drawing draw();

    Request take_request() { return std::exchange(request_, Request::None); }
    // For the terminal as they are: the clipboard, a notification.
    std::string take_bytes() { return std::exchange(bytes_, {}); }
    std::string draft() const { return composer_.text(); }
    void set_draft(const std::string& text) { composer_.set_draft(text); }
    void say(const std::string& text) { note(text); }
    // At the end: remembers what the next start needs.
    void save();

private:
    struct Loaded {
        json::object state;
        std::vector<domain::Event> history;  // Oldest first.
    };

    // Loading and following.
    void pick_agent();
    void load(const std::string& agent);
    base::Result<Loaded> read_agent(const std::string& agent) const;
    void show_loaded(const std::string& agent, Loaded loaded);
    void refresh_status();
    bool has_work() const;
    void count_approvals();
    // The diff of a patch that has just been applied, below its line.
    void show_patch(const domain::Event& event);
    void on_event(const domain::Event& event);
    void add_blocks(std::vector<Block> blocks);
    void put_blocks(std::vector<Block> blocks);
    void notify(const Block& block);
    void remember_task(const domain::Event& event);

    // What the operator does.
    void on_composed(const Composed& composed);
    void send(const std::string& text);
    void run_command(const std::string& line);
    void run_command(const Command& command);
    void run_agent_command(const Command& command);
    void open_plan(const std::string& name);
    void undo(const std::string& patches);
    void compact();
    void set_display(const std::string& name);
    void set_model(const std::string& model);
    // Prompts of MCP servers, and what can be completed.
    void run_prompt(const std::string& line);
    void ask_argument(const std::string& line, const service::McpPrompt& prompt,
                      const service::McpPromptArgument& argument);
    void show_expanded(const std::string& line, base::Result<service::McpPromptText> expanded);
    void place_expanded();
    void want_prompts();
    void want_models();
    void export_transcript(const std::string& path);
    void on_escape();
    void on_interrupt_key();
    void interrupt();
    void open(std::shared_ptr<Overlay> overlay);
    void close_overlay();
    void switch_agent(const std::string& agent);
    void note(std::string text);
    // Says `done` when the call succeeds, else its error.
    template <class Job>
    void act(Job job, std::string done);

    // What is drawn.
    std::vector<show::Line> viewport(std::size_t rows, std::size_t& cursor_row,
                                     std::size_t& cursor_column);
    std::vector<show::Line> stream_lines(std::size_t rows) const;
    std::vector<show::Line> pending_lines() const;
    std::vector<show::Line> activity_lines() const;
    std::vector<show::Line> overlay_lines(std::size_t rows);
    std::vector<show::Line> history_lines(std::size_t rows);
    std::vector<Offer> offer_arguments(const std::string& command, const std::string& typed);
    std::vector<Offer> offer_prompts(const std::string& typed);
    std::vector<Offer> offer_files(const std::string& typed) const;

    SessionParts parts_;
    Kept kept_;
    Background reads_;   // One waits for a slow answer without keeping
    Background writes_;  // what the operator sends.
    Background slow_;    // One waits for MCP servers.
    Desk desk_;
    Composer composer_;
    Conversation conversation_;
    AgentView view_;
    Connection connection_;
    std::unique_ptr<Follower> follower_;
    std::shared_ptr<Overlay> overlay_;
    std::vector<std::string> agent_ids_;  // For completion.
    std::deque<domain::Task> recent_tasks_;
    Size size_;
    std::vector<show::Line> finished_;
    std::deque<Block> blocks_;  // For the full screen.
    std::size_t scrolled_{0};   // Lines up from the end, on the full screen.
    std::string note_;
    base::Time note_at_{};
    base::Time escaped_at_{};
    base::Time interrupted_at_{};
    base::Time overlay_ticked_at_{};
    std::size_t spin_{0};
    std::int64_t sent_{0};
    std::int64_t generation_{0};  // Of the agent that is shown.
    bool sends_when_loaded_{false};
    bool is_loading_{false};
    bool is_status_wanted_{false};
    bool is_status_running_{false};
    bool is_focused_{true};
    std::vector<service::McpPrompt> prompts_;
    base::Time prompts_at_{};   // When they were asked for,
    bool is_prompting_{false};  // and whether they still are.
    std::vector<service::ModelAvailability> models_;
    base::Time models_at_{};
    bool is_modelling_{false};
    std::optional<service::McpPromptText> expanded_;  // Not in the composer yet.
    base::Time expanded_at_{};                        // When one was put there.
    std::size_t questions_{0};
    std::size_t approvals_{0};
    base::Time approvals_at_{};  // When they were looked for.
    bool is_counting_{false};
    bool is_count_wanted_{false};
    std::string patched_round_;     // The round whose patches are shown,
    std::size_t patched_count_{0};  // and how many of them were.
    std::size_t patches_awaited_{0};
    std::vector<Block> held_;  // Until those have come, which belong above them.
    Request request_{Request::None};
    std::string bytes_;
};

}  // namespace tui
