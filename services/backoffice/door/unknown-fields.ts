import type { DescMessage, Message } from '@bufbuild/protobuf'
import {
  isReflectList,
  isReflectMap,
  isReflectMessage,
  type ReflectMessage,
  reflect,
} from '@bufbuild/protobuf/reflect'

/**
 * The path of a field of a binary request that its message does not declare, with its number for a name, such as `amount.7`;
 * `undefined` without one. JSON is refused while it is parsed (O19).
 */
export function findUnknownField(schema: DescMessage, request: Message): string | undefined {
  return search(reflect(schema, request), '')
}

function search(message: ReflectMessage, path: string): string | undefined {
  const [unknown] = message.getUnknown() ?? []
  if (unknown !== undefined) return `${path}${unknown.no}`
  for (const field of message.fields) {
    if (!message.isSet(field)) continue
    for (const [name, child] of childrenOf(message, field)) {
      const found = search(child, `${path}${name}.`)
      if (found !== undefined) return found
    }
  }
  return undefined
}

/** The messages in a field, each with the name of its place. */
function* childrenOf(
  message: ReflectMessage,
  field: DescMessage['fields'][number],
): Iterable<readonly [string, ReflectMessage]> {
  const value: unknown = message.get(field)
  if (isReflectMessage(value)) yield [field.name, value]
  else if (isReflectList(value) || isReflectMap(value))
    for (const [key, item] of value.entries())
      if (isReflectMessage(item)) yield [`${field.name}.${String(key)}`, item]
}
