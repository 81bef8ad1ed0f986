import { join } from 'node:path'
import { every, now } from '#lib/base/time.ts'
import { log } from '#lib/telemetry/log.ts'
import { planRegistration } from './embedded/catalog.ts'
import { createCollection } from './embedded/collection.ts'
import { completeIndexes } from './embedded/complete-indexes.ts'
import { createDocuments } from './embedded/documents.ts'
import { openEnvironment } from './embedded/environment.ts'
import { deleteExpired, type Expiring, withExpiry } from './embedded/expiry.ts'
import { BLOBS_DIRECTORY, openFiles } from './embedded/files.ts'
import { parseLayout } from './layout.ts'
import type { Collection, CollectionSpec, Store } from './store.ts'

const SWEEP_INTERVAL_MS = 1_000

interface EmbeddedOptions {
  readonly directory: string
  readonly timeout_ms: number
}

/**
 * Opens the store of one service in a directory: LMDB for documents, files for blobs. Durable when a promise
 * resolves and safe against `kill -9`; several processes may open the same directory.
 */
export async function openEmbedded(options: EmbeddedOptions): Promise<Store> {
  const { directory, timeout_ms } = options
  const environment = await openEnvironment(directory, timeout_ms)
  const expiring = new Map<string, Expiring>()
  let closed = false
  const sweeper = every(
    SWEEP_INTERVAL_MS,
    () => deleteExpired(environment, [...expiring.values()]),
    (error) => {
      if (closed) return
      log.error(
        { path: directory, error },
        'the embedded store failed to delete expired documents; it tries again',
      )
    },
  )

  return {
    isAlone: environment.isAlone,
    async collection<D extends object>(spec: CollectionSpec): Promise<Collection<D>> {
      const layout = withExpiry(parseLayout(spec))
      const { prefixes, complete } = await environment.write(() =>
        planRegistration(environment.table, layout),
      )
      const documents = createDocuments(environment.table, layout, prefixes)
      if (!complete) await completeIndexes(environment, layout, prefixes, documents)
      if (layout.expires !== undefined) expiring.set(layout.name, { prefixes, documents })
      return createCollection<D>(environment, layout, prefixes, documents)
    },
    blobs: (name) => openFiles(join(directory, BLOBS_DIRECTORY), name),
    async ping() {
      await environment.write(() => ({ result: undefined }))
    },
    readClock: async () => now(),
    async close() {
      closed = true
      sweeper.cancel()
      await environment.release()
    },
  }
}
