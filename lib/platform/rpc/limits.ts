/** Larger messages are refused on every way, in memory too: a call must not work in one process and fail in two. */
export const MESSAGE_MAX_BYTES = 4 * 1024 * 1024

/** How long a client waits for an answer when its caller says nothing. */
export const CALL_TIMEOUT_MS = 10_000

/** How long a server works on one call, whatever the caller asked for. */
export const CALL_TIMEOUT_MAX_MS = 120_000

/** So many calls may be under way in one process; more are answered 2002 at once. */
export const CALLS_MAX = 10_000

/** As many on one connection: calls that wait long for a provider must not keep others from being sent. */
export const STREAMS_MAX = CALLS_MAX

/** So many connections may be open to one port of a process; more are closed at once. */
export const CONNECTIONS_MAX = 5000
