// Renaming that replaces nothing, also on file systems that cannot do so by themselves.
#pragma once

#include <string>

#include "exec/tools/vault/root.h"

namespace vault {

// Moves what is at `from` to `to`, which is free. False with errno otherwise: EEXIST when `to` is
// taken. NFS and many FUSE file systems refuse the flag for that. There a file gets its second name
// first and loses its old one then: a crash in between leaves both, of one file. A folder replaces
// at most an empty folder that somebody makes at that moment. Where files have one name only, a
// file is not moved: EOPNOTSUPP.
bool rename_to_free(const Spot& from, const std::string& from_name, const Spot& to,
                    const std::string& to_name);

}  // namespace vault
