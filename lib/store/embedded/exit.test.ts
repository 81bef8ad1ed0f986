import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { withTimeout } from '#lib/base/time.ts'
import { HANG_LIMIT_MS } from '../../../test/support/hang-limit.ts'
import { openStore } from '../open.ts'

const CHILD = join(import.meta.dirname, 'exit.fixture.ts')

test('a process that exits during a write ends, and its store can be used again', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'store-exit-'))
  const child = spawn(process.execPath, [...process.execArgv, CHILD, directory], { stdio: 'ignore' })
  try {
    expect(await withTimeout(once(child, 'exit'), HANG_LIMIT_MS / 2)).toBeDefined()
    const store = await openStore({ database: 'items', directory, timeout_ms: HANG_LIMIT_MS })
    const items = await store.collection({ name: 'items', partition: ['id'], key: ['id'] })
    await items.insert({ id: 2 })
    expect(await items.get({ id: 2 })).toBeDefined()
    await store.close()
  } finally {
    child.kill('SIGKILL')
    await rm(directory, { recursive: true, force: true })
  }
})
