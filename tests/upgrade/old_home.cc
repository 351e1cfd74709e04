#include "tests/upgrade/old_home.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>

#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/support/eventually.h"

namespace upgrade {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRoot = "/tmp/holon-upgrade-fixture";
constexpr std::int64_t kPage = 50'000;

bool remove_root() {
    std::error_code failed;
    fs::remove_all(kRoot, failed);
    return !failed;
}

}  // namespace

OldHome::OldHome() {
    lock_.reset(::open("/tmp/holon-upgrade-fixture.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    CHECK(lock_ && ::flock(lock_.get(), LOCK_EX) == 0, "the lock of the folder can be taken");
    program.environment["HOME"] = kRoot;
    program.environment["HOLON_HOME"] = home().string();
    program.environment["HOLON_HTTP_ADDR"] = fmt::format("127.0.0.1:{}", e2e::free_port());
    // A test that was killed may have left a daemon there.
    if (fs::exists(home())) stop_daemon();
    CHECK(remove_root(), "the folder of an earlier test can be removed");
    auto unpacked = program.start_command({"/usr/bin/env", "python3", "-m", "tarfile", "-e",
                                           HOLON_OLD_HOME, fs::path(kRoot).parent_path().string()});
    EXPECT_EQ(unpacked.wait(kPatience).exit_code, 0) << unpacked.err_so_far();
    program.started_in = root() / "repo";
    model_says("Continued.");
}

OldHome::~OldHome() {
    stop_daemon();
    EXPECT_TRUE(remove_root());
}

void OldHome::stop_daemon() {
    const auto stopped = program.start({"daemon", "stop"}).wait(kPatience);
    EXPECT_EQ(stopped.exit_code, 0) << stopped.err;
}

fs::path OldHome::root() const {
    return kRoot;
}

// The second round is for a turn whose first one was answered before. An open turn keeps the model
// it was opened with, so the files of the old models get the same answers.
void OldHome::model_says(const std::string& text) {
    const json::array rounds{e2e::says(text), e2e::says(text)};
    program.script(rounds);
    for (const auto& model : fs::directory_iterator(root() / "models"))
        program.write(model.path(), base::json_text(json::object{{"rounds", rounds}}));
}

void OldHome::start_daemon() {
    const auto started = program.start({"daemon", "start"}).wait(kPatience);
    ASSERT_EQ(started.exit_code, 0) << started.err;
}

std::vector<std::string> OldHome::agents() {
    std::vector<std::string> names;
    const auto all = base::parse_json(program.read(root() / "events.json")).value();
    for (const auto& member : all.as_object()) names.emplace_back(member.key());
    return names;
}

std::string OldHome::served(const std::string& agent, std::int64_t after_seq) {
    std::string all;
    while (true) {
        const auto page = program
                              .start({"events", "--agent", agent, "--after-seq",
                                      std::to_string(after_seq), "--limit", std::to_string(kPage)})
                              .wait(kPatience);
        EXPECT_EQ(page.exit_code, 0) << page.err;
        all += page.out;
        const auto lines = std::ranges::count(page.out, '\n');
        after_seq += lines;
        if (lines < kPage) return all;
    }
}

OldHome::Recorded OldHome::recorded(const std::string& agent) {
    const auto all = base::parse_json(program.read(root() / "events.json")).value();
    const auto& entry = all.at(agent);
    return {base::int_at(entry, "events"), base::string_at(entry, "sha256")};
}

std::vector<json::value> OldHome::added(const std::string& agent, std::string_view kind) {
    std::vector<json::value> list;
    const std::string lines = served(agent, recorded(agent).events);
    for (const auto line : base::split_lines(lines))
        if (auto event = base::parse_json(line); event && base::string_at(*event, "kind") == kind)
            list.push_back(std::move(*event));
    return list;
}

std::vector<json::value> OldHome::await(const std::string& agent, std::string_view kind,
                                        std::size_t count) {
    std::vector<json::value> list;
    const auto has_come = [&] {
        list = added(agent, kind);
        return list.size() >= count;
    };
    if (test_support::eventually(has_come, kPatience)) return list;
    ADD_FAILURE() << "no " << kind << " of " << agent << " came";
    list.resize(count, json::object{{"data", json::object{}}});
    return list;
}

std::string OldHome::plan_run(std::string_view goal) {
    for (const auto& run : program.json_of({"plan", "list", "--json"}).as_array())
        if (base::string_at(run, "goal") == goal) return base::string_at(run, "runId");
    ADD_FAILURE() << "there is no run for " << goal;
    return "";
}

void OldHome::await_run(const std::string& run, std::string_view status) {
    std::string seen;
    const auto has_it = [&] {
        seen = base::string_at(program.json_of({"plan", "status", run, "--json"}), "status");
        return seen == status;
    };
    ASSERT_TRUE(test_support::eventually(has_it, kPatience)) << "the run is " << seen;
}

}  // namespace upgrade
