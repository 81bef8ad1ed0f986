import type { Message } from '@bufbuild/protobuf'

/** The fields of a message whose type is not known here, by the names that they have in code. */
export function fieldsOf(message: Message): Readonly<Record<string, unknown>> {
  return { ...message }
}

/** The text of a field that holds an id: texts and numbers as digits; empty for an absent one. */
export function idOf(message: Message, field: string): string {
  const value = fieldsOf(message)[field]
  return typeof value === 'string' || typeof value === 'bigint' || typeof value === 'number'
    ? String(value)
    : ''
}
