import { describedSetting, type Setting } from '#lib/base/config/config.ts'
import { durationSetting } from '#lib/base/config/settings.ts'
import { now } from '#lib/base/time.ts'
import { Conflict } from '#lib/store/errors.ts'
import { keyOf } from '#lib/store/lookup.ts'
import type { Collection, CollectionSpec, Stored } from '#lib/store/store.ts'
import type { TestDocument } from '#lib/store/test-end.ts'
import { counter } from '#lib/telemetry/metrics.ts'
import type { ClockGuard } from './clock-guard.ts'
import { startDueWalk } from './due-walk.ts'

// The life of a document of the test environment (O25). A document of production never gets `test_ended_at`:
//
//   open ──▶ ended: each write stores its time as `test_ended_at` ──▶ deleted, when that is `retention_ms` ago
//     ▲                                                          │
//     └──────────── a refund, a chargeback, a reopened ticket ────┘

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** Longer than any late lookup, retry, upload and kept exchange, so that nothing that is under way loses its document. */
const RETENTION_MIN_MS = 7 * DAY_MS

/** The setting of the time after which data of the test environment that has ended is deleted; `undefined` keeps it. */
export const TEST_RETENTION_SETTING = describedSetting(
  'How long payments, refunds, chargebacks, tickets and files of the test environment are kept after their last change, once they have ended. Then they are deleted. `none` keeps them permanently.',
  orNone(
    durationSetting('MULTIHUB_TEST_RETENTION', {
      min: RETENTION_MIN_MS,
      max: 36_600 * DAY_MS,
      fallback: 90 * DAY_MS,
    }),
  ),
)

function orNone<T>(setting: Setting<T>): Setting<T | undefined> {
  return {
    ...setting,
    expected: `${setting.expected}, or none`,
    read: (text) => (text === 'none' ? { ok: true, value: undefined } : setting.read(text)),
  }
}

/**
 * Whether a document that existed at a time may have been deleted since because it was of the test environment. It does not depend on
 * the setting, which may have been shorter before.
 */
export function mayHaveEnded({
  environment,
  at,
}: {
  readonly environment: string
  readonly at: Date
}): boolean {
  // The hour is for the clocks of two processes.
  return environment === 'test' && at.getTime() < now().getTime() - RETENTION_MIN_MS + HOUR_MS
}

/**
 * Whether a document whose `c_id` is free for another one waits for its deletion only: its `c_id` is freed last, and a crash or a
 * failure came before the deletion (O25).
 */
export function isBeingDeleted({ environment, test_ended_at }: TestDocument): boolean {
  return test_ended_at !== undefined && mayHaveEnded({ environment, at: test_ended_at })
}

/**
 * Whether a document is deleted within the hour, or should have been: a change now would keep it, without what is deleted before it
 * (O25). A retention of `undefined` deletes nothing.
 */
export function isAboutToEnd(
  { test_ended_at }: Pick<TestDocument, 'test_ended_at'>,
  retention_ms: number | undefined,
): boolean {
  if (retention_ms === undefined || test_ended_at === undefined) return false
  return test_ended_at.getTime() < now().getTime() - retention_ms + HOUR_MS
}

const deleted_documents = counter(
  'multihub_test_documents_deleted_total',
  'Documents of the test environment that had ended and were deleted after their retention.',
  ['collection'],
)

/** Deletes a version of a document, and counts it. Returns `false` when the document was changed or deleted meanwhile. */
export async function deleteEnded<D extends object>(
  { name, key }: CollectionSpec,
  collection: Pick<Collection<D>, 'delete'>,
  document: Stored<D>,
): Promise<boolean> {
  try {
    // Every document has the fields of its key.
    await collection.delete(keyOf({ key })(document as never), document.version)
  } catch (error) {
    if (error instanceof Conflict) return false
    throw error
  }
  deleted_documents.increment({ collection: name })
  return true
}

/** The documents of one collection that end in the test environment, and what ends with them. */
export interface EndingDocuments<D extends TestDocument> {
  readonly spec: CollectionSpec
  readonly collection: Collection<D>
  /** Whether nothing of the document is open. */
  hasEnded(document: D): boolean
  /**
   * Deletes what belongs to the document elsewhere, before the document, so that a crash leaves nothing that nothing names. It is
   * repeated after a failure. A document that is changed meanwhile stays without its rest.
   */
  deleteRest?(document: D): Promise<void>
}

/**
 * Deletes a document of the test environment that has ended, with what belongs to it, unless it was changed meanwhile. Throws for a
 * document of production: whatever its fields say, it stays.
 */
export async function deleteTestDocument<D extends TestDocument>(
  { spec, collection, hasEnded, deleteRest }: EndingDocuments<D>,
  found: Stored<D>,
): Promise<void> {
  const document = deleteRest ? await collection.get(keyOf(spec)(found as never)) : found
  if (document?.version !== found.version || !hasEnded(document)) return
  if (document.environment !== 'test')
    throw new TypeError(`a document of ${spec.name} that is not of the test environment is never deleted`)
  await deleteRest?.(document)
  await deleteEnded(spec, collection, document)
}

/** How long ended documents stay (`undefined`: permanently), and the clock by which that is measured. */
export interface TestRetention {
  readonly clock_guard: ClockGuard
  readonly retention_ms: number | undefined
}

/** A walk deletes at most 4 pages of these documents in a minute, few at once: no burst that others must wait for. */
const WALK = { interval_ms: 60_000, page_size: 500, concurrency: 4 }

/** Starts the walk, once a minute, that visits what is in an index since `retention_ms` or longer. `stop` waits for the walk. */
export function startRetentionWalk<D extends object>(
  { spec, collection }: { readonly spec: CollectionSpec; readonly collection: Collection<D> },
  { clock_guard, retention_ms }: TestRetention,
  visit: (document: Stored<D>) => Promise<unknown>,
): { stop(): Promise<void> } {
  if (retention_ms === undefined) return { stop: async () => {} }
  return startDueWalk(collection, 'by_test_end', {
    ...WALK,
    clock_guard,
    failure: `ended test documents of ${spec.name} could not be deleted`,
    rangeOf: () => ({ to: new Date(now().getTime() - retention_ms) }),
    async visit(document) {
      await visit(document)
    },
  })
}

/** Starts the walk that deletes the documents of the test environment that have ended. */
export function startTestRetention<D extends TestDocument>(
  documents: EndingDocuments<D>,
  retention: TestRetention,
): { stop(): Promise<void> } {
  return startRetentionWalk(documents, retention, (document) => deleteTestDocument(documents, document))
}
