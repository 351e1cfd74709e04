// The seam to a SQL engine: statements with bound parameters, rows, transactions.
//
// One thread at a time uses a Connection. Statements are prepared once and kept, so their text must
// come from a fixed set. Parameters are written $1, $2, …, and "$" is used for nothing else; a
// statement binds all of them.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/ids.h"
#include "base/result.h"

namespace sql {

using base::Result;
using base::Status;

// Text is borrowed until the call returns.
struct Param {
    std::variant<std::nullptr_t, std::int64_t, std::string_view> value;

    Param(std::nullptr_t) : value(nullptr) {}
    Param(std::int64_t number) : value(number) {}
    Param(std::string_view text) : value(text) {}
    Param(const std::string& text) : value(std::string_view(text)) {}
    template <class Tag>
    Param(const base::Id<Tag>& id) : value(std::string_view(id.value)) {}
    template <class T>
    Param(const std::optional<T>& maybe) : value(maybe ? Param(*maybe).value : nullptr) {}
};
using Params = std::initializer_list<Param>;

// One row of an answer; valid only while it is visited. Columns count from 0. Asking a null column
// for a number or text gives 0 or "".
class Row {
public:
    virtual ~Row() = default;
    virtual bool is_null(int column) const = 0;
    virtual std::int64_t integer(int column) const = 0;
    virtual std::string_view text(int column) const = 0;
};
using Visit = std::function<Status(const Row&)>;

enum class Access { Read, Write };

struct Size {
    std::int64_t used_bytes{0};
    std::int64_t free_bytes{0};  // Room in the database's files that new rows will use.
};

class Connection {
public:
    virtual ~Connection() = default;

    // Runs one statement and returns how many rows it changed. Breaking a constraint is a Conflict.
    virtual Result<std::int64_t> execute(std::string_view statement, Params params) = 0;

    // Runs one statement and visits its rows in order; the first error stops it. A visitor must not
    // use the connection.
    virtual Status query(std::string_view statement, Params params, const Visit& visit) = 0;

    // Runs several statements without parameters, separated by semicolons.
    virtual Status run_script(std::string_view script) = 0;

    // Write: nobody else writes until the end. Read: one snapshot for all queries.
    virtual Status begin(Access access) = 0;
    virtual Status commit() = 0;
    virtual void rollback() = 0;
    // False when an engine failure has already undone the transaction that was begun.
    virtual bool in_transaction() const = 0;

    // Of the whole database, as this transaction sees it.
    virtual Result<Size> size() = 0;

    // A part of a transaction that can be undone by itself. Savepoints do not nest.
    virtual Status savepoint() = 0;
    virtual Status release_savepoint() = 0;
    virtual Status undo_to_savepoint() = 0;
};

}  // namespace sql
