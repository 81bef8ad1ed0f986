/** So many entries one batch of the journal holds at most: what keeps a commit, a read and a replay step short. */
export const BATCH_ENTRIES_MAX = 512

/** So many bytes of commands go into one batch: well below what any store takes as one document. */
export const BATCH_BYTES_MAX = 1024 * 1024

/** So many commands of one shard may be under way or waiting; beyond it callers are told to come again (2002). */
export const WAITING_COMMANDS_MAX = 16_384

/** So long a command waits for a place in a batch while other processes keep overtaking this one. */
export const COMMAND_WAIT_MAX_MS = 10_000

/** So long the fate of a batch is asked for before everybody who waits is told that the store is away. */
export const COMMIT_RESOLVE_MAX_MS = 5_000

/** So many entries a shard remembers at least, so that a quick repeat costs no look-up in the journal. */
export const RECENT_ENTRIES_MIN = 8_192

/** So many batches are read from the journal at a time. */
export const BATCHES_PER_READ = 16

/** A checkpoint is written after so many batches: what bounds the reading when a shard is loaded. */
export const CHECKPOINT_INTERVAL_BATCHES = 256n

/** So many books or holds go into one document of a checkpoint. */
export const CHECKPOINT_PART_ROWS = 2_000

/** So many shards one process keeps in memory; beyond it those that nobody used longest are put away. */
export const LOADED_SHARDS_MAX = 64

/** So far this process's clock may be behind the last batch before the process is not ready. */
export const CLOCK_BEHIND_MAX_MS = 5_000

/** So many differences a verification tells; more would say nothing new. */
export const DIFFERENCES_MAX = 100
