// How a function reports a failure.
//
// Result<T> is for failures the caller only reports. Outcomes that the caller branches on are
// variants, and impossible states are a CHECK: it throws Bug, which only the turn runner and the
// request handler catch, so that one turn fails and the program lives.
#pragma once

#include <expected>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <boost/json/object.hpp>

namespace base {

enum class ErrorCode {
    InvalidInput,  // The caller sent something that can never work.
    NotFound,
    Conflict,     // True now, maybe not later: in use, already there, changed underneath.
    Refused,      // Policy says no.
    Unavailable,  // A machine, process or peer did not answer.
    Io,
    Corrupt,  // Stored or received bytes do not mean what they should.
    Internal,
};

// `message` is a whole sentence for a person: what happened, where, and what to do next.
// `kind` and `details` are for programs that act on one particular failure ("agent_stopped", with
// the agent and the way out); most failures need neither.
struct Error {
    ErrorCode code{ErrorCode::Internal};
    std::string message{};
    std::string kind{};
    boost::json::object details{};
    friend bool operator==(const Error&, const Error&) = default;
};

template <class T>
using Result = std::expected<T, Error>;
using Status = std::expected<void, Error>;

template <class... Args>
std::unexpected<Error> fail(ErrorCode code, fmt::format_string<Args...> text, Args&&... args) {
    return std::unexpected(Error{code, fmt::format(text, std::forward<Args>(args)...)});
}

// The errno of a failed system call as an Io error: "open /a/b: No such file or directory".
std::unexpected<Error> fail_errno(std::string_view what);

// A broken promise of our own code. Input never causes one.
class Bug : public std::logic_error {
public:
    using std::logic_error::logic_error;
};

[[noreturn]] void throw_bug(const char* file, int line, const char* condition, const char* why);

}  // namespace base

// Evaluates to the value of a Result, or returns its error from the enclosing function.
#define TRY(expression)                                                         \
    ({                                                                          \
        auto try_result = (expression);                                         \
        if (!try_result) return std::unexpected(std::move(try_result).error()); \
        std::move(try_result).value();                                          \
    })

#define CHECK(condition, why) \
    ((condition) ? void() : ::base::throw_bug(__FILE__, __LINE__, #condition, why))
