// Previews while other programs write the same files: each file is shown as one version, or its
// step is unknown; nothing is changed, and nothing is left behind.
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/os/files.h"
#include "exec/tools/vault/decide.h"
#include "tests/plans/world.h"

namespace plans_test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLine = 64;
constexpr std::size_t kBytes = kLine * 4096;
constexpr int kPreviews = 20;

// A version is one letter, line after line, so that a mixture of two shows.
std::string version(char letter) {
    std::string text(kBytes, letter);
    for (std::size_t end = kLine - 1; end < kBytes; end += kLine) text[end] = '\n';
    return text;
}

// The letters in a text, once each; those of marks and headings are no part of a version.
std::set<char> letters_in(std::string_view text) {
    std::set<char> letters;
    for (const char c : text)
        if (c >= 'a' && c <= 'z') letters.insert(c);
    return letters;
}

// How often a file is overwritten for each preview.
constexpr int kVersionsPerTurn = 100;

// A pipe: each turn() lets the one at its other end continue once.
class Turns {
public:
    Turns() {
        int ends[2];
        CHECK(::pipe2(ends, O_CLOEXEC) == 0, "a pipe can be made");
        out_.reset(ends[0]);
        in_.reset(ends[1]);
    }
    void turn() const { (void)!::write(in_.get(), "x", 1); }
    void end() { in_.reset(); }
    // False when there are no more.
    bool wait() const {
        char one{};
        return ::read(out_.get(), &one, 1) == 1;
    }

private:
    base::Fd out_, in_;
};

struct LastTurn {
    Turns& turns;
    ~LastTurn() { turns.end(); }
};

// Overwrites a file in place, without a lock, some versions a turn. Only system calls: it also runs
// in a child of a process with threads.
void overwrite(const char* path, const char* one, const char* other, const Turns& turns) {
    const int file = ::open(path, O_WRONLY | O_CLOEXEC);
    while (file >= 0 && turns.wait())
        for (int i = 0; i < kVersionsPerTurn; ++i)
            if (::pwrite(file, i % 2 == 0 ? one : other, kBytes, 0) < 0) _exit(1);
    if (file >= 0) ::close(file);
}

class OtherProcess {
public:
    explicit OtherProcess(const std::string& path)
        : one_(version('a')), other_(version('b')), pid_(::fork()) {
        if (pid_ != 0) return;
        turns.end();  // That of this process; the parent's ends the wait.
        overwrite(path.c_str(), one_.c_str(), other_.c_str(), turns);
        _exit(0);
    }
    ~OtherProcess() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    Turns turns;

private:
    std::string one_, other_;
    pid_t pid_;
};

class Threads {
public:
    ~Threads() {
        stop_ = true;
        for (auto& thread : threads_) thread.join();
    }
    void add(std::function<void()> each) {
        threads_.emplace_back([this, each = std::move(each)] {
            while (!stop_) each();
        });
    }

private:
    std::atomic<bool> stop_{false};
    std::vector<std::thread> threads_;
};

struct NoArtifacts final : results::ArtifactSink {
    base::Result<std::string> store(std::string_view, std::string_view) override { return "kept"; }
    fs::path reserve(std::string_view) override { return {}; }
};

std::size_t open_files() {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

constexpr std::string_view kPlan = R"({"version": "1.0", "goal": "Look", "riskLevel": "writes",
  "steps": [
    {"id": "foreign", "tool": "vault.readFile", "args": {"path": "Foreign.md"}, "onError": "skip"},
    {"id": "copy1", "tool": "vault.createFile", "onError": "skip",
     "args": {"path": "Copy 1.md", "content": "$steps.foreign.content"}},
    {"id": "renamed", "tool": "vault.readFile", "args": {"path": "Replaced.md"}, "onError": "skip"},
    {"id": "copy2", "tool": "vault.createFile", "onError": "skip",
     "args": {"path": "Copy 2.md", "content": "$steps.renamed.content"}},
    {"id": "locked", "tool": "vault.readFile", "args": {"path": "Locked.md"}, "onError": "skip"},
    {"id": "copy3", "tool": "vault.createFile", "onError": "skip",
     "args": {"path": "Copy 3.md", "content": "$steps.locked.content"}},
    {"id": "append", "tool": "vault.writeFile", "onError": "skip",
     "args": {"path": "Foreign.md", "content": "-- 1 --\n", "mode": "append"}},
    {"id": "find", "tool": "vault.searchText", "args": {"query": "aaaa"}, "onError": "skip"},
    {"id": "list", "tool": "vault.listFiles", "args": {}, "onError": "skip"},
    {"id": "move", "tool": "vault.rename", "onError": "skip",
     "args": {"from": "Kept.md", "to": "Moved.md"}, "dependsOn": ["append"]},
    {"id": "held", "tool": "vault.writeFile", "onError": "skip",
     "args": {"path": "Held.md", "content": "x"}}
  ]})";

TEST(PreviewBesideWriters, ShowsEachFileAsOneVersionAndLeavesNothingBehind) {
    World world;
    world.put("Foreign.md", version('a'));
    world.put("Foreign 2.md", version('a'));
    world.put("Replaced.md", version('c'));
    world.put("Locked.md", version('e'));
    world.put("Kept.md", "kept\n");
    world.put("Links.md", "[[Kept]]\n");
    world.put("Held.md", "held\n");
    const auto at = [&](std::string_view name) { return (world.vault() / name).string(); };
    const OtherProcess process(at("Foreign.md"));  // Before there are threads.
    Life life(world);
    domain::PlanRequest request{.text = std::string(kPlan)};
    request.policy = {{"confirmationsRequired", false}};

    const auto files_before = open_files();
    std::map<std::string, int> seen;
    {
        Turns turns;
        const std::string one = version('a'), other = version('b');
        std::jthread overwriting(
            [&] { overwrite(at("Foreign 2.md").c_str(), one.c_str(), other.c_str(), turns); });
        const LastTurn last{turns};  // Before the thread is joined.
        Threads writers;
        writers.add([&, next = 'c']() mutable {
            next = next == 'c' ? 'd' : 'c';
            (void)base::write_file_atomic(at("Replaced.md"), version(next), 0644);
        });
        // By the locks and the exchange that this program's own calls use.
        writers.add([&, next = 'e']() mutable {
            next = next == 'e' ? 'f' : 'e';
            const auto root = vault::Root::open(world.vault()).value();
            NoArtifacts sink;
            const auto decide = [&](bool) {
                return vault::decide_write(root, {.path = "Locked.md", .content = version(next)});
            };
            (void)vault::execute(root, decide, sink, {});
        });
        // Another program keeps a lock all the time; a preview asks for none.
        const base::Fd held(::open(at("Held.md").c_str(), O_RDONLY | O_CLOEXEC));
        ASSERT_EQ(::flock(held.get(), LOCK_EX), 0);

        for (int i = 0; i < kPreviews; ++i) {
            process.turns.turn();
            turns.turn();
            const auto begun = std::chrono::steady_clock::now();
            const auto preview = life.plans().preview(request);
            ASSERT_TRUE(preview) << preview.error().message;
            EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(20));
            for (const auto& step : preview->at("steps").get_array()) {
                const auto id = base::string_at(step, "stepId");
                if (const auto* fails = base::find(step, "fails"))
                    ADD_FAILURE() << id << " fails: " << *fails;
                if (base::find(step, "unknown")) {
                    ++seen[id + " unknown"];
                    continue;
                }
                ++seen[id];
                if (id.starts_with("copy"))
                    EXPECT_EQ(letters_in(base::string_at(step.at("args"), "content")).size(), 1U)
                        << id << " shows a mixture, in preview " << i;
                if (const auto* changes = base::find(step, "changes"); changes && id == "append")
                    for (const auto& change : changes->at("modifies").get_array()) {
                        auto diff = base::string_at(change, "diff");
                        diff.erase(0, diff.find("@@"));
                        EXPECT_LE(letters_in(diff).size(), 1U) << diff;
                    }
            }
        }
    }
    EXPECT_GT(seen["copy1"] + seen["copy1 unknown"], 0);
    EXPECT_EQ(seen["copy2"], kPreviews) << "a file that is replaced is never half written";
    EXPECT_EQ(seen["copy3"], kPreviews) << "this program's own writers replace files, too";
    EXPECT_EQ(seen["held"], kPreviews) << "a lock does not keep a preview from reading";
    EXPECT_EQ(seen["move"] + seen["move unknown"], kPreviews);
    EXPECT_EQ(open_files(), files_before) << "a preview left a file open";

    const auto files = world.files();
    std::vector<std::string> names;
    for (const auto& [name, text] : files) names.push_back(name);
    EXPECT_THAT(names, testing::ElementsAre("Foreign 2.md", "Foreign.md", "Held.md", "Kept.md",
                                            "Links.md", "Locked.md", "Replaced.md"));
    EXPECT_EQ(files.at("Kept.md") + files.at("Links.md") + files.at("Held.md"),
              "kept\n[[Kept]]\nheld\n");
    for (const auto& name : names) {
        const base::Fd file(::open(at(name).c_str(), O_RDONLY | O_CLOEXEC));
        EXPECT_EQ(::flock(file.get(), LOCK_EX | LOCK_NB), 0) << name << " is still locked";
    }
    EXPECT_FALSE(fs::exists(world.home() / "plans")) << "a preview is no run";
}

}  // namespace
}  // namespace plans_test
