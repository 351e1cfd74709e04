#include "domain/tool.h"

#include "base/hash.h"

namespace domain {

std::string args_hash(const json::value& args) {
    return "sha256:" + base::sha256_hex(base::canonical_json(args));
}

}  // namespace domain
