/**
 * A time limit in ms that only a hang reaches, for what a test expects to succeed. It is below the time limit of a test,
 * so that the message says what hung.
 */
export const HANG_LIMIT_MS = 100_000
