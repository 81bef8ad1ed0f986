import { clone, type DescField, type DescMessage, type Message, ScalarType, toJson } from '@bufbuild/protobuf'
import {
  isReflectList,
  isReflectMap,
  isReflectMessage,
  type ReflectMessage,
  reflect,
} from '@bufbuild/protobuf/reflect'

/** What stands for a text that is not shown. */
const HIDDEN = '[hidden]'

/**
 * The names of texts, in all messages, that are neither a secret nor tell of a person. A text with another name is hidden, so
 * that a new field is until it is listed here. The reason of an act has its own place in the entry.
 */
const PLAIN: ReadonlySet<string> = new Set([
  'code',
  'connector',
  'currencies',
  'currency',
  'day',
  'disabled_methods',
  'environments',
  'event',
  'events',
  'ip_allowlist',
  'kind',
  'method',
  'mime_type',
  'name',
  'provider_accounts',
  'purpose',
  'reason_code',
  'rights',
  'rpc',
  'scopes',
  'sha256',
  'support_resources',
  'target_kind',
  'timezone',
  'type',
])

/** Names of ids that a person gave, unlike every other name that ends in `_id` or `_ids`. */
const PERSONAL_IDS: ReadonlySet<string> = new Set(['document_id'])

/** A request or an answer as JSON for the audit trail: without bytes, secrets and what tells of a person (O4). */
export function maskMessage(schema: DescMessage, message: Message): string {
  const shown = clone(schema, message)
  mask(reflect(schema, shown))
  return JSON.stringify(toJson(schema, shown))
}

function mask(message: ReflectMessage): void {
  // Fields that this release does not know cannot be told apart.
  message.setUnknown([])
  for (const field of message.fields) if (message.isSet(field)) maskField(message, field)
}

function maskField(message: ReflectMessage, field: DescField): void {
  const value: unknown = message.get(field)
  if (isReflectMessage(value)) {
    // The well-known messages are times and durations.
    if (!value.desc.typeName.startsWith('google.')) mask(value)
  } else if (isReflectList(value) || isReflectMap(value)) {
    const items = [...value.values()]
    if (items.some((item) => isReflectMessage(item))) {
      for (const item of items) if (isReflectMessage(item)) mask(item)
    } else if (isHidden(field)) message.clear(field)
  } else if (isHidden(field)) {
    if (field.scalar === ScalarType.STRING) message.set(field, HIDDEN)
    else message.clear(field)
  }
}

function isHidden(field: DescField): boolean {
  // The key of a map can be anything.
  if (field.fieldKind === 'map') return true
  if (field.scalar === ScalarType.BYTES) return true
  return field.scalar === ScalarType.STRING && !isPlain(field.name)
}

function isPlain(name: string): boolean {
  return PLAIN.has(name) || (/(^|_)ids?$/.test(name) && !PERSONAL_IDS.has(name))
}
