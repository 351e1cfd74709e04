#include "surfaces/cli/actions/stdin.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "base/text.h"

namespace cli {
namespace {

constexpr int kNoteAfterMs = 3000;

// A pipe or a file, and not what a service manager or a terminal gives to every program.
bool is_piped(int fd) {
    struct stat info{};
    return fstat(fd, &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISREG(info.st_mode));
}

// A person who waits learns what for.
void note_wait(const Terminal& terminal) {
    pollfd readable{terminal.in, POLLIN, 0};
    if (terminal.err_is_terminal && poll(&readable, 1, kNoteAfterMs) == 0)
        terminal.note("reading standard input; to run without it, add </dev/null");
}

base::Result<std::string> read_all(const Terminal& terminal) {
    note_wait(terminal);
    std::string text;
    std::array<char, 16 * 1024> buffer{};
    while (true) {
        const ssize_t got = read(terminal.in, buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return base::fail_errno("read standard input");
        if (got == 0) return base::to_utf8(text);
        text.append(buffer.data(), static_cast<std::size_t>(got));
        if (text.size() > kInputBytesMax)
            return base::fail(base::ErrorCode::InvalidInput,
                              "standard input has more than {} bytes; save it to a file and name "
                              "the file in the prompt",
                              kInputBytesMax);
    }
}

base::Status complete(std::string& text, const Terminal& terminal) {
    if (text == "-") {
        text = TRY(read_all(terminal));
    } else if (is_piped(terminal.in)) {
        const std::string input = TRY(read_all(terminal));
        if (!base::trim(input).empty())
            text = text.empty() ? input : text + "\n\nStandard input:\n\n" + input;
    }
    if (base::trim(text).empty())
        return base::fail(base::ErrorCode::InvalidInput,
                          "the prompt is empty; say what is to be done");
    return {};
}

}  // namespace

base::Status add_standard_input(Command& command, const Terminal& terminal) {
    if (auto* run = std::get_if<RunCommand>(&command)) {
        const bool needs_none = run->list || (run->request.resume && run->request.text.empty());
        if (!needs_none) return complete(run->request.text, terminal);
    }
    if (auto* prompt = std::get_if<PromptCommand>(&command))
        if (prompt->text == "-") return complete(prompt->text, terminal);
    return {};
}

}  // namespace cli
