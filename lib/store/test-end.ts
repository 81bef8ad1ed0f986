import { now } from '#lib/base/time.ts'
import type { Environment } from '#lib/contract/environment.ts'
import { withCodec } from './coded-collection.ts'
import type { Collection, CollectionSpec } from './store.ts'

/** A document that is deleted when its time is over, if it is of the test environment. */
export interface TestDocument {
  readonly environment: Environment
  /** When it was last written, in a document of the test environment that has ended. The store derives it. */
  readonly test_ended_at?: Date | undefined
}

/** The index of what can be deleted. A document of production is never in it, and pays nothing for it. */
export const TEST_END_INDEX = {
  by_test_end: { fields: ['test_ended_at'], where: 'test_ended_at', across_partitions: true },
} as const satisfies CollectionSpec['indexes']

/** The `test_ended_at` of a document that is about to be written. */
export function testEndedAt({ environment }: TestDocument, has_ended: boolean): Date | undefined {
  return environment === 'test' && has_ended ? now() : undefined
}

/** The collection whose documents are stored with their `test_ended_at`. */
export function withTestEnd<D extends TestDocument>(
  collection: Collection<D>,
  hasEnded: (document: D) => boolean,
): Collection<D> {
  return withCodec<D, D>(collection, {
    encode: (document) => ({ ...document, test_ended_at: testEndedAt(document, hasEnded(document)) }),
    decode: (document) => document,
  })
}
