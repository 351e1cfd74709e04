#include "base/result.h"

#include <cerrno>
#include <cstring>

namespace base {

std::unexpected<Error> fail_errno(std::string_view what) {
    const int number = errno;
    const ErrorCode code = number == ENOENT ? ErrorCode::NotFound : ErrorCode::Io;
    return fail(code, "{}: {}", what, std::strerror(number));
}

void throw_bug(const char* file, int line, const char* condition, const char* why) {
    throw Bug(fmt::format("{}:{}: {} ({})", file, line, why, condition));
}

}  // namespace base
