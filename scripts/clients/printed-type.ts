import type { ObjectType, Type } from './schema.ts'

/** How a language writes the types of the client model. */
export interface TypeWords {
  readonly text: string
  /** Also of an amount in minor units. */
  readonly integer: string
  readonly number: string
  readonly boolean: string
  readonly null: string
  /** One text or several. */
  readonly texts: string
  readonly map: string
  readonly data: string
  readonly constant: (value: unknown) => string
  readonly words: (words: readonly string[]) => string
  readonly list: (item: string) => string
  readonly nullable: (type: string) => string
  readonly object: (type: ObjectType) => string
}

/** Writes a type in the words of a language. */
export function printType(type: Type, words: TypeWords): string {
  switch (type.kind) {
    case 'money':
      return words.integer
    case 'constant':
      return words.constant(type.value)
    case 'words':
      return words.words(type.words)
    case 'list':
      return words.list(printType(type.item, words))
    case 'nullable':
      return words.nullable(printType(type.type, words))
    case 'reference':
      return type.name
    case 'object':
      return words.object(type)
    default:
      return words[type.kind]
  }
}
