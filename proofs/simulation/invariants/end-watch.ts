import type { Actor } from '../parts/simulated-process.ts'
import type { Change, StoredBody } from '../parts/store/memory-collection.ts'
import type { Evidence } from './judge.ts'

const DAY_MS = 86_400_000

/** The retention of the test environment in the seeds in which days pass. */
export const TEST_RETENTION_MS = 7 * DAY_MS

/** More than a trusted clock differs from the store's (R8). */
const CLOCK_ERROR_MS = 6_000

/** A document that ends in the test environment, with the fields that the judges read. */
interface EndingDocument {
  readonly environment: string
  readonly status?: string
  readonly resolution?: object
  readonly effects?: readonly object[]
  readonly refunds?: readonly { readonly state: string }[]
}

const FINAL = ['success', 'error', 'declined', 'canceled', 'partially_refunded', 'refunded']

/** Whether a refund of a payment may still be paid. */
export function isOpenRefund(state: string): boolean {
  return ['pending', 'approving', 'approved'].includes(state)
}

/** Whether a document has ended, by its collection (O25). What is not listed here is never deleted. */
const HAS_ENDED: Readonly<Record<string, (document: EndingDocument) => boolean>> = {
  'payments.payments': ({ status = '', refunds = [] }) =>
    FINAL.includes(status) && !refunds.some(({ state }) => isOpenRefund(state)),
  'payments.anomalies': ({ resolution }) => resolution !== undefined,
  'payments.withdrawal_refusals': () => true,
  'support.tickets': ({ status = '' }) => ['resolved', 'closed'].includes(status),
  'support.refunds': ({ status = '' }) => ['rejected', 'canceled', 'completed', 'failed'].includes(status),
  'support.chargebacks': ({ status = '' }) => ['won', 'lost', 'accepted'].includes(status),
}

/** Comments end with their ticket or refund, which is deleted after them. */
const COMMENTS = ['support.ticket_comments', 'support.refund_comments']

/** Judges what the retention of the test environment deletes, and keeps it for the judges of the end. */
export interface EndWatch {
  /** Judges one change of a document. Returns whether the document has ended and was deleted. */
  onChange(
    name: string,
    change: Change,
    writer: Actor | undefined,
    report: (problem: string) => void,
  ): boolean
  /** The documents that should have been deleted a while ago. */
  overdue(now_ms: number): Iterable<string>
  /** The databases with what was deleted. `whole` makes each document whole. */
  withEnded(databases: Evidence['databases'], whole: (document: object) => object): Evidence['databases']
}

interface LastChange {
  readonly at_ms: number
  readonly document: EndingDocument
}

/** Makes the watch of one simulation. */
export function createEndWatch(): EndWatch {
  const live = new Map<string, LastChange>()
  const ended = new Map<string, StoredBody[]>()

  function hasEnded(name: string, { document }: LastChange): boolean {
    const { environment, effects = [] } = document
    return environment === 'test' && effects.length === 0 && HAS_ENDED[name]?.(document) === true
  }

  return {
    onChange(name, { key, before, after }, writer, report) {
      const is_comment = COMMENTS.includes(name)
      if (!(name in HAS_ENDED || is_comment)) return false
      const id = `${name} ${key}`
      const last = live.get(id)
      const now_ms = writer?.true_now_ms ?? 0
      if (after !== undefined) {
        // The products stored it in this form.
        live.set(id, { at_ms: now_ms, document: after as unknown as EndingDocument })
        return false
      }
      live.delete(id)
      // A refused withdrawal gives its `c_id` free.
      if (before === undefined || last === undefined || before['status'] === 'refused') return false
      if (!is_comment && !hasEnded(name, last)) report(`${id} was deleted, and has not ended`)
      else if (now_ms - last.at_ms < TEST_RETENTION_MS - CLOCK_ERROR_MS)
        report(`${id} was deleted ${now_ms - last.at_ms} ms after its last change`)
      ended.set(name, [...(ended.get(name) ?? []), before])
      return true
    },
    *overdue(now_ms) {
      for (const [id, last] of live) {
        const name = id.slice(0, id.indexOf(' '))
        if (hasEnded(name, last) && now_ms - last.at_ms > TEST_RETENTION_MS + CLOCK_ERROR_MS)
          yield `${id} has ended, and is still stored ${now_ms - last.at_ms} ms after its last change`
      }
    },
    withEnded: (databases, whole) =>
      new Map(
        [...databases].map(([role, database]) => [
          role,
          {
            named: (collection: string) => ({
              all: () => [
                ...[...(database.named(collection)?.all() ?? [])].map(whole),
                ...(ended.get(`${role}.${collection}`) ?? []),
              ],
            }),
          },
        ]),
      ),
  }
}
