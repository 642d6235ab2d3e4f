// The front door of cli: the commands that run in a terminal and talk to a controller, as one
// table.
#pragma once

#include "cli/verbs.h"  // IWYU pragma: export
