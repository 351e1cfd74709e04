// What a call is about to change, written down before each change. When the process dies, the next
// one compares the vault with it and takes back what the call had begun, or finds that it was done.
//
// The file lies in the folder of the plan run, not in the vault. It is not flushed for each line: a
// killed process loses nothing of it. After a power cut lines may be missing; the id of the boot
// tells that apart, and then the outcome of a call stays unknown.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "exec/tools/vault/steps.h"

namespace vault {

inline constexpr std::string_view kIntentsFile = "changes.jsonl";
inline constexpr std::size_t kIntentsBytesMax = std::size_t{1} << 30;

// One change of a call: how it is undone, and how to see whether it was made.
struct Intent {
    UndoEntry entry;
    std::optional<std::string> temporary{};  // A name next to the file, for a moment.
    std::uint64_t device{0};                 // Of the file that is at `entry.path` afterwards, or
    std::uint64_t inode{0};                  // that is removed; 0: not known yet.
    friend bool operator==(const Intent&, const Intent&) = default;
};
BOOST_DESCRIBE_STRUCT(Intent, (), (entry, temporary, device, inode))

// How a call ended, as its tool reports it.
struct Ending {
    std::string summary;
    json::object result;
    domain::Effects effects{};
    friend bool operator==(const Ending&, const Ending&) = default;
};
BOOST_DESCRIBE_STRUCT(Ending, (), (summary, result, effects))

// Writes the lines of one call; opens the file with the first of them. One thread at a time.
class Intents {
public:
    Intents(std::filesystem::path folder, std::string call)
        : folder_(std::move(folder)), call_(std::move(call)) {}

    // Before the change. It must not be made when this fails.
    Outcome<void> add(const Intent& intent);
    // Everything so far was taken back.
    Outcome<void> reset();
    // The call is complete. A line that cannot be written costs a call made again, nothing else.
    void end(const Ending& ending);

    const std::string& call() const { return call_; }

private:
    Outcome<void> write(std::string_view name, json::value value);

    std::filesystem::path folder_;
    std::string call_;
    base::Fd file_;
};

// What the file says of a call that a crash cut off.
struct Begun {
    std::vector<Intent> intents{};  // Since the last reset, in the order of execution.
    std::optional<Ending> ending{};
    bool is_sure{true};  // False: lines may be missing, because the machine was restarted since.
};
Outcome<Begun> read_intents(const std::filesystem::path& folder, const std::string& call);

// The run has ended; nobody will ask again.
void forget_intents(const std::filesystem::path& folder);

}  // namespace vault
