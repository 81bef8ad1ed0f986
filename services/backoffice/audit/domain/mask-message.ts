import { clone, type DescField, type DescMessage, type Message, ScalarType, toJson } from '@bufbuild/protobuf'
import {
  isReflectList,
  isReflectMap,
  isReflectMessage,
  type ReflectMessage,
  reflect,
} from '@bufbuild/protobuf/reflect'
import { HIDDEN, isPlainText } from '#lib/contract/plain-texts.ts'

/** A request or an answer as JSON for the audit trail: without bytes, secrets and what tells of a person (O4). */
export function maskMessage(schema: DescMessage, message: Message): string {
  const shown = clone(schema, message)
  mask(reflect(schema, shown))
  return JSON.stringify(toJson(schema, shown))
}

function mask(message: ReflectMessage): void {
  // Fields that this release does not know are in no JSON.
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
  return field.scalar === ScalarType.STRING && !isPlain(field)
}

/** The services whose names are of merchants, people of the operator and programs. Elsewhere they are of customers and files. */
const NAMING = /^multihub\.(?:merchants|backoffice)\.v1\./

/** The reason of an act has its own place in the entry. */
function isPlain({ name, parent }: DescField): boolean {
  return name === 'name' ? NAMING.test(parent.typeName) : isPlainText(name)
}
