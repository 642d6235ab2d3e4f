// The front door of store/: where facts become durable. A Journal keeps the events of the core, in
// order, with the blobs that they name and snapshots of the state that they add up to; an Archive
// keeps finished work for queries. Both hold opaque bytes: this room knows no word of the domain.
//
//   journal.h         what a journal promises: one append is one durable commit, all or nothing
//   sqlite_journal.h  the default journal: a SQLite database and a few files beside it
//   memory_journal.h  a journal for tests, with failures on demand
//   journal_thread.h  commits on a thread of its own; outcomes come back in order
//   archive.h         finished work, written idempotently, and queries for it
//   blob.h            content named by its SHA-256
//   disk.h            how much room is left; the reserve for the day when there is none
//   crash_point.h     named places where a test may kill the process
//
// Errors: Unavailable means "not written, certainly; try again"; Internal from an append means "the
// outcome is unknown: read back first"; from anything else that stored data is damaged or a device
// failed.
#pragma once

#include "store/archive.h"
#include "store/blob.h"
#include "store/crash_point.h"
#include "store/disk.h"
#include "store/journal.h"
#include "store/journal_thread.h"
#include "store/memory_journal.h"
#include "store/sqlite_archive.h"
#include "store/sqlite_journal.h"
