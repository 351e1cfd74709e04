// Boost.Beast and the TLS part of Boost.Asio are compiled once, here.
#include "surfaces/http/server/beast.h"

#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
