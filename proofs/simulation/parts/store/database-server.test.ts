import { expect, test } from '@jest/globals'
import { Ambiguous } from '#lib/store/errors.ts'
import { createPartitions } from '../partitions.ts'
import { createChoices } from '../random.ts'
import { createScheduler } from '../scheduler.ts'
import { createMachine } from '../simulated-process.ts'
import { createTrace } from '../trace.ts'
import { createDatabaseServers } from './database-server.ts'
import type { StoreCommand } from './store.ts'

const INSERT: StoreCommand = {
  kind: 'insert',
  database: 'orders',
  collection: 'orders',
  subject: '',
  is_linearizable: false,
}

test('a client waits for a slow write until its time limit only, and some are applied after it', async () => {
  const scheduler = createScheduler()
  const { now_ms } = scheduler
  const servers = createDatabaseServers(
    createMachine(scheduler),
    createChoices(1, 'store'),
    createTrace(),
    () => [],
    createPartitions(),
  )
  servers.faults.slow = 1
  servers.faults.slow_max_ms = 8_000
  const ends = Array.from({ length: 40 }, async () => {
    let applied_ms = 0
    const write = servers.carry(INSERT, () => {
      applied_ms = now_ms()
    })
    const error: unknown = await write.then(
      () => undefined,
      (reason: unknown) => reason,
    )
    const ended_ms = now_ms()
    return { error, ended_ms, isLate: () => applied_ms > ended_ms }
  })
  await scheduler.run(() => false)
  const writes = await Promise.all(ends)
  expect(Math.max(...writes.map(({ ended_ms }) => ended_ms))).toBe(5_000)
  const late = writes.filter(({ isLate }) => isLate())
  expect(late.length).toBeGreaterThan(5)
  for (const { error } of late) expect(error).toBeInstanceOf(Ambiguous)
})
