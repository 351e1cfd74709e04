// store::Store over SQLite, in two modes that keep the same promises.
//
// Threaded: readers next to one writer; writes made at the same time share one commit. For
// programs. Inline: everything on the calling thread and one connection, one caller at a time. For
// short runs and for simulations, where each step must happen in the same order every time.
//
// Two processes may use one file. A writer waits `busy_timeout` for the other, then gives up with
// Unavailable. Work handed to write() or read() must not call the store itself: that is a Bug.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/time.h"
#include "store/store.h"

namespace sqlite {

class Connection;
struct Job;

enum class Mode { Threaded, Inline };

// Where a copy goes that is made before a migration; see backup.h.
struct AutomaticBackups {
    std::filesystem::path folder;
    base::Time now{};  // Part of the copy's name.
};

struct Options {
    std::filesystem::path file;  // ":memory:" works with Inline only.
    Mode mode{Mode::Threaded};
    std::chrono::milliseconds busy_timeout{5000};
    std::optional<AutomaticBackups> backups{};  // No copies are made unless set.
};

// Opens the database, creates it when it is not there, and migrates it. With `backups` a database
// that needs a migration is copied first; when that fails, it is not migrated and not opened.
base::Result<std::unique_ptr<store::Store>> open(const Options& options);

class InlineStore final : public store::Store {
public:
    explicit InlineStore(std::unique_ptr<Connection> connection);
    ~InlineStore() override;

    store::Status write(store::Durability durability, store::Work work) override;
    // `done` is called before this returns.
    void write_async(store::Durability durability, store::Work work,
                     std::move_only_function<void(store::Status)> done) override;
    store::Status read(store::Work work) override;

    // The whole database as bytes, for open_snapshot().
    base::Result<std::string> snapshot();

private:
    void run(Job& job);

    std::mutex mutex_;
    std::unique_ptr<Connection> connection_;
};

base::Result<std::unique_ptr<InlineStore>> open_inline(const Options& options);

// A store in memory that starts as the one whose snapshot() this was.
base::Result<std::unique_ptr<InlineStore>> open_snapshot(const std::string& bytes);

}  // namespace sqlite
