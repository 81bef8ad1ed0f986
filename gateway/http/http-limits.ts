/** The largest body of a request in bytes (E7). */
export const BODY_MAX_BYTES = 1024 * 1024

/** The limits of connections and requests. Node and Fastify set none for most of them. */
export const HTTP_LIMITS = {
  /** The head of a request: ten times what the longest valid head needs, and what Node's own clients can send. */
  head_max_bytes: 16_384,
  /** Headers of a request; no client sends as many. */
  headers_max: 100,
  /** Bytes of each body that need no memory reservation. Nearly every body is shorter, and `requests_max` bounds them. */
  short_body_bytes: 8 * 1024,
  /**
   * Bytes beyond `short_body_bytes` in all bodies of one network whose callers are not authenticated yet. Received bytes
   * are counted; the buffer doubles as it grows, so it takes up to twice as much memory.
   */
  network_body_memory_bytes: 16 * 1024 * 1024,
  /**
   * The same for the whole process: one half for networks with a recent valid signature, one for all others. Without it a
   * few hundred unauthenticated callers could exhaust the memory, also by sending complete bodies while the registry is slow
   * to return their credentials.
   */
  body_memory_bytes: 128 * 1024 * 1024,
  /** Fragments that any body may have; see `bytes_per_fragment`. Discarded bodies count too. */
  body_fragments_base: 256,
  /** A body may have one more fragment for each of these many bytes. Legitimate clients never send smaller fragments. */
  bytes_per_fragment: 256,
  /** Open connections. Beyond it the oldest without an authenticated request is closed. */
  connections_max: 10_000,
  /** Open connections of one network. Trusted proxies are exempt. */
  network_connections_max: 5_000,
  /** Open connections without an authenticated request. Half-sent requests cannot occupy more for long. */
  unauthenticated_connections_max: 1_000,
  /** The same of one network. */
  network_unauthenticated_connections_max: 500,
  /** The time that a new connection has for its first request before it can be closed to make room for others. */
  unauthenticated_grace_ms: 1_000,
  /**
   * Pending responses of one connection; beyond it the connection is closed. Each response waits in memory until the
   * client reads it, and only a client that never reads sends more requests ahead than this.
   */
  pending_responses_max: 32,
  /** Requests in progress in the process. Clients that wait for their responses never reach it. */
  requests_max: 10_000,
  /** Requests in progress of one merchant in one environment (E10). */
  merchant_requests_max: 2_500,
  /** The part of `merchant_requests_max` that only reads may use. */
  merchant_requests_for_reads: 250,
  /** The time for the first bytes of a connection; `head_timeout_ms` for the others of the head. */
  first_bytes_ms: 10_000,
  /** The time for a head to arrive. A head is one or two packets; slow heads only occupy a connection (Slowloris). */
  head_timeout_ms: 10_000,
  /** The time for a whole request to arrive: enough for 1 MiB over a very slow line. */
  request_timeout_ms: 30_000,
  /** The time for an upload or a download of an attachment: enough for 10 MiB over the same line. */
  upload_timeout_ms: 300_000,
  /** Uploads and downloads in progress. Each takes about 1 MiB of memory while its two ends are not equally fast. */
  transfers_max: 256,
  /** Those of one merchant in one environment (E10): more than its open sessions, so that uploads leave room for downloads. */
  merchant_transfers_max: 32,
  /** Those of one link. Anyone who holds it can use it, so its holder must not take the merchant's share. */
  link_transfers_max: 4,
  /**
   * The time for the first `short_body_bytes` of a body to arrive, or for the whole of a shorter body. They are one or two
   * packets; a caller that sends less in this time only occupies a connection.
   */
  short_body_timeout_ms: 5_000,
  /** How long an unused connection stays open. Load balancers use 60 s, so they close it first. */
  idle_timeout_ms: 72_000,
  /** How long a connection may transfer nothing: longer than the slowest create takes. */
  inactivity_timeout_ms: 75_000,
  /** How often Node checks the time-outs above; its default is 30 s. */
  timeout_check_interval_ms: 1_000,
  /** How long a refused caller has to read its response before its connection is destroyed. */
  lingering_close_ms: 1_000,
} as const
