/** How often the provider misbehaves, as probabilities. */
export interface ProviderFaults {
  /** A response that says nothing: silence, a closed connection, HTTP 500, JSON of another protocol. */
  bad_response: number
  slow_response: number
  slow_max_ms: number
  /** A callback that is not sent, or sent twice. */
  lost_callback: number
  repeated_callback: number
  /** A callback that contradicts the books: another amount, another status, or `pending` after the end. */
  contradiction: number
  /** A success after the time at which the customer can no longer pay. */
  late_success: number
  /** A lookup does not find an operation that the provider has. */
  forgotten: number
  /** The request for a refund, or its response, does not arrive. */
  lost_refund: number
  /** A create that the provider has made and reported is answered with a refusal. */
  late_refusal: number
  /** A success under another id, after a report under the own one. */
  other_id: number
  /** An operation that the provider has confirmed is lost there permanently. */
  dropped: number
  /** How much later than it was made a lookup finds an operation. */
  found_after_ms: number
}

/** No faults. */
export function noProviderFaults(): ProviderFaults {
  return {
    bad_response: 0,
    slow_response: 0,
    slow_max_ms: 0,
    lost_callback: 0,
    repeated_callback: 0,
    contradiction: 0,
    late_success: 0,
    forgotten: 0,
    lost_refund: 0,
    late_refusal: 0,
    other_id: 0,
    dropped: 0,
    found_after_ms: 0,
  }
}
