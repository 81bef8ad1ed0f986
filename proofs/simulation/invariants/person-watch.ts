import type { Change } from '../parts/store/memory-collection.ts'

/** What the load says of people, which nothing may store or publish in clear (C4). */
const PLANTED = ['customer@example.com', '123456789012'] as const

/** Where a stored value shows a person. */
function* clearIn(value: unknown, path: string): Iterable<string> {
  if (value instanceof Uint8Array) {
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    if (PLANTED.some((text) => bytes.includes(text))) yield path
  } else if (typeof value === 'string') {
    if (PLANTED.some((text) => value.includes(text))) yield path
  } else if (typeof value === 'object' && value !== null && !(value instanceof Date))
    for (const [name, inner] of Object.entries(value)) yield* clearIn(inner, `${path}.${name}`)
}

/** What a write stores of a person in clear. */
export function* storedPersonProblems(collection: string, { key, after }: Change): Iterable<string> {
  for (const path of clearIn(after, collection)) yield `${path} of ${key} shows a person`
}

/** What a message on the bus shows of a person. */
export function* publishedPersonProblems(subject: string, data: Uint8Array): Iterable<string> {
  for (const path of clearIn(data, subject)) yield `a message on ${path} shows a person`
}
