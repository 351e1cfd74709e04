#include "app/store.h"

#include "app/credentials.h"
#include "base/os/files.h"
#include "service/local/local_gate.h"
#include "store/sql/sqlite/backup.h"
#include "store/sql/sqlite/sqlite_store.h"

namespace app {
namespace {

class RealGate final : public service::Gate {
public:
    RealGate(const config::Config& config, std::unique_ptr<store::Store> store)
        : store_(std::move(store)),
          gate_({.store = *store_,
                 .clock = clock_,
                 .ids = ids_,
                 .folder = config.home / "gate",
                 .credentials = credentials_of(config),
                 .default_agent = {config.default_agent}}) {}

    base::Result<service::GateVerdict> check(const std::string& file) override {
        return gate_.check(file);
    }
    base::Result<std::vector<domain::GateDocument>> list(std::optional<domain::GatePlace> place,
                                                         std::int64_t limit) override {
        return gate_.list(place, limit);
    }
    base::Result<service::GateView> show(const std::string& document_id) override {
        return gate_.show(document_id);
    }
    base::Result<domain::GateDocument> release(const std::string& document_id,
                                               const std::string& reason) override {
        return gate_.release(document_id, reason);
    }
    base::Result<std::vector<domain::GateDocument>> purge(
        const service::PurgeRequest& request) override {
        return gate_.purge(request);
    }

private:
    base::SystemClock clock_;
    base::RandomIds ids_{clock_};
    std::unique_ptr<store::Store> store_;
    service::LocalGate gate_;
};

std::filesystem::path backups_folder(const config::Config& config) {
    return config.home / "backups";
}

}  // namespace

base::Result<std::unique_ptr<store::Store>> open_store(const config::Config& config) {
    TRY(base::make_folders(config.home, 0700));
    base::SystemClock clock;
    return sqlite::open({.file = config.database(),
                         .backups = sqlite::AutomaticBackups{.folder = backups_folder(config),
                                                             .now = clock.now()}});
}

base::Result<std::unique_ptr<service::Gate>> open_gate(const config::Config& config) {
    return std::make_unique<RealGate>(config, TRY(open_store(config)));
}

base::Result<service::Backup> FileBackups::make(const std::optional<std::string>& file) {
    std::filesystem::path to;
    if (file) {
        to = config_.cwd / *file;
    } else {
        to = backups_folder(config_) / (sqlite::backup_name(clock_.now()) + ".db");
        if (std::filesystem::exists(config_.database()))
            TRY(base::make_folders(to.parent_path(), 0700));
    }
    const auto made = TRY(sqlite::back_up(config_.database(), to));
    return service::Backup{
        .file = to.string(), .bytes = made.bytes, .schema_version = made.schema_version};
}

}  // namespace app
