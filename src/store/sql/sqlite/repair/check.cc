#include "store/sql/sqlite/repair/check.h"

#include <set>

#include "base/text.h"
#include "store/sql/families.h"
#include "store/sql/sqlite/connection.h"

namespace sqlite {

// How far the check is.
struct Checker::Place {
    std::set<std::int64_t> migrations;  // Those that the database has.
    std::size_t family{0};
    bool pages_are_done{false};
    std::int64_t after_rowid{0};

    void next_family() {
        ++family;
        pages_are_done = false;
        after_rowid = 0;
    }
};

base::Result<std::unique_ptr<Checker>> Checker::open(const std::filesystem::path& file) {
    std::error_code failed;
    if (!std::filesystem::exists(file, failed))
        return base::fail(base::ErrorCode::NotFound, "there is no database {}", file.string());
    auto connection = TRY(Connection::open({.file = file, .access = sql::Access::Read}));
    auto checker = std::make_unique<Checker>(*connection);
    checker->owned_ = std::move(connection);
    return checker;
}

Checker::Checker(Connection& connection)
    : connection_(connection), place_(std::make_unique<Place>()) {
    const auto loaded = connection_.query("SELECT number FROM schema_migrations", {},
                                          [&](const sql::Row& row) -> Status {
                                              place_->migrations.insert(row.integer(0));
                                              return {};
                                          });
    if (!loaded) report_.damage.push_back(loaded.error().message);
}

Checker::~Checker() = default;

bool Checker::step() {
    const auto all = sql::families();
    // Tables of a migration that the database has not are none of its faults.
    while (place_->family < all.size() && !place_->migrations.contains(all[place_->family].since))
        place_->next_family();
    if (place_->family >= all.size() || report_.damage.size() + report_.broken.size() >= kFaultsMax)
        return false;
    if (place_->pages_are_done)
        check_rows();
    else
        check_pages();
    return true;
}

void Checker::check_pages() {
    const auto& family = sql::families()[place_->family];
    place_->pages_are_done = true;
    ++report_.tables;
    const auto checked = connection_.query(
        fmt::format("PRAGMA quick_check('{}')", family.table), {},
        [&](const sql::Row& row) -> Status {
            if (row.text(0) != "ok")
                report_.damage.push_back(fmt::format("table {}: {}", family.table,
                                                     base::printable(base::to_utf8(row.text(0)))));
            return {};
        });
    if (!checked)
        report_.damage.push_back(
            fmt::format("table {}: {}", family.table, checked.error().message));
}

void Checker::check_rows() {
    const auto& family = sql::families()[place_->family];
    std::int64_t visited = 0;
    const auto read = connection_.query(
        fmt::format("SELECT rowid, {}, {} FROM {} WHERE rowid > $1 ORDER BY rowid LIMIT $2",
                    family.key, family.column, family.table),
        {place_->after_rowid, kRowsPerStep}, [&](const sql::Row& row) -> Status {
            ++visited;
            ++report_.rows;
            place_->after_rowid = row.integer(0);
            if (const auto good = family.check(row.text(2)); !good)
                report_.broken.push_back({.table = std::string(family.table),
                                          .key = base::printable(base::to_utf8(row.text(1))),
                                          .error = good.error().message,
                                          .rowid = row.integer(0)});
            return {};
        });
    if (!read)
        report_.damage.push_back(fmt::format("table {}: {}", family.table, read.error().message));
    if (!read || visited < kRowsPerStep) place_->next_family();
}

base::Result<CheckReport> check(const std::filesystem::path& file) {
    const auto checker = TRY(Checker::open(file));
    while (checker->step()) {
    }
    return checker->report();
}

}  // namespace sqlite
