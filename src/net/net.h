// net: the edge to other processes. One event loop per thread (loop.h); an HTTP/1.1 server on unix
// sockets, whose peers the kernel vouches for, and on TCP (http_server.h); WebSockets for the long
// links (websocket.h); a small blocking client for command lines (client.h); tokens for callers
// whom no kernel vouches for (token.h); the clocks (clock.h). It carries bytes and identities and
// knows no word of the domain: who may do what, routes and messages belong to its users.
//
// Invariants: whatever arrives from outside is bounded in size and in time; every queue has a limit
// that its writer can ask about; callbacks run on the loop thread, one at a time, and never from
// within the call that caused them. There is no TLS in this room yet, so nothing here should listen
// beyond loopback.
#pragma once

#include "net/client.h"       // IWYU pragma: export
#include "net/clock.h"        // IWYU pragma: export
#include "net/endpoint.h"     // IWYU pragma: export
#include "net/http.h"         // IWYU pragma: export
#include "net/http_server.h"  // IWYU pragma: export
#include "net/loop.h"         // IWYU pragma: export
#include "net/peer.h"         // IWYU pragma: export
#include "net/token.h"        // IWYU pragma: export
#include "net/websocket.h"    // IWYU pragma: export
