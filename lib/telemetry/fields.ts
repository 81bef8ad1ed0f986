/**
 * Every field that a log line may carry. Other fields are dropped and counted. Add a field here only when it can never
 * hold a body, a secret, bank data or a person's name.
 */
// biome-ignore format: one name per line would hide the groups
export const LOG_FIELDS = [
  // the process and its surroundings
  'role', 'part', 'instance', 'version', 'pid', 'signal', 'host', 'port', 'url', 'path', 'variable', 'waiting',
  // the request
  'request_id', 'client_request_id', 'trace_id', 'method', 'route', 'http_status', 'code', 'caller', 'client_address',
  'rpc', 'rpc_code', 'application_id', 'api_version', 'scope', 'bucket',
  // the subject: our own ids, never texts of a merchant
  'merchant_id', 'environment', 'service_id', 'payment_id', 'ticket_id', 'refund_id', 'chargeback_id',
  'attachment_id', 'delivery_id', 'endpoint_id', 'destination_key', 'anomaly_id', 'operation', 'currency', 'status', 'from_status',
  // internals
  'event', 'kind', 'effect', 'transition', 'subject', 'queue', 'collection', 'index', 'database', 'shard', 'seq',
  'batch', 'lease', 'provider', 'provider_account', 'connector', 'reason', 'outcome', 'state', 'field',
  // amounts and times
  'attempt', 'tries', 'count', 'dropped', 'pending', 'limit', 'size_bytes', 'duration_ms', 'delay_ms', 'timeout_ms',
  'age_ms', 'lag_ms', 'due_at', 'seed',
] as const

/** The name of a permitted field. */
export type LogField = (typeof LOG_FIELDS)[number]

type Scalar = string | number | bigint | boolean | Date | null | undefined

/** The fields of one line: `LOG_FIELDS`, with plain values, and `error` for anything that was thrown. */
export type LogFields = { readonly [Name in LogField]?: Scalar | readonly Scalar[] } & {
  readonly error?: unknown
}
