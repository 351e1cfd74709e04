// Is the database sound? Its pages and indexes, by SQLite, and every record, by decoding it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace sqlite {

class Connection;

// A row whose record cannot be read.
struct BrokenRow {
    std::string table;
    std::string key;
    std::string error;
    std::int64_t rowid{0};
    friend bool operator==(const BrokenRow&, const BrokenRow&) = default;
};

struct CheckReport {
    std::int64_t tables{0};
    std::int64_t rows{0};
    std::vector<std::string> damage;  // What SQLite says of the file; empty when it is sound.
    std::vector<BrokenRow> broken;
    bool is_sound() const { return damage.empty() && broken.empty(); }
};

// Rows that one step decodes, and faults after which a check stops looking for more.
inline constexpr std::int64_t kRowsPerStep = 500;
inline constexpr std::size_t kFaultsMax = 1000;

// A check in small steps, so that others use the disk and the processor in between. Readers and
// writers of the database are not blocked. One thread at a time; every step blocks.
class Checker {
public:
    // NotFound: there is no database. Nothing is changed or migrated.
    static base::Result<std::unique_ptr<Checker>> open(const std::filesystem::path& file);
    // Over a connection that the caller keeps, and that is in no transaction.
    explicit Checker(Connection& connection);
    ~Checker();
    Checker(const Checker&) = delete;
    Checker& operator=(const Checker&) = delete;

    // Checks one table's pages, or some of its rows. False when nothing is left to check.
    bool step();
    const CheckReport& report() const { return report_; }

private:
    struct Place;
    void check_pages();
    void check_rows();

    std::unique_ptr<Connection> owned_;
    Connection& connection_;
    std::unique_ptr<Place> place_;
    CheckReport report_;
};

// All steps at once.
base::Result<CheckReport> check(const std::filesystem::path& file);

}  // namespace sqlite
