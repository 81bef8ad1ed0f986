import { expect, test } from '@jest/globals'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { metricsText } from '#lib/telemetry/metrics.ts'
import { installManualClock } from '../../../test/support/manual-clock.ts'
import type { TransferCommand } from '../domain/command.ts'
import { credit } from '../ledger.fixture.ts'
import { BATCH_BYTES_MAX, BATCH_ENTRIES_MAX, COMMAND_WAIT_MAX_MS, WAITING_COMMANDS_MAX } from '../limits.ts'
import { type CommandQueue, createCommandQueue } from './command-queue.ts'

/** Adds commands that nothing decides. The ids have `id_length` characters. */
function addCommands(queue: CommandQueue, count: number, id_length = 10): void {
  for (let number = 0; number < count; number += 1)
    queue.addCommand(credit(String(number).padStart(id_length), 1n)).catch(() => undefined)
}

test('a batch has a bounded number of commands', () => {
  const queue = createCommandQueue()
  addCommands(queue, BATCH_ENTRIES_MAX + 88)
  expect(queue.takeBatch().commands).toHaveLength(BATCH_ENTRIES_MAX)
  expect(queue.takeBatch().commands).toHaveLength(88)
})

test('a batch has a bounded number of bytes, but at least one command', () => {
  const queue = createCommandQueue()
  const id_length = 20_000
  addCommands(queue, 20, id_length)
  const { commands } = queue.takeBatch()
  // The journal stores an id twice, and a character takes up to 3 bytes.
  expect(commands.length * 6 * id_length).toBeLessThanOrEqual(BATCH_BYTES_MAX)
  expect(commands.length).toBeGreaterThan(1)
  const other = createCommandQueue()
  addCommands(other, 2, BATCH_BYTES_MAX)
  expect(other.takeBatch().commands).toHaveLength(1)
})

// The journal stores an id 2 times, a merchant id 4 times, a payment id 2 times and a reason once, also in its indexes.
test.each<[Partial<TransferCommand>, number]>([
  [{ merchant_id: 'x'.repeat(20_000) }, 4],
  [{ payment_id: 'x'.repeat(20_000) }, 2],
  [{ reason: 'x'.repeat(20_000) }, 1],
])('long texts of every field count into the bytes of a batch', (fields, copies) => {
  const queue = createCommandQueue()
  for (let number = 0; number < 40; number += 1)
    queue.addCommand({ ...credit(`${number}`, 1n), ...fields }).catch(() => undefined)
  const { length } = queue.takeBatch().commands
  expect(length * copies * 3 * 20_000).toBeLessThanOrEqual(BATCH_BYTES_MAX)
  expect((length + 1) * copies * 3 * 20_100).toBeGreaterThan(BATCH_BYTES_MAX)
})

test('a full queue refuses commands and reads', async () => {
  const queue = createCommandQueue()
  addCommands(queue, WAITING_COMMANDS_MAX - 1)
  queue.addRead().catch(() => undefined)
  await expect(queue.addCommand(credit('one more', 1n))).rejects.toBeInstanceOf(Unavailable)
  await expect(queue.addRead()).rejects.toBeInstanceOf(Unavailable)
  queue.takeBatch()
  addCommands(queue, 1)
  expect(queue.size()).toBe(WAITING_COMMANDS_MAX - BATCH_ENTRIES_MAX)
})

test('a batch is overdue when a command in it has waited too long', async () => {
  using clock = installManualClock()
  const queue = createCommandQueue()
  addCommands(queue, 1)
  await clock.advance(COMMAND_WAIT_MAX_MS)
  addCommands(queue, 1)
  const batch = queue.takeBatch()
  expect(batch.isOverdue()).toBe(false)
  await clock.advance(1)
  expect(batch.isOverdue()).toBe(true)
})

// The alert MultihubLedgerBehind reads them: a ledger that commits nothing must not look like one without work.
test('the wait of a batch that fails is measured too, once, with the commands that wait behind it', async () => {
  using clock = installManualClock()
  const count = async () =>
    Number(/^multihub_ledger_command_seconds_count (\d+)$/m.exec(await metricsText())?.[1] ?? '0')
  const before = await count()
  const queue = createCommandQueue()
  addCommands(queue, BATCH_ENTRIES_MAX + 1)
  await clock.advance(10_000)
  const failed = queue.takeBatch()
  failed.reject(new Unavailable('the database does not answer'))
  queue.rejectAll(new Unavailable('the database does not answer'))
  expect(await count()).toBe(before + 2)
  addCommands(queue, 1)
  const undecided = queue.takeBatch()
  undecided.rejectCommands(new Unavailable('the clock is wrong'))
  undecided.resolve([])
  expect(await count()).toBe(before + 3)
})
