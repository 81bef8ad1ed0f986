import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, jest, test } from '@jest/globals'
import { now } from '#lib/base/time.ts'
import { log } from '#lib/telemetry/log.ts'
import { HANG_LIMIT_MS } from '../../../test/support/hang-limit.ts'
import { installManualClock } from '../../../test/support/manual-clock.ts'
import { openStore } from '../open.ts'
import { openEnvironment } from './environment.ts'

afterEach(() => {
  jest.restoreAllMocks()
})

test('a failed deletion of expired documents is a line of the log', async () => {
  using clock = installManualClock()
  await using folder = await makeFolder()
  const store = await openStore({ database: 'test', directory: folder.path, timeout_ms: HANG_LIMIT_MS })
  try {
    const notes = await store.collection<{ id: string; expires_at: Date }>({
      name: 'notes',
      partition: ['id'],
      key: ['id'],
      expires: 'expires_at',
    })
    await notes.insert({ id: 'a', expires_at: now() })
    await damageDocuments(join(folder.path, 'test'))
    const logged = new Promise<unknown[]>((resolve) => {
      jest.spyOn(log, 'error').mockImplementation((...line) => resolve(line))
    })
    await clock.advance(1_000)
    expect(await logged).toEqual([
      { path: join(folder.path, 'test'), error: expect.any(Error) },
      'the embedded store failed to delete expired documents; it tries again',
    ])
  } finally {
    await store.close()
  }
})

async function makeFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'multihub-expiry-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

/** Cuts every record off in its header, so that no document can be deleted. */
async function damageDocuments(directory: string): Promise<void> {
  const environment = await openEnvironment(directory, HANG_LIMIT_MS)
  const keys = environment.read(() => [...environment.table.getKeys()])
  await environment.write(() => ({
    result: undefined,
    apply() {
      for (const key of keys) if (key.includes('.d ')) void environment.table.put(key, Buffer.alloc(1))
    },
  }))
  await environment.release()
}
