/** Most entries in one batch of the journal. It bounds the time of a commit, of a read and of one step of a replay. */
export const BATCH_ENTRIES_MAX = 512

/** Most bytes of commands in one batch. It is well below the largest document that any store accepts. */
export const BATCH_BYTES_MAX = 1024 * 1024

/**
 * Most commands of one shard that wait at a time, counted for each step on their way: queue, forwarding. Further
 * callers get `Unavailable`, publicly 2002. It bounds memory.
 */
export const WAITING_COMMANDS_MAX = 16_384

/** Longest time that a command waits for its commit while other processes commit first. It bounds contention. */
export const COMMAND_WAIT_MAX_MS = 10_000

/** Fewest recent entries of a shard kept in memory, so that a quick repeat needs no lookup in the journal. */
export const RECENT_ENTRIES_MIN = 8_192

/** Most batches in one read of the journal. It bounds the memory and the time of a read. */
export const BATCHES_PER_READ = 16

/** Batches between two checkpoints. It bounds the number of documents that are read when a shard is loaded. */
export const CHECKPOINT_INTERVAL_BATCHES = 256n

/** Entries between two checkpoints. It bounds the entries that are replayed when a shard is loaded: some 0.3 s. */
export const CHECKPOINT_INTERVAL_ENTRIES = 16_384

/**
 * Most rows of checkpoints that are written per new entry. It bounds the cost of checkpoints of a shard with many
 * accounts; such a shard replays at most a quarter as many entries as it has rows.
 */
export const CHECKPOINT_ROWS_PER_ENTRY_MAX = 4

/** Most rows in one document of a checkpoint. It bounds the size of the document. */
export const CHECKPOINT_PART_ROWS = 1_000

/** Most parts of a checkpoint that are read at the same time. */
export const CHECKPOINT_PARTS_PER_READ = 64

/**
 * The default of the memory for loaded shards: all of them fit with 200,000 accounts and as many entries for quick
 * repetitions.
 */
export const SHARD_MEMORY_DEFAULT_BYTES = 256 * 1024 ** 2

/** Newest batches of a shard that are never archived. A process that was paused finds at least so many batches at once. */
export const ARCHIVED_AFTER_BATCHES = 1_024n

/** How long a process does not read a shard again that is corrupt, has a batch of a newer format or no usable checkpoint. */
export const UNUSABLE_SHARD_MS = 60_000

/** Most entries in one part of an export. It bounds the memory and the time of the call. */
export const EXPORT_PART_ENTRIES_MAX = 500

/** Characters after which one part of an export ends, of up to 3 bytes each. A part is well below the largest message. */
export const EXPORT_PART_CHARACTERS = 512 * 1024

/** Most problems of one shard that a verification keeps. Further ones tell the operator nothing new. */
export const VERIFICATION_PROBLEMS_MAX = 20

/** Most batches in one read of a verification. It bounds for how long a read delays the commits of the process. */
export const VERIFIED_BATCHES_PER_READ = 8

/** Milliseconds of pause per millisecond of verification: it uses at most a quarter of the process. */
export const VERIFICATION_PAUSE_PER_WORK = 3
