#include "base/os/spawn.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <vector>

namespace base {
namespace {

constexpr std::string_view kPathDefault = "/bin:/usr/bin";

// Above 2, since the child's own 0, 1 and 2 are put in place one after the other.
Result<Fd> above_standard(Fd fd) {
    if (fd.get() > STDERR_FILENO) return fd;
    Fd moved(::fcntl(fd.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (!moved) return no_resource("pipe", std::strerror(errno));
    return moved;
}

Status check_spec(const ProcessSpec& spec) {
    if (spec.argv.empty() || spec.argv[0].empty())
        return fail(ErrorCode::InvalidInput, "no program was named");
    const auto has_nul = [](const std::string& text) { return text.contains('\0'); };
    if (std::ranges::any_of(spec.argv, has_nul))
        return fail(ErrorCode::InvalidInput, "an argument of '{}' holds a NUL byte", spec.argv[0]);
    for (const auto& [name, value] : spec.environment)
        if (name.empty() || name.contains('=') || has_nul(name) || has_nul(value))
            return fail(ErrorCode::InvalidInput, "the environment variable '{}' cannot be set",
                        name);
    // posix_spawn would say "no such file" for a missing folder as for a missing program.
    if (spec.cwd.empty()) return {};
    struct stat info{};
    if (::stat(spec.cwd.c_str(), &info) != 0)
        return fail_errno(fmt::format("the folder {} to run in", spec.cwd.string()));
    if (!S_ISDIR(info.st_mode))
        return fail(ErrorCode::InvalidInput, "{} is not a folder to run in", spec.cwd.string());
    return {};
}

enum class Candidate { Missing, NotExecutable, Program };

Candidate inspect(const std::filesystem::path& path) {
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0) return Candidate::Missing;
    if (!S_ISREG(info.st_mode) || ::access(path.c_str(), X_OK) != 0)
        return Candidate::NotExecutable;
    return Candidate::Program;
}

std::vector<std::filesystem::path> places_of(const ProcessSpec& spec) {
    const std::string& name = spec.argv[0];
    if (name.contains('/')) return {spec.cwd / name};
    std::string_view folders = kPathDefault;
    const auto path =
        std::ranges::find(spec.environment, "PATH",
                          [](const auto& variable) -> const auto& { return variable.first; });
    if (path != spec.environment.end()) folders = path->second;
    std::vector<std::filesystem::path> places;
    while (true) {
        // An empty or relative element would mean the folder to run in, which others may write.
        const std::size_t end = folders.find(':');
        if (folders.starts_with('/'))
            places.push_back(std::filesystem::path(folders.substr(0, end)) / name);
        if (end == std::string_view::npos) return places;
        folders.remove_prefix(end + 1);
    }
}

// The file actions and attributes of posix_spawn, which need freeing.
struct SpawnSetup {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;

    SpawnSetup() {
        ::posix_spawn_file_actions_init(&actions);
        ::posix_spawnattr_init(&attributes);
    }
    ~SpawnSetup() {
        ::posix_spawn_file_actions_destroy(&actions);
        ::posix_spawnattr_destroy(&attributes);
    }
    SpawnSetup(const SpawnSetup&) = delete;
    SpawnSetup& operator=(const SpawnSetup&) = delete;
};

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (auto& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

void set_streams(posix_spawn_file_actions_t* actions, const Streams& streams) {
    if (!streams.terminal.empty()) {
        // Opened by the leader of a new session, it becomes the controlling terminal.
        ::posix_spawn_file_actions_addopen(actions, STDIN_FILENO, streams.terminal.c_str(), O_RDWR,
                                           0);
        ::posix_spawn_file_actions_adddup2(actions, STDIN_FILENO, STDOUT_FILENO);
        ::posix_spawn_file_actions_adddup2(actions, STDIN_FILENO, STDERR_FILENO);
        return;
    }
    const auto set = [&](int fd, int standard) {
        if (fd < 0)
            ::posix_spawn_file_actions_addopen(actions, standard, "/dev/null", O_RDWR, 0);
        else
            ::posix_spawn_file_actions_adddup2(actions, fd, standard);
    };
    set(streams.in, STDIN_FILENO);
    set(streams.out, STDOUT_FILENO);
    set(streams.err, STDERR_FILENO);
}

}  // namespace

std::unexpected<Error> no_resource(std::string_view what, std::string_view why) {
    return fail(ErrorCode::Unavailable, "no process can be started: {}: {}", what, why);
}

Result<Pipe> make_pipe(OurEnd ours) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return no_resource("pipe", std::strerror(errno));
    Fd read(ends[0]), write(ends[1]);
    Pipe pipe{TRY(above_standard(std::move(read))), TRY(above_standard(std::move(write)))};
    // Ours only: the two ends have flags of their own, and commands expect a pipe that blocks.
    const Fd& end = ours == OurEnd::Read ? pipe.read : pipe.write;
    ::fcntl(end.get(), F_SETFL, O_NONBLOCK);
    return pipe;
}

// Looked up by ourselves: posix_spawnp would take our PATH and not the command's.
Result<std::string> find_program(const ProcessSpec& spec) {
    TRY(check_spec(spec));
    if (spec.argv[0] == kFirstFile && !spec.files.empty()) return spec.argv[0];
    bool found = false;
    for (const auto& place : places_of(spec)) {
        const Candidate candidate = inspect(place);
        // Absolute, because the child changes its folder before it searches.
        std::error_code error;
        if (candidate == Candidate::Program)
            return std::filesystem::absolute(place, error).string();
        found = found || candidate == Candidate::NotExecutable;
    }
    if (found)
        return fail(ErrorCode::InvalidInput, "the program '{}' is not executable", spec.argv[0]);
    return fail(ErrorCode::NotFound, "the program '{}' was not found", spec.argv[0]);
}

std::unexpected<Error> spawn_failure(int error, const std::string& program) {
    switch (error) {
        case ENOENT:
            return fail(ErrorCode::NotFound, "the interpreter of the program '{}' was not found",
                        program);
        case EACCES:
        case ENOEXEC:
            return fail(ErrorCode::InvalidInput, "the program '{}' cannot be run: {}", program,
                        std::strerror(error));
        case E2BIG:
            return fail(ErrorCode::InvalidInput,
                        "the arguments and environment of '{}' are too long", program);
        default:
            return fail(ErrorCode::Unavailable, "the program '{}' could not be started: {}",
                        program, std::strerror(error));
    }
}

int spawn(const std::string& program, const ProcessSpec& spec, const Streams& streams, pid_t& pid) {
    SpawnSetup setup;
    auto* const actions = &setup.actions;
    set_streams(actions, streams);
    int kept = STDERR_FILENO + 1;
    for (const int fd : streams.passed) ::posix_spawn_file_actions_adddup2(actions, fd, kept++);
    for (const auto& file : spec.files)
        ::posix_spawn_file_actions_adddup2(actions, file->get(), kept++);
    if (!spec.cwd.empty()) ::posix_spawn_file_actions_addchdir_np(actions, spec.cwd.c_str());
    if (!streams.program_closes_rest) ::posix_spawn_file_actions_addclosefrom_np(actions, kept);

    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&setup.attributes, &none);
    ::posix_spawnattr_setsigdefault(&setup.attributes, &all);
    // A session and not only a group: it marks descendants that change their group, and no command
    // can ask for a password on our terminal.
    ::posix_spawnattr_setflags(&setup.attributes,
                               POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

    std::vector<std::string> argv = spec.argv, environment;
    for (const auto& [name, value] : spec.environment) environment.push_back(name + "=" + value);
    return ::posix_spawn(&pid, program.c_str(), actions, &setup.attributes,
                         pointers_to(argv).data(), pointers_to(environment).data());
}

}  // namespace base
