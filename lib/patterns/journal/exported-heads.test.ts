import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { z } from 'zod'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { createLog } from '#lib/telemetry/log.ts'
import { type InstalledClock, installManualClock } from '../../../test/support/manual-clock.ts'
import { type HeadKind, startHeadExport } from './exported-heads.ts'

const { journal } = testKeys()
const KIND: HeadKind<{ readonly shard: number }> = {
  book: 'the ledger',
  role: 'balances',
  place: z.object({ shard: z.int() }),
  signedText: ({ shard, seq, hash }) => `${shard} ${seq} ${hash}`,
  nameOf: ({ shard }) => `shard ${shard}`,
}

let clock: InstalledClock
beforeEach(() => {
  clock = installManualClock()
})
afterEach(() => clock[Symbol.dispose]())

// O9: an outsider who keeps the log loses the knowledge of a minute at most, also when the process is killed.
test('the newest head of each journal goes to the log once a minute, and nothing while there is none', async () => {
  const lines: string[] = []
  const log = createLog('balances', { level: 'info', writer: { write: (line) => void lines.push(line) } })
  const heads = startHeadExport(KIND, journal, log)
  for (const seq of [1n, 3n, 2n]) heads.note({ seq, hash: `h${seq}` }, { shard: 7 })
  heads.note({ seq: 1n, hash: 'g1' }, { shard: 8 })
  await clock.advance(59_999)
  expect(lines).toEqual([])
  await clock.advance(1)
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ shard: 7, seq: '3', hash: 'h3', signature: journal.sign('7 3 h3') }),
    expect.objectContaining({ shard: 8, seq: '1', hash: 'g1', signature: journal.sign('8 1 g1') }),
  ])
  await clock.advance(60_000)
  heads.stop()
  expect(lines).toHaveLength(2)
})
