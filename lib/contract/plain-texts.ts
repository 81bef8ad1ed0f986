/**
 * The names of texts, in messages and stored documents, that are neither a secret nor tell of a person. A text with another name
 * is hidden, so that a new field is until it is listed here.
 */
const PLAIN: ReadonlySet<string> = new Set([
  'category',
  'code',
  'connector',
  'currencies',
  'currency',
  'day',
  'direction',
  'disabled_methods',
  'environment',
  'environments',
  'event',
  'events',
  'ip_allowlist',
  'kind',
  'method',
  'mime_type',
  'priority',
  'provider_accounts',
  'purpose',
  'reason_code',
  'rights',
  'rpc',
  'scopes',
  'sha256',
  'state',
  'status',
  'support_resources',
  'target_kind',
  'timezone',
  'type',
])

/** Names of ids of a person and its account, unlike every other name that ends in `_id` or `_ids`. */
const PERSONAL_IDS: ReadonlySet<string> = new Set(['document_id', 'id'])

/** What stands for a text that is not shown. */
export const HIDDEN = '[hidden]'

/** Whether the audit trail may show a text with this name, which is in snake_case (O4). */
export function isPlainText(name: string): boolean {
  return PLAIN.has(name) || (/(^|_)ids?$/.test(name) && !PERSONAL_IDS.has(name))
}
