/** The largest body of a request (E7). */
export const BODY_MAX_BYTES = 1024 * 1024

/** What a connection and its requests may take, in one place. Node and Fastify have no limit for most of it. */
export const HTTP_LIMITS = {
  /** Of a request's head: ten times what the longest permitted one needs, and what Node's own clients can send. */
  head_max_bytes: 16_384,
  /** More headers than any client sends. */
  headers_max: 100,
  /** Of any body, always: longer than nearly every request, and bounded by the number of requests under way. */
  short_body_bytes: 8 * 1024,
  /**
   * Beyond that, of the bodies of one network that are not read and judged yet: one caller that sends many long requests
   * at once. What has come in is counted; the room for it doubles, and so takes up to twice as much memory.
   */
  network_body_memory_bytes: 16 * 1024 * 1024,
  /**
   * Beyond that, of those in the process, counted the same way. They come before anybody has proved who he is, so
   * without it a few hundred strangers could take all memory; so could they while the registry is slow to name them.
   */
  body_memory_bytes: 128 * 1024 * 1024,
  /**
   * Of the pieces in which a body comes, also one that is only dropped: so many, and one more for each `bytes_per_fragment` of
   * it. A piece of one byte costs as much as one of a thousand, and no honest sender makes such.
   */
  body_fragments_min: 256,
  bytes_per_fragment: 256,
  /** Beyond it new connections are closed at once, so that those there are keep their files and memory. */
  connections_max: 10_000,
  /** The same from one network that is no trusted proxy, so that no single customer can take all of them. */
  network_connections_max: 5_000,
  /**
   * Answers due on one connection, which is closed beyond that. Nobody sends so many requests ahead of their answers but
   * who means never to read them, and each answer waits in memory until its connection takes it.
   */
  pending_responses_max: 32,
  /** Under way in the process. Callers that wait for their answers never get there; one that sends without end would. */
  requests_max: 10_000,
  /** The same of one merchant: a provider that is slow for it holds up nobody else. */
  merchant_requests_max: 2_500,
  /** For a head to come in: one is a packet or two, and who sends it by the byte only means to hold a connection. */
  head_timeout_ms: 10_000,
  /** For a whole request to come in: 1 MiB over a very slow line. */
  request_timeout_ms: 30_000,
  /** Of an unused connection: longer than the minute that load balancers keep theirs, so that they close it first. */
  idle_timeout_ms: 72_000,
  /** Of silence on a connection: longer than a create may take to be answered. */
  inactivity_timeout_ms: 75_000,
  /** How late a time-out may be noticed; Node looks every 30 s when nobody says so. */
  timeout_check_interval_ms: 1_000,
  /** For a refused caller to read its answer: a connection that is closed with unread bytes is reset. */
  lingering_close_ms: 1_000,
} as const
