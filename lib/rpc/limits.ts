/** The largest message, over every transport. It applies in memory too, so that splitting a process breaks no call. */
export const MESSAGE_MAX_BYTES = 4 * 1024 * 1024

/** The default time that a client waits for a response. */
export const CALL_TIMEOUT_MS = 10_000

/** The longest time that a server works on one call, whatever deadline the caller set. */
export const CALL_TIMEOUT_MAX_MS = 120_000

/** The most calls in progress in one process. Further calls are refused with 2002 at once. */
export const CALLS_MAX = 10_000

/** The most calls on one connection. Calls that wait long for a provider must not block others on it. */
export const STREAMS_MAX = CALLS_MAX

/** The most open connections to one port of a process. Further ones are closed at once. */
export const CONNECTIONS_MAX = 5000
