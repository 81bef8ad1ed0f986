import { isDeepStrictEqual } from 'node:util'
import { HIDDEN, isPlainText } from '#lib/contract/plain-texts.ts'

/** A value as JSON shows it. */
type Shown = string | number | boolean | null | readonly Shown[] | { readonly [name: string]: Shown }

/**
 * The fields that the writes of an act changed, by their dotted paths, such as `limits.daily`: as they were, and as they are
 * then. A path is absent from the side on which the field does not exist.
 */
export interface DocumentChange {
  readonly before: Readonly<Record<string, Shown>>
  readonly after: Readonly<Record<string, Shown>>
}

/** Longest change as JSON, in characters, so that the last 8 acts of a document have at most some 16 kB. */
const CHANGE_MAX = 2_048
const TEXT_MAX = 128
const ITEMS_MAX = 16

/** The path that tells how many changed fields were left out of a change that is too long. */
const OMITTED = 'omitted_fields'

/** What a person cannot read, or what follows from other fields. */
const INTERNAL: ReadonlySet<string> = new Set([
  'version',
  'act_ids',
  'act_changes',
  'effects',
  'slot',
  'money_due_at',
  'independent_due_at',
  'external_due_at',
  'event_due_at',
  'delayed_lane',
  'delayed_since',
  'traceparent',
  'test_ended_at',
])

/**
 * What a write changes, without secrets and what tells of a person (O4): a text is hidden unless the name of its field says
 * that it is plain. `before` is absent for a new document.
 */
export function documentChange(before: object | undefined, after: object): DocumentChange {
  const fields_before = fieldsOf(before ?? {})
  const fields_after = fieldsOf(after)
  const changed = [...new Set([...fields_before.keys(), ...fields_after.keys()])].filter(
    (path) => !isDeepStrictEqual(fields_before.get(path), fields_after.get(path)),
  )
  return bounded({ before: shownFields(fields_before, changed), after: shownFields(fields_after, changed) })
}

/** Two changes of the same document by one act as one. Changes of others in between are in neither. */
export function joinChanges(first: DocumentChange, second: DocumentChange): DocumentChange {
  return bounded({
    before: { ...second.before, ...first.before },
    after: { ...first.after, ...second.after },
  })
}

function fieldsOf(document: object): Map<string, unknown> {
  const fields = new Map<string, unknown>()
  const add = (value: unknown, path: string): void => {
    if (isRecord(value))
      for (const [name, part] of Object.entries(value)) add(part, path === '' ? name : `${path}.${name}`)
    else if (value !== undefined) fields.set(path, value)
  }
  for (const [name, value] of Object.entries(document)) if (!INTERNAL.has(name)) add(value, name)
  return fields
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false
  return !Array.isArray(value) && !(value instanceof Date) && !(value instanceof Uint8Array)
}

function shownFields(fields: ReadonlyMap<string, unknown>, paths: readonly string[]): Record<string, Shown> {
  const existing = paths.filter((path) => fields.has(path))
  return Object.fromEntries(
    existing.map((path) => [path, shown(path.split('.').at(-1) ?? '', fields.get(path))]),
  )
}

function shown(name: string, value: unknown): Shown {
  if (typeof value === 'string') return isPlainText(name) ? value.slice(0, TEXT_MAX).toWellFormed() : HIDDEN
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return value
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return value.slice(0, ITEMS_MAX).map((item: unknown) => shown(name, item))
  if (!isRecord(value)) return HIDDEN
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, shown(key, part)]))
}

/** Leaves out the last fields of a change that is too long. */
function bounded({ before, after }: DocumentChange): DocumentChange {
  const paths = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  const kept = { before: {} as Record<string, Shown>, after: {} as Record<string, Shown> }
  let left = CHANGE_MAX
  let omitted = 0
  for (const path of paths) {
    const sides = (['before', 'after'] as const).flatMap((side) => {
      const value = (side === 'before' ? before : after)[path]
      return value === undefined ? [] : [{ side, value }]
    })
    const length = JSON.stringify(sides).length + 2 * path.length
    if (length > left) omitted += 1
    else for (const { side, value } of sides) kept[side][path] = value
    if (length <= left) left -= length
  }
  if (omitted > 0) kept.after[OMITTED] = omitted
  return kept
}
