import { isDeepStrictEqual } from 'node:util'
import type { Actor } from '../parts/simulated-process.ts'
import type { Change, StoredBody } from '../parts/store/memory-collection.ts'

/** The name of the processes that run the command `archive`. */
export const ARCHIVE_COMMAND = 'archive'

/** The field of a document whose body is in the archive. */
const STUB_FIELD = 'archived'

/** What no file may have, because it identifies a person (O24). */
const PERSONAL = ['details', 'beneficiary', 'instructions'] as const

/** Where the body of a document is what somebody wrote, which is erased after its time (O11). */
const ERASED_BODIES = ['notifier.events', 'support.ticket_comments', 'support.refund_comments']
const ERASED_TEXT = '[erased]'
/** The key of a callback on request, which is erased with its payment however young it is. */
const ON_REQUEST = /=[0-9a-f-]{36}:[0-9a-f-]{36}$/

/** The retention of what identifies a person in the seeds in which days pass, and more than a trusted clock differs from the store's (R8). */
const PERSON_RETENTION_MS = 86_400_000
const CLOCK_ERROR_MS = 6_000

/** Judges what leaves documents: what `archive` takes out of the databases and puts back, and what is erased. */
export interface WholeWatch {
  /**
   * What a change is for all other judges, who see each document whole: with what was archived or erased. What is wrong with the archiving
   * or the erasure itself goes to `report`.
   */
  wholeOf(name: string, change: Change, writer: Actor | undefined, report: (problem: string) => void): Change
  /** A stored document, whole. */
  whole<D extends object>(document: D): D
}

/** Whether only the version of a document changed, and the place of its body. */
export function isSameContent({ before, after }: Change): boolean {
  return isDeepStrictEqual(contentOf(before), contentOf(after))
}

function contentOf({ version: _, ...content }: Partial<StoredBody> = {}): object {
  // A body that was read from a file has plain objects in the order of the file.
  return content
}

/** Makes the watch of one simulation. */
export function createWholeWatch(): WholeWatch {
  /** The documents whose bodies are in the archive, as they were. */
  const archived = new Map<string, StoredBody>()
  const whole_of = new WeakMap<object, StoredBody>()
  const whole = <D extends object>(document: D): D => (whole_of.get(document) as D | undefined) ?? document

  /** What is written, and since when, by the document. */
  const written = new Map<string, { readonly body: unknown; readonly at_ms: number }>()

  function unerased(
    id: string,
    { key, before, after }: Change,
    writer: Actor | undefined,
    report: (problem: string) => void,
  ): Change {
    const now_ms = writer?.true_now_ms ?? 0
    const first = written.get(id)
    const is_erased = first !== undefined && after !== undefined && isErased(after)
    if (after === undefined) written.delete(id)
    else if (!is_erased) written.set(id, { body: after['body'], at_ms: first?.at_ms ?? now_ms })
    const from = before && whole(before)
    if (!is_erased) return { key, before: from, after }
    if (!ON_REQUEST.test(key) && now_ms - first.at_ms < PERSON_RETENTION_MS - CLOCK_ERROR_MS)
      report(`${id} was erased ${now_ms - first.at_ms} ms after it was written`)
    const { erased_at: _, ...rest } = after
    const to = { ...rest, body: first.body } as StoredBody
    whole_of.set(after, to)
    return { key, before: from, after: to }
  }

  return {
    whole,
    wholeOf(name, change, writer, report) {
      const { key, before, after } = change
      const id = `${name} ${key}`
      if (ERASED_BODIES.includes(name)) return unerased(id, change, writer, report)
      const old = archived.get(id)
      const [was_stub, is_stub] = [before, after].map((body) => body?.[STUB_FIELD] !== undefined)
      const by_command = writer?.process.name.startsWith(ARCHIVE_COMMAND) === true
      if (is_stub && !by_command) report(`${id} was archived by ${writer?.process.name ?? 'nobody'}`)
      if (is_stub && !was_stub && before !== undefined) {
        archived.set(id, before)
        for (const problem of archivingProblems(name, before)) report(`${id} was archived ${problem}`)
      }
      const from = was_stub && old ? old : before
      const to = is_stub && after && from ? withKept(from, after) : after
      const seen = { key, before: from, after: to }
      if (is_stub && after && to) whole_of.set(after, to)
      if (!is_stub && was_stub) archived.delete(id)
      if ((is_stub || was_stub) && by_command && !isSameContent(seen))
        report(`${id} is not what was archived`)
      return seen
    },
  }
}

/** The document of a stub: what stays of it, and its body as it was. */
function withKept(whole: StoredBody, stub: StoredBody): StoredBody {
  const { [STUB_FIELD]: _, ...kept } = stub
  return { ...whole, ...kept }
}

function isErased({ body }: { readonly [field: string]: unknown }): boolean {
  return body === undefined || body === ERASED_TEXT
}

/** Why a document may not be archived. */
function* archivingProblems(name: string, document: StoredBody): Iterable<string> {
  if (name !== 'payments.payments') return
  const { environment, effects } = document as unknown as { environment: string; effects: readonly object[] }
  if (environment !== 'production') yield `in the ${environment} environment`
  if (effects.length > 0) yield 'with effects left'
  for (const field of PERSONAL) if (document[field] !== undefined) yield `with ${field}`
}
