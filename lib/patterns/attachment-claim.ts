/**
 * How long after it has asked for files a call may begin to store the ticket, comment or chargeback that uses them. It is
 * longer than any call takes; only a process that was paused is later.
 */
export const CLAIM_USE_MS = 60_000

/**
 * When a claim is checked after it was made: an owner that does not exist by then will never exist, also when the clocks of
 * the two processes differ by as much as they may.
 */
export const CLAIM_CHECK_MS = 10 * CLAIM_USE_MS
