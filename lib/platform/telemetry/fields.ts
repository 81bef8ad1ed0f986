/**
 * Every field that a log line may carry; anything else is dropped and counted. A new field is added here on purpose,
 * after asking whether it could ever hold a body, a secret, bank data or a person's name: then it stays out.
 */
// biome-ignore format: grouped by subject, which one name a line would hide
export const LOG_FIELDS = [
  // who and where
  'role', 'part', 'instance', 'version', 'pid', 'signal', 'host', 'port', 'url', 'path', 'variable', 'waiting',
  // the request
  'request_id', 'client_request_id', 'trace_id', 'method', 'route', 'http_status', 'code', 'caller', 'client_address',
  'rpc', 'rpc_code', 'application_id', 'api_version', 'scope', 'bucket',
  // what it is about: ids of ours, never the merchant's texts
  'merchant_id', 'environment', 'service_id', 'payment_id', 'ticket_id', 'refund_id', 'chargeback_id',
  'attachment_id', 'delivery_id', 'endpoint_id', 'anomaly_id', 'operation', 'currency', 'status', 'from_status',
  // how it works inside
  'event', 'kind', 'effect', 'transition', 'subject', 'queue', 'collection', 'index', 'database', 'shard', 'seq',
  'batch', 'lease', 'provider', 'provider_account', 'connector', 'reason', 'outcome', 'state', 'field',
  // how much and how long
  'attempt', 'count', 'dropped', 'pending', 'limit', 'size_bytes', 'duration_ms', 'delay_ms', 'timeout_ms', 'age_ms',
  'lag_ms', 'due_at', 'seed',
] as const

/** The name of a permitted field. */
export type LogField = (typeof LOG_FIELDS)[number]
