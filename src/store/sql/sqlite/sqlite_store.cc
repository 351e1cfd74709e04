#include "store/sql/sqlite/sqlite_store.h"

#include "store/migrations/migrations.h"
#include "store/sql/sqlite/backup.h"
#include "store/sql/sqlite/group.h"
#include "store/sql/sqlite/readers.h"
#include "store/sql/sqlite/writer.h"

namespace sqlite {

using base::ErrorCode;
using store::Durability;
using store::Work;

namespace {

class ThreadedStore final : public store::Store {
public:
    ThreadedStore(std::unique_ptr<Connection> connection, const ConnectionOptions& readers)
        : connection_(std::move(connection)), readers_(readers), writer_(*connection_) {}

    Status write(Durability durability, Work work) override {
        return writer_.write(durability, std::move(work));
    }
    void write_async(Durability durability, Work work,
                     std::move_only_function<void(Status)> done) override {
        writer_.write_async(durability, std::move(work), std::move(done));
    }
    Status read(Work work) override { return readers_.read(std::move(work)); }
    void release_memory() override {
        readers_.release_memory();
        writer_.release_memory();
    }

private:
    // Closed last: only a connection that may write takes the log with it. One that stays has to be
    // read, checked and copied again by each process to come.
    std::unique_ptr<Connection> connection_;
    Readers readers_;  // Outlives the writer: a waiting job's `done` may read.
    Writer writer_;
};

Result<std::unique_ptr<Connection>> open_migrated(const Options& options) {
    auto connection =
        TRY(Connection::open({.file = options.file, .busy_timeout = options.busy_timeout}));
    migrations::BeforeChange before;
    if (options.backups)
        before = [&](std::int64_t version) {
            return back_up_before_migration(options.file, options.backups->folder, version,
                                            options.backups->now);
        };
    TRY(migrations::migrate(*connection, migrations::steps(), before));
    return connection;
}

}  // namespace

Result<std::unique_ptr<store::Store>> open(const Options& options) {
    if (options.mode == Mode::Inline) return TRY(open_inline(options));
    if (options.file == ":memory:")
        return base::fail(ErrorCode::InvalidInput,
                          "a database in memory cannot be shared between threads; use Mode::Inline "
                          "or name a file");
    auto connection = TRY(open_migrated(options));
    return std::make_unique<ThreadedStore>(std::move(connection),
                                           ConnectionOptions{.file = options.file,
                                                             .access = sql::Access::Read,
                                                             .busy_timeout = options.busy_timeout});
}

InlineStore::InlineStore(std::unique_ptr<Connection> connection)
    : connection_(std::move(connection)) {}

InlineStore::~InlineStore() {
    connection_->checkpoint();
}

void InlineStore::run(Job& job) {
    check_not_inside_work();
    const std::lock_guard lock(mutex_);
    Job* const jobs[] = {&job};
    run_group(*connection_, jobs);
}

Status InlineStore::write(Durability durability, Work work) {
    Job job{.durability = durability, .work = std::move(work)};
    run(job);
    return std::move(job).result();
}

void InlineStore::write_async(Durability durability, Work work,
                              std::move_only_function<void(Status)> done) {
    Job job{.durability = durability, .work = std::move(work)};
    run(job);
    job.work = nullptr;
    done(job.result_without_throw());
}

Status InlineStore::read(Work work) {
    check_not_inside_work();
    Job job{.work = std::move(work)};
    {
        const std::lock_guard lock(mutex_);
        run_read(*connection_, job);
    }
    return std::move(job).result();
}

Result<std::string> InlineStore::snapshot() {
    const std::lock_guard lock(mutex_);
    return connection_->serialize();
}

Result<std::unique_ptr<InlineStore>> open_inline(const Options& options) {
    return std::make_unique<InlineStore>(TRY(open_migrated(options)));
}

Result<std::unique_ptr<InlineStore>> open_snapshot(const std::string& bytes) {
    auto connection = TRY(Connection::open_bytes(bytes));
    TRY(migrations::migrate(*connection));
    return std::make_unique<InlineStore>(std::move(connection));
}

}  // namespace sqlite
