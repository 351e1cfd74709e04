#include "exec/tools/mcp/session.h"

#include <algorithm>

#include "base/log/log.h"
#include "base/plain_text.h"
#include "base/text.h"
#include "exec/tools/mcp/pending.h"

namespace mcp {
namespace {

constexpr std::size_t kErrorLineBytesMax = 8 * 1024;
constexpr std::size_t kNoteCharsMax = 500;
constexpr std::size_t kWordCharsMax = 100;

std::string shown(std::string_view text) {
    return base::printable(base::ellipsize(base::to_utf8(text), kNoteCharsMax));
}

const json::object* object_at(const json::object& object, std::string_view name) {
    const auto* found = base::find(object, name);
    return found ? found->if_object() : nullptr;
}

std::string why_of(const Failure& failure) {
    if (const auto* refused = std::get_if<Refused>(&failure))
        return fmt::format("it answered with error {}: {}", refused->code,
                           base::plain_text(refused->message, kNoteCharsMax));
    if (const auto* died = std::get_if<Died>(&failure)) return died->how;
    if (const auto* unreached = std::get_if<NotStarted>(&failure)) return unreached->reason;
    return "it sent a message that was too long";
}

// What the operator's settings name: the program and the files among its arguments.
std::vector<std::filesystem::path> named_files(const config::McpServer& server) {
    std::vector<std::filesystem::path> list;
    std::vector<std::string> words = server.args;
    words.push_back(server.command);
    for (const std::filesystem::path word : words) {
        std::error_code failed;
        if (word.is_absolute() && std::filesystem::is_regular_file(word, failed))
            list.push_back(std::filesystem::canonical(word, failed));
    }
    return list;
}

}  // namespace

class Session::Handle final : public tools::Running {
public:
    Handle(std::weak_ptr<Session*> session, std::weak_ptr<Pending> call)
        : session_(std::move(session)), call_(std::move(call)) {}
    void cancel() override {
        const auto session = session_.lock();
        const auto call = call_.lock();
        if (session && call && call->done)
            (*session)->later({}, [session = *session, weak = call_] {
                if (const auto open = weak.lock(); open && open->done)
                    session->abandon(open, Stopped{});
            });
    }

private:
    std::weak_ptr<Session*> session_;
    std::weak_ptr<Pending> call_;
};

std::chrono::milliseconds restart_delay(int deaths) {
    if (deaths <= 0) return {};
    auto delay = kRestartDelayFirst;
    for (int i = 1; i < deaths && delay < kRestartDelayMax; ++i) delay *= 2;
    return std::min(delay, kRestartDelayMax);
}

Session::Session(SessionParts parts)
    : parts_(std::move(parts)),
      self_(std::make_shared<Session*>(this)),
      err_lines_(kErrorLineBytesMax) {}

Session::~Session() {
    withdraw_questions();
    parts_.loop.cancel(start_timer_);
}

template <class Event>
auto Session::while_alive(Event event) {
    return [weak = std::weak_ptr(self_), event](const auto&... given) {
        if (weak.lock()) event(given...);
    };
}

base::Loop::TimerHandle Session::later(std::chrono::microseconds delay, base::Job step) {
    return parts_.loop.after(delay,
                             [weak = std::weak_ptr(self_), step = std::move(step)]() mutable {
                                 if (weak.lock()) step();
                             });
}

void Session::open(std::move_only_function<void(base::Status)> done) {
    openers_.push_back(std::move(done));
    if (state_ == State::Stopped) start();
    if (state_ == State::Ready) later({}, [this] { become_ready(); });
}

std::shared_ptr<tools::Running> Session::call(std::string method, json::object params,
                                              std::chrono::milliseconds timeout,
                                              std::move_only_function<void(Answer)> done) {
    auto call =
        std::make_shared<Pending>(std::move(method), std::move(params), timeout, std::move(done));
    set_timer(call);
    waiting_.push_back(call);
    if (state_ == State::Ready) send_call(call);
    if (state_ == State::Stopped) start();
    return std::make_shared<Handle>(self_, call);
}

void Session::set_timer(const std::shared_ptr<Pending>& call) {
    parts_.loop.cancel(call->timer);
    call->timer = later(call->timeout, [this, weak = std::weak_ptr(call)] {
        if (const auto open = weak.lock(); open && open->done)
            abandon(open, TimedOut{open->timeout.count()});
    });
}

void Session::start() {
    state_ = State::Starting;
    const auto ready_at = died_at_ + restart_delay(deaths_);
    const auto delay = deaths_ == 0
                           ? std::chrono::microseconds(0)
                           : std::max(ready_at - parts_.clock.now(), std::chrono::microseconds(0));
    start_timer_ = later(delay, [this] { spawn(); });
}

base::Result<base::ProcessSpec> Session::process() const {
    const auto& server = parts_.server;
    if (!server.fault.empty()) return base::fail(base::ErrorCode::InvalidInput, "{}", server.fault);
    base::ProcessSpec spec{
        .argv = {server.command}, .cwd = server.cwd, .environment = server.environment};
    spec.argv.insert(spec.argv.end(), server.args.begin(), server.args.end());
    return parts_.boundary.enclose(std::move(spec),
                                   {.execution_root = std::filesystem::weakly_canonical(server.cwd),
                                    .readable = named_files(server)});
}

base::Result<std::unique_ptr<Child>> Session::reach(ChildEvents events) {
    if (parts_.server.url.empty()) return parts_.children.start(TRY(process()), std::move(events));
    if (!parts_.server.fault.empty())
        return base::fail(base::ErrorCode::InvalidInput, "{}", parts_.server.fault);
    return parts_.children.connect(parts_.server, std::move(events));
}

void Session::spawn() {
    const std::chrono::milliseconds limit(parts_.server.start_timeout_ms);
    start_timer_ = later(limit, [this, limit] {
        lose(fmt::format("it was not ready within {} ms", limit.count()));
    });
    out_lines_ = LineCodec();
    garbage_ = 0;
    unending_bytes_ = 0;
    error_bytes_ = 0;
    list_changes_ = 0;
    questions_asked_ = 0;
    is_stateless_ = false;
    auto child =
        reach({.on_out = while_alive([this](std::string_view bytes) { listen(bytes); }),
               .on_err = while_alive([this](std::string_view bytes) { keep_error_output(bytes); }),
               .on_end = while_alive([this](const std::string& how) { lose("it ended: " + how); }),
               .on_lost = while_alive([this](std::int64_t id, const Failure& failure) {
                   settle(id, std::unexpected(failure));
               })});
    if (!child) return lose(child.error().message);
    child_ = std::move(*child);
    introduce();
}

void Session::introduce() {
    send("initialize",
         {{"protocolVersion", kProtocolVersions[0]},
          {"capabilities", capabilities()},
          {"clientInfo", client_info()}},
         [this](const Answer& answer) { on_introduced(answer); });
}

void Session::on_introduced(const Answer& answer) {
    if (!answer && std::holds_alternative<Refused>(answer.error()))
        return discover(why_of(answer.error()));
    if (!answer) return lose(why_of(answer.error()));
    std::string version = base::string_at(json::value(*answer), "protocolVersion");
    if (!is_known_version(version))
        return lose(fmt::format("it speaks the protocol version '{}'; known are {}, {}",
                                base::plain_text(version, kWordCharsMax), kStatelessVersion,
                                fmt::join(kProtocolVersions, ", ")));
    if (child_) child_->agree_on(version);
    say(notification("notifications/initialized", {}));
    accept(*answer, std::move(version));
}

void Session::discover(const std::string& refusal) {
    is_stateless_ = true;
    if (child_) child_->agree_on(kStatelessVersion);
    send("server/discover", {},
         [this, refusal](const Answer& answer) { on_discovered(answer, refusal); });
}

void Session::on_discovered(const Answer& answer, const std::string& refusal) {
    const auto* versions = answer ? base::find(*answer, "supportedVersions") : nullptr;
    const bool is_known =
        versions && versions->is_array() &&
        std::ranges::find(versions->get_array(), json::value(kStatelessVersion)) !=
            versions->get_array().end();
    // What it said first says more than that it does not know the newer revision either.
    if (!is_known) return lose(refusal);
    accept(*answer, std::string(kStatelessVersion));
}

void Session::accept(const json::object& introduction, std::string version) {
    protocol_version_ = std::move(version);
    if (const auto* info = object_at(introduction, "serverInfo"))
        introduction_ = base::plain_text(base::string_at(json::value(*info), "name") + " " +
                                             base::string_at(json::value(*info), "version"),
                                         kWordCharsMax);
    const auto* capabilities = object_at(introduction, "capabilities");
    has_prompts_ = capabilities && capabilities->contains("prompts");
    if (has_listed_) return become_ready();
    listed_.has_resources = capabilities && capabilities->contains("resources");
    listing_.emplace();
    if (!capabilities || !capabilities->contains("tools")) return end_list();
    list_tools();
}

void Session::list_tools() {
    listing_.emplace();
    is_list_stale_ = false;
    list_page("");
}

void Session::list_page(const std::string& cursor) {
    if (++listing_->pages > kPagesMax)
        return give_up_list(fmt::format("its list of tools has more than {} pages", kPagesMax));
    json::object params;
    if (!cursor.empty()) params["cursor"] = cursor;
    send("tools/list", std::move(params),
         [this, cursor](const Answer& answer) { on_page(answer, cursor); });
}

void Session::on_page(const Answer& answer, const std::string& cursor) {
    if (!listing_) return;
    if (!answer) return give_up_list(why_of(answer.error()));
    const auto* list = base::find(*answer, "tools");
    if (!list || !list->is_array()) return give_up_list("its list of tools is no list");
    for (const auto& tool : list->get_array()) {
        listing_->bytes += base::json_text(tool).size();
        if (listing_->bytes > kListBytesMax)
            return give_up_list(
                fmt::format("its list of tools has more than {} bytes", kListBytesMax));
        listing_->tools.push_back(tool);
    }
    const std::string next = base::string_at(json::value(*answer), "nextCursor");
    if (next.empty()) return end_list();
    if (next == cursor) return give_up_list("its list of tools leads back to the same page");
    list_page(next);
}

void Session::end_list() {
    listed_.tools = std::move(listing_->tools);
    listing_.reset();
    const bool is_first = !std::exchange(has_listed_, true);
    if (listener_) listener_();
    if (is_first) become_ready();
    if (is_list_stale_) list_tools();
}

void Session::give_up_list(const std::string& why) {
    listing_.reset();
    if (!has_listed_) return lose(why);
    note("[holon] the changed list of tools was not read: " + why);
}

void Session::become_ready() {
    parts_.loop.cancel(std::exchange(start_timer_, base::Loop::TimerHandle::None));
    state_ = State::Ready;
    has_listed_ = true;
    for (auto& opener : std::exchange(openers_, {})) opener({});
    // Sending may lose the server, and then the others wait for the next.
    for (const auto waiting = waiting_; const auto& call : waiting)
        if (state_ == State::Ready && call->done) send_call(call);
}

void Session::lose(const std::string& why) {
    if (state_ == State::Stopped) return;
    const bool was_ready = state_ == State::Ready;
    parts_.loop.cancel(std::exchange(start_timer_, base::Loop::TimerHandle::None));
    state_ = State::Stopped;
    child_.reset();
    withdraw_questions();
    awaited_.clear();
    listing_.reset();
    ++deaths_;
    died_at_ = parts_.clock.now();
    note("[holon] the server is given up: " + why);
    if (was_ready) base::log_warn("the MCP server {} is lost: {}", parts_.server.name, why);
    for (auto& opener : std::exchange(openers_, {}))
        opener(base::fail(base::ErrorCode::Unavailable, "{}", why));
    fail_sent(Died{why});
    for (const auto waiting = std::exchange(waiting_, {}); const auto& call : waiting)
        if (call->done) finish(call, std::unexpected(NotStarted{why}));
}

std::int64_t Session::send(std::string_view method, json::object params, OnReply on_reply) {
    const std::int64_t id = next_id_++;
    awaited_[id] = std::move(on_reply);
    if (is_stateless_) params = with_client(std::move(params), capabilities());
    say(request(id, method, std::move(params)));
    return id;
}

void Session::say(const std::string& line) {
    if (child_ && !child_->write(line)) later({}, [this] { lose("it does not read its input"); });
}

void Session::send_call(const std::shared_ptr<Pending>& call) {
    std::erase(waiting_, call);
    sent_.push_back(call);
    // Its own id is the token by which the server reports progress.
    call->id = next_id_;
    if (is_stateless_ && parts_.questions && call->rounds == 0) call->original = call->params;
    call->params["_meta"] = json::object{{"progressToken", call->id}};
    send(call->method, std::move(call->params), [this, call](Answer answer) {
        if (!wants_input(call, answer)) finish(call, std::move(answer));
    });
}

void Session::finish(const std::shared_ptr<Pending>& call, Answer answer) {
    parts_.loop.cancel(std::exchange(call->timer, base::Loop::TimerHandle::None));
    std::erase(sent_, call);
    std::erase(waiting_, call);
    if (call->open_questions > 0) withdraw_inputs(*call);
    if (answer) deaths_ = 0;
    if (auto done = std::exchange(call->done, nullptr)) done(std::move(answer));
}

void Session::abandon(const std::shared_ptr<Pending>& call, Failure failure) {
    if (call->id == 0) {
        if (std::holds_alternative<TimedOut>(failure))
            failure = NotStarted{"it was not ready in time"};
        return finish(call, std::unexpected(std::move(failure)));
    }
    awaited_.erase(call->id);
    const bool is_cancelled = std::holds_alternative<Stopped>(failure);
    say(notification(
        "notifications/cancelled",
        {{"requestId", call->id}, {"reason", is_cancelled ? "cancelled" : "timeout"}}));
    finish(call, std::unexpected(std::move(failure)));
}

void Session::fail_sent(const Failure& failure) {
    for (const auto& call : std::exchange(sent_, {})) {
        awaited_.erase(call->id);
        if (call->done) finish(call, std::unexpected(failure));
    }
}

void Session::listen(std::string_view bytes) {
    unending_bytes_ += bytes.size();
    out_lines_.add(bytes, [this](std::string_view line) { hear(line); }, [this] { on_too_long(); });
    if (unending_bytes_ > kUnendingBytesMax) lose("it writes without end");
}

void Session::hear(std::string_view line) {
    unending_bytes_ = 0;
    for (const auto& message : decode(line)) {
        if (!child_) return;
        std::visit([this](const auto& said) { on(said); }, message);
    }
}

void Session::settle(std::int64_t id, Answer answer) {
    // Unknown: a second answer, or one that nobody waits for any more.
    auto found = awaited_.extract(id);
    if (found) found.mapped()(std::move(answer));
}

void Session::on(const Reply& reply) {
    settle(reply.id, reply.result);
}

void Session::on(const ErrorReply& error) {
    settle(error.id, std::unexpected(Refused{error.code, error.message}));
}

void Session::on(const Request& request) {
    if (request.method == "ping") return say(answer(request.id, {}));
    if (request.method == "elicitation/create" && parts_.questions) return elicit(request);
    say(refusal(request.id, kMethodNotFound, "method not found"));
}

void Session::on(const Notification& notification) {
    if (notification.method == "notifications/message")
        return note("[log] " + shown(base::json_text(notification.params)));
    if (notification.method == "notifications/cancelled") return stop_asking(notification.params);
    if (notification.method == "notifications/progress") return on_progress(notification.params);
    if (notification.method != "notifications/tools/list_changed" || state_ != State::Ready) return;
    if (listing_) {
        is_list_stale_ = true;
        return;
    }
    if (++list_changes_ > kListChangesMax) return;
    list_tools();
}

void Session::on_progress(const json::object& params) {
    const auto* token = base::find(params, "progressToken");
    if (!token || !token->is_int64()) return;
    const auto found = std::ranges::find(sent_, token->get_int64(), &Pending::id);
    if (found == sent_.end() || (*found)->timeouts >= kProgressTimeoutsMax) return;
    ++(*found)->timeouts;
    set_timer(*found);
    note("[progress] " + shown(base::json_text(params)));
}

void Session::on(const Garbage& garbage) {
    note("[holon] a line that is no message: " + shown(garbage.reason));
    if (++garbage_ > kGarbageMax)
        lose(fmt::format("it wrote more than {} lines that are no messages", kGarbageMax));
}

// It is unknown which call it answers, so no call keeps waiting for it.
void Session::on_too_long() {
    note("[holon] a message that is too long was not read");
    if (state_ == State::Ready) return fail_sent(TooLarge{});
    lose("it sent a message that was too long");
}

void Session::keep_error_output(std::string_view bytes) {
    const bool had_room = error_bytes_ <= kErrorBytesMax;
    error_bytes_ += bytes.size();
    if (error_bytes_ > kErrorBytesMax) {
        if (had_room)
            note("[holon] it writes too much here; nothing more is kept until it restarts");
        return;
    }
    err_lines_.add(
        bytes, [this](std::string_view line) { note(line); },
        [this] { note("[holon] a line that is too long was not kept"); });
}

void Session::note(std::string_view line) {
    if (!std::exchange(log_tried_, true)) {
        if (base::make_folders(parts_.log_file.parent_path(), 0700))
            if (auto file = base::LogFile::open(parts_.log_file, kServerLogBytesMax))
                log_ = std::move(*file);
        if (!log_)
            base::log_warn("what the MCP server {} says cannot be kept in {}", parts_.server.name,
                           parts_.log_file.string());
    }
    if (log_) log_->write(base::printable(base::to_utf8(line)));
}

}  // namespace mcp
