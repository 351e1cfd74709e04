#include "surfaces/tui/session/session.h"

#include <algorithm>

#include "base/text.h"
#include "domain/events/control.h"
#include "domain/events/messages.h"
#include "domain/events/scheduler.h"
#include "domain/events/tasks.h"
#include "domain/events/tools.h"
#include "domain/events/turn.h"
#include "surfaces/show/words.h"

namespace tui {

using namespace domain::events;

namespace {

// Enough for the operator to know where the conversation stands.
bool is_turn_mark(const domain::Event& event) {
    if (const auto brief = read<BriefCreated>(event)) return brief->kind != domain::BriefKind::Ack;
    const auto started = read<MessageProcessingStarted>(event);
    return started && std::holds_alternative<domain::OperatorOrigin>(started->origin);
}

// What the status line shows may have changed.
bool changes_status(const domain::Event& event) {
    const auto category = views::category_of(event.kind);
    return category == views::Category::Workspace || category == views::Category::Task ||
           is_any<AgentModelOverrideSet, AgentModelOverrideCleared, TurnTerminal, AgentStateChanged,
                  ClosureDecided>(event);
}

}  // namespace

Session::Session(SessionParts parts)
    : parts_(std::move(parts)),
      kept_(load_kept(parts_.kept_file)),
      reads_(parts_.inbox),
      writes_(parts_.inbox),
      slow_(parts_.inbox),
      desk_{.service = parts_.service,
            .plans = parts_.plans,
            .clock = parts_.clock,
            .background = reads_,
            .slow = slow_,
            .mcp = parts_.mcp,
            .models = parts_.models,
            .user = parts_.user},
      composer_({.arguments =
                     [this](const std::string& command, const std::string& typed) {
                         return offer_arguments(command, typed);
                     },
                 .files = [this](const std::string& typed) { return offer_files(typed); },
                 .prompts = [this](const std::string& typed) { return offer_prompts(typed); }}) {
    desk_.note = [this](std::string text) { note(std::move(text)); };
    desk_.switch_agent = [this](const std::string& agent) { switch_agent(agent); };
    desk_.copy = [this](const std::string& text) {
        bytes_ += clipboard_bytes(text);
        note("copied " + base::counted(static_cast<std::int64_t>(text.size()), "byte"));
    };
    desk_.close = [this] { close_overlay(); };
    desk_.set_model = [this](const std::string& model) { set_model(model); };
    desk_.set_draft = [this](const std::string& text) {
        composer_.set_draft(text);
        composer_.refresh_menu();
    };
    desk_.open_question = [this](service::McpQuestion question) {
        open(question_overlay(desk_, std::move(question)));
    };
    desk_.open_approvals = [this] { open(approvals_overlay(desk_)); };
    composer_.set_history(kept_.history);
    composer_.placeholder = "Write to the agent; /help shows keys and commands";
    connection_.where = parts_.where;
    if (const auto mode = views::parse_display_mode(kept_.display)) conversation_.set_mode(*mode);
}

Session::~Session() {
    parts_.leaves.request_stop();
}

void Session::start(Size size) {
    size_ = size;
    if (!parts_.greeting.empty())
        add_blocks({{.kind = BlockKind::Note, .at = parts_.clock.now(), .text = parts_.greeting}});
    parts_.picks ? pick_agent() : load(parts_.agent);
}

// The list comes after the first frame. An operator who writes already means the default agent.
void Session::pick_agent() {
    reads_.run(
        shared_from_this(), [this] { return parts_.service.agent_list({}); },
        [this](const base::Result<std::vector<json::object>>& list) {
            const bool has_choice = list && list->size() > 1 && composer_.is_empty() && !overlay_;
            if (has_choice) return open(agent_picker_overlay(desk_, *list, parts_.agent));
            if (list && list->size() == 1)
                parts_.agent = show::pointer_text(list->front(), "/identity/agent_id");
            load(parts_.agent);
        });
}

void Session::load(const std::string& agent) {
    const std::int64_t generation = ++generation_;
    connection_.is_loaded = false;
    is_loading_ = true;
    parts_.agent = agent;
    reads_.run(
        shared_from_this(), [this, agent] { return read_agent(agent); },
        [this, agent, generation](base::Result<Loaded> loaded) {
            if (generation != generation_) return;
            is_loading_ = false;
            if (loaded) return show_loaded(agent, std::move(*loaded));
            connection_.is_connected = loaded.error().code != base::ErrorCode::Unavailable;
            connection_.reason = loaded.error().message;
            note(loaded.error().message);
        });
}

// The snapshot first: what happens after it comes with the events that are followed from its
// cursor.
base::Result<Session::Loaded> Session::read_agent(const std::string& agent) const {
    Loaded loaded{.state = TRY(parts_.service.state(agent))};
    std::int64_t before = base::int_at(json::value(loaded.state), "event_seq") + 1;
    std::size_t turns = 0;
    for (std::size_t page = 0; page < kHistoryPages && before > 1 && turns < kHistoryTurns;
         ++page) {
        const auto events =
            TRY(parts_.service.event_page(agent, {.before_seq = before, .limit = kEventPage}));
        if (events.empty()) break;
        for (const auto& event : events) {
            turns += is_turn_mark(event) ? 1 : 0;
            loaded.history.push_back(event);
        }
        before = loaded.history.back().event_seq;
    }
    std::ranges::reverse(loaded.history);
    return loaded;
}

void Session::show_loaded(const std::string& agent, Loaded loaded) {
    const json::value state = std::move(loaded.state);
    const auto* summary = base::find(state, "agent");
    const auto mode = conversation_.mode();
    conversation_ = {};
    conversation_.set_mode(mode);
    view_ = summary && summary->is_object() ? agent_view(summary->get_object()) : AgentView{};
    if (view_.agent_id.empty()) view_.agent_id = agent;
    desk_.agent = kept_.last_selected_agent_id = view_.agent_id;
    recent_tasks_.clear();
    std::vector<Block> blocks;
    for (const auto& event : loaded.history) {
        remember_task(event);
        std::ranges::move(conversation_.on_event(event), std::back_inserter(blocks));
    }
    if (blocks.size() > kHistoryBlocks)
        blocks.erase(blocks.begin(), blocks.end() - static_cast<std::ptrdiff_t>(kHistoryBlocks));
    conversation_.begin_here(!view_.current_run_id.empty(), parts_.clock.now());
    add_blocks(std::move(blocks));
    connection_.is_loaded = true;
    connection_.is_connected = true;
    count_approvals();
    follower_.reset();
    follower_ = std::make_unique<Follower>(
        parts_.service, parts_.wake, view_.agent_id,
        std::max(base::int_at(state, "event_seq"), conversation_.newest_seq()));
    reads_.run(
        shared_from_this(), [this] { return parts_.service.agent_list({}); },
        [this](const base::Result<std::vector<json::object>>& list) {
            if (!list) return;
            agent_ids_.clear();
            for (const auto& entry : *list)
                agent_ids_.push_back(show::pointer_text(entry, "/identity/agent_id"));
        });
    if (composer_.is_empty())
        if (const auto draft = kept_.drafts.find(view_.agent_id); draft != kept_.drafts.end())
            composer_.set_draft(draft->second);
    if (std::exchange(sends_when_loaded_, false) && !composer_.is_empty()) send(composer_.text());
}

void Session::on_news() {
    if (!follower_) return;
    const News news = follower_->take();
    if (connection_.is_connected && !news.is_connected) conversation_.forget_stream();
    if (!connection_.is_connected && news.is_connected) refresh_status();
    connection_.is_connected = news.is_connected;
    connection_.reason = news.reason;
    connection_.retry_at = news.retry_at;
    for (const auto& event : news.events) on_event(event);
    const base::Time now = parts_.clock.now();
    for (const auto& delta : news.deltas) {
        conversation_.on_delta(delta, now);
        if (delta.kind != service::DeltaKind::Question) continue;
        if (!delta.text.empty())
            note(fmt::format("The MCP server {} asks you something: /approvals", delta.text));
        count_approvals();
        if (overlay_) overlay_->on_change();
    }
    if (!news.events.empty() && overlay_) overlay_->on_change();
    if (!news.ended) return;
    // Events that were not read are kept no longer, or the agent is gone: the load says which.
    follower_.reset();
    load(view_.agent_id);
}

void Session::on_lost(const base::Error& error) {
    if (follower_) follower_->lost(error);
}

void Session::on_event(const domain::Event& event) {
    auto blocks = conversation_.on_event(event);
    remember_task(event);
    if (is<AgentStateChanged>(event)) {
        view_.status = base::string_at(event.data, "status");
        view_.current_run_id = base::string_at(event.data, "current_run_id");
    }
    if (is<TurnStarted>(event)) view_.needs_operator = false;
    if (const auto refused = read<ToolCallRefused>(event); refused && refused->proposal_id) {
        note("A call waits for your approval: /approvals");
        count_approvals();
    }
    if (changes_status(event)) refresh_status();
    for (const auto& block : blocks) notify(block);
    add_blocks(std::move(blocks));
    show_patch(event);
}

// At most one request at a time; what changed meanwhile is read by one more.
void Session::refresh_status() {
    if (is_status_running_) {
        is_status_wanted_ = true;
        return;
    }
    is_status_running_ = true;
    const std::int64_t generation = generation_;
    reads_.run(
        shared_from_this(), [this, agent = view_.agent_id] { return parts_.service.status(agent); },
        [this, generation](const base::Result<json::object>& summary) {
            is_status_running_ = false;
            if (generation == generation_ && summary) {
                view_ = agent_view(*summary);
                conversation_.figures_known();
            }
            if (std::exchange(is_status_wanted_, false)) refresh_status();
        });
}

// Something runs that may ask the operator.
bool Session::has_work() const {
    return conversation_.is_in_turn() || view_.active_tasks > 0 || !view_.children.empty() ||
           approvals_ > 0 || questions_ > 0;
}

// At most one request at a time; what changed meanwhile is counted by one more.
void Session::count_approvals() {
    if (std::exchange(is_counting_, true)) {
        is_count_wanted_ = true;
        return;
    }
    approvals_at_ = parts_.clock.now();
    struct Counted {
        std::optional<std::size_t> approvals;
        std::size_t questions;
    };
    reads_.run(
        shared_from_this(),
        [this, now = parts_.clock.now()] {
            Counted counted{.approvals = {}, .questions = waiting_questions(parts_.mcp).size()};
            if (const auto runs = waiting_runs(parts_.plans, now, kApprovalsCounted))
                counted.approvals = runs->size();
            return counted;
        },
        [this](const Counted& counted) {
            is_counting_ = false;
            const std::size_t approvals = counted.approvals.value_or(approvals_);
            if (!is_focused_ && approvals > approvals_)
                bytes_ += "\x1b]9;an approval waits for you\x1b\\\a";
            if (!is_focused_ && counted.questions > questions_)
                bytes_ += "\x1b]9;an MCP server asks you something\x1b\\\a";
            approvals_ = approvals;
            questions_ = counted.questions;
            if (std::exchange(is_count_wanted_, false)) count_approvals();
        });
}

// The event names no patch; it is in the round that asked for it, as the n-th of that round.
void Session::show_patch(const domain::Event& event) {
    if (conversation_.mode() == views::DisplayMode::Info) return;
    const auto done = read<ToolExecuted>(event);
    if (!done || done->tool_name != "ApplyPatch") return;
    const std::string round = fmt::format("{} {}", done->run_id, done->round);
    if (round != std::exchange(patched_round_, round)) patched_count_ = 0;
    const std::size_t index = patched_count_++;
    if (done->status != domain::ResultStatus::Ok) return;
    const std::int64_t generation = generation_;
    ++patches_awaited_;
    reads_.run(
        shared_from_this(),
        [this, agent = view_.agent_id, run = done->run_id, at = done->round,
         index]() -> base::Result<std::string> {
            const auto part = TRY(parts_.service.transcript(agent, {.limit = kPatchEntries}));
            return patch_of(part.items, run, at, index);
        },
        [this, generation, at = event.created_at](const base::Result<std::string>& patch) {
            --patches_awaited_;
            if (generation == generation_ && patch && !patch->empty())
                put_blocks({{.kind = BlockKind::Diff, .at = at, .text = *patch}});
            if (patches_awaited_ == 0) put_blocks(std::exchange(held_, {}));
        });
}

void Session::remember_task(const domain::Event& event) {
    std::optional<domain::Task> task;
    if (const auto created = read<TaskCreated>(event)) task = *created;
    if (const auto updated = read<TaskStatusUpdated>(event)) task = *updated;
    if (const auto ended = read<TaskResultReceived>(event)) task = *ended;
    if (!task) return;
    std::erase_if(recent_tasks_, [&](const domain::Task& one) { return one.id == task->id; });
    recent_tasks_.push_front(std::move(*task));
    if (recent_tasks_.size() > kRecentTasks) recent_tasks_.pop_back();
}

void Session::add_blocks(std::vector<Block> blocks) {
    if (patches_awaited_ == 0) return put_blocks(std::move(blocks));
    std::ranges::move(blocks, std::back_inserter(held_));
}

void Session::put_blocks(std::vector<Block> blocks) {
    for (auto& block : blocks) {
        for (auto& line : lines_of(block, size_.columns)) finished_.push_back(std::move(line));
        if (!parts_.fullscreen) continue;
        blocks_.push_back(std::move(block));
        if (blocks_.size() > kKeptBlocks) blocks_.pop_front();
    }
    if (finished_.size() > kFinishedLinesMax)
        finished_.erase(finished_.begin(),
                        finished_.end() - static_cast<std::ptrdiff_t>(kFinishedLinesMax));
}

// Only for an operator who looks elsewhere.
void Session::notify(const Block& block) {
    if (is_focused_) return;
    if (block.kind != BlockKind::Asks && block.kind != BlockKind::Result &&
        block.kind != BlockKind::Failure)
        return;
    const auto what = block.kind == BlockKind::Asks      ? "needs you"
                      : block.kind == BlockKind::Failure ? "failed"
                                                         : "answered";
    bytes_ += fmt::format("\x1b]9;{} {}\x1b\\\a", base::printable(view_.agent_id), what);
}

std::optional<std::chrono::milliseconds> Session::next_tick() const {
    std::optional<std::chrono::milliseconds> next;
    const auto at_most = [&](std::chrono::milliseconds wait) {
        next = std::min(next.value_or(wait), std::max(wait, std::chrono::milliseconds(1)));
    };
    if (conversation_.is_in_turn() && connection_.is_connected && !overlay_) at_most(kSpinInterval);
    if (!connection_.is_connected) at_most(std::chrono::seconds(1));
    if (!note_.empty())
        at_most(std::chrono::duration_cast<std::chrono::milliseconds>(note_at_ + kNoteShown -
                                                                      parts_.clock.now()));
    if (overlay_ && overlay_->interval().count() > 0) at_most(overlay_->interval());
    if (has_work() && connection_.is_connected)
        at_most(std::chrono::duration_cast<std::chrono::milliseconds>(
            approvals_at_ + kApprovalsInterval - parts_.clock.now()));
    return next;
}

void Session::on_tick() {
    const base::Time now = parts_.clock.now();
    ++spin_;
    if (!note_.empty() && now - note_at_ >= kNoteShown) note_.clear();
    if (overlay_ && overlay_->interval().count() > 0 &&
        now - overlay_ticked_at_ >= overlay_->interval()) {
        overlay_ticked_at_ = now;
        overlay_->on_tick();
    }
    if (has_work() && connection_.is_connected && now - approvals_at_ >= kApprovalsInterval)
        count_approvals();
    // The runtime was away when the agent was to be loaded.
    if (!follower_ && !connection_.is_connected && !is_loading_) load(parts_.agent);
}

void Session::save() {
    kept_.display = std::string(base::enum_name(conversation_.mode()));
    kept_.history = composer_.history();
    if (connection_.is_loaded) kept_.drafts[view_.agent_id] = composer_.text();
    save_kept(parts_.kept_file, kept_);
}

}  // namespace tui
