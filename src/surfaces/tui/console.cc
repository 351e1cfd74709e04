#include "surfaces/tui/console.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "base/os/files.h"
#include "surfaces/tui/screen/key_reader.h"
#include "surfaces/tui/screen/presenter.h"
#include "surfaces/tui/screen/tty.h"
#include "surfaces/tui/session/session.h"

namespace tui {
namespace {

constexpr std::chrono::milliseconds kEscapeWait{40};  // Then a lone ESC is the Escape key.
constexpr std::size_t kReadBytes = 64 * 1024;
constexpr std::string_view kHome = "\x1b[H";

// Edits a text in the operator's editor, on a terminal that is theirs meanwhile.
base::Result<std::string> edited(const std::string& text) {
    std::string file = std::filesystem::temp_directory_path() / "holon-draft-XXXXXX";
    const base::Fd fd(::mkstemp(file.data()));
    if (!fd || !base::write_all(fd.get(), text)) {
        if (fd) ::unlink(file.c_str());
        return base::fail(base::ErrorCode::Io, "the draft could not be written to {}", file);
    }
    // The words of $EDITOR are the operator's own; the file is passed as an argument.
    std::string shell = "/bin/sh";
    std::string flag = "-c";
    std::string script = R"(exec ${VISUAL:-${EDITOR:-vi}} "$1")";
    std::array<char*, 6> argv{shell.data(), flag.data(), script.data(),
                              shell.data(), file.data(), nullptr};
    pid_t pid = -1;
    int status = -1;
    if (::posix_spawn(&pid, shell.c_str(), nullptr, nullptr, argv.data(), environ) == 0)
        while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
    auto after = base::read_file(file, kDraftBytesMax);
    ::unlink(file.c_str());
    if (status != 0)
        return base::fail(base::ErrorCode::Io,
                          "the editor failed; set EDITOR to one that runs on this terminal");
    if (after && after->ends_with('\n')) after->pop_back();
    return after ? cleaned_paste(*after) : after;
}

class Loop {
public:
    explicit Loop(const ConsoleParts& parts)
        : parts_(parts),
          is_full_(parts.alternate_screen == AlternateScreen::Always),
          inbox_(wake_),
          tty_(wake_),
          size_(tty_.size()),
          main_(parts.colours, size_.columns, size_.rows) {}

    ~Loop() {
        parts_.link->connect(nullptr);
        leave_screen();
        tty_.leave();  // Before the session waits for a call that is under way.
    }
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    void run() {
        session_ = std::make_shared<Session>(session_parts());
        parts_.link->connect([this](const base::Error& error) {
            inbox_.post([this, error] { session_->on_lost(error); });
        });
        if (is_full_) tty_.write(Tty::enter_alternate(true));
        session_->start(size_);
        bool goes_on = draw();
        while (goes_on && Tty::ended_by() == 0) {
            goes_on = wait() && serve(session_->take_request());
            if (goes_on) goes_on = draw();
        }
        session_->save();
    }

private:
    SessionParts session_parts() {
        std::string agent = parts_.agent;
        if (agent.empty()) agent = load_kept(parts_.kept_file).last_selected_agent_id;
        if (agent.empty()) agent = parts_.default_agent;
        return {.service = parts_.service,
                .plans = parts_.plans,
                .clock = parts_.clock,
                .wake = wake_,
                .inbox = inbox_,
                .agent = agent,
                .where = parts_.where,
                .user = parts_.user,
                .cwd = parts_.cwd,
                .kept_file = parts_.kept_file,
                .fullscreen = is_full_,
                .overlays_fill = parts_.alternate_screen != AlternateScreen::Never,
                .greeting = parts_.greeting,
                .picks = parts_.picks,
                .models = parts_.models,
                .mcp = parts_.mcp,
                .leaves = parts_.leaves};
    }

    // Until something happens; then lets the session know. False: the terminal is gone.
    bool wait() {
        std::array<pollfd, 2> fds{pollfd{tty_.in(), POLLIN, 0}, pollfd{wake_.fd(), POLLIN, 0}};
        const auto tick = session_->next_tick();
        int timeout = tick ? static_cast<int>(tick->count()) : -1;
        if (reader_.is_waiting()) timeout = static_cast<int>(kEscapeWait.count());
        const int ready = ::poll(fds.data(), fds.size(), timeout);
        if (ready < 0 && errno != EINTR) return false;
        if (ready == 0 && reader_.is_waiting()) {
            for (const auto& key : reader_.expire()) session_->on_key(key);
            return true;
        }
        if (ready == 0) session_->on_tick();
        if ((fds[1].revents & POLLIN) != 0) {
            wake_.clear();
            inbox_.drain();
            session_->on_news();
        }
        if (Tty::take_resized()) resize();
        if ((fds[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0) return read_keys();
        return true;
    }

    bool read_keys() {
        std::array<char, kReadBytes> bytes{};
        const auto got = ::read(tty_.in(), bytes.data(), bytes.size());
        if (got <= 0) return got < 0 && (errno == EINTR || errno == EAGAIN);
        for (const auto& key : reader_.feed({bytes.data(), static_cast<std::size_t>(got)})) {
            session_->on_key(key);
            if (!serve(session_->take_request())) return false;
        }
        return true;
    }

    // False: the operator leaves.
    bool serve(Request request) {
        switch (request) {
            case Request::None:
                return true;
            case Request::Quit:
                return false;
            case Request::Redraw:
                main_.redraw();
                return true;
            case Request::Suspend:
                hand_over([] { ::raise(SIGTSTP); });
                return true;
            case Request::Editor:
                edit();
                return true;
        }
        return true;
    }

    void edit() {
        base::Result<std::string> text{std::string()};
        hand_over([&] { text = edited(session_->draft()); });
        if (text)
            session_->set_draft(*text);
        else
            session_->say(text.error().message);
    }

    // Another program has the terminal for a while.
    template <class Other>
    void hand_over(Other other) {
        leave_screen();
        tty_.leave();
        other();
        tty_.enter();
        if (is_full_) tty_.write(Tty::enter_alternate(true));
        main_.forget();
        resize();
    }

    void leave_screen() {
        if (overlay_) {
            tty_.write(Tty::leave_alternate());
            overlay_.reset();
        }
        if (is_full_)
            tty_.write(Tty::leave_alternate());
        else
            tty_.write(main_.leave());
    }

    void resize() {
        const Size size = tty_.size();
        if (size == size_) return;
        size_ = size;
        main_.resize(size.columns, size.rows);
        if (is_full_) {
            main_.forget();
            tty_.write(kHome);
        }
        if (overlay_) {
            overlay_.emplace(parts_.colours, size.columns, size.rows);
            tty_.write(kHome);
        }
        session_->resize(size);
    }

    bool draw() {
        const Drawing drawing = session_->draw();
        std::string bytes = session_->take_bytes();
        const bool is_apart =
            drawing.is_overlay && parts_.alternate_screen == AlternateScreen::Auto;
        if (is_apart && !overlay_) {
            bytes += Tty::enter_alternate(false);
            overlay_.emplace(parts_.colours, size_.columns, size_.rows);
        } else if (!is_apart && overlay_) {
            bytes += Tty::leave_alternate();
            overlay_.reset();
        }
        bytes += is_apart ? overlay_->draw({}, drawing.frame)
                          : main_.draw(drawing.finished, drawing.frame);
        return tty_.write(bytes);
    }

    const ConsoleParts& parts_;
    const bool is_full_;
    Wake wake_;
    Inbox inbox_;
    Tty tty_;
    KeyReader reader_;
    Size size_;
    Presenter main_;
    std::optional<Presenter> overlay_;  // While one is on a screen of its own.
    std::shared_ptr<Session> session_;
};

}  // namespace

AlternateScreen parse_alternate_screen(std::string_view text) {
    if (text == "always") return AlternateScreen::Always;
    if (text == "never") return AlternateScreen::Never;
    return AlternateScreen::Auto;
}

void Link::lost(const base::Error& error) {
    const std::lock_guard lock(mutex_);
    if (lost_) lost_(error);
}

void Link::connect(std::function<void(const base::Error&)> lost) {
    const std::lock_guard lock(mutex_);
    lost_ = std::move(lost);
}

base::Status check_terminal_for_console() {
    return check_terminal();
}

base::Status run_console(const ConsoleParts& parts) {
    TRY(check_terminal());
    Loop(parts).run();
    return {};
}

}  // namespace tui
