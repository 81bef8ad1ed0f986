import { create, type Message } from '@bufbuild/protobuf'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import {
  BalanceService,
  type ListEntriesRequest,
  ListEntriesRequestSchema,
  ListEntriesResponseSchema,
} from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { type InstalledClock, installManualClock } from '../../test/support/manual-clock.ts'
import type { Connection } from './call/connection.ts'
import { type Flags, runList } from './run-list.ts'
import { CommandError, type Terminal } from './terminal.ts'

let clock: InstalledClock
beforeEach(() => {
  clock = installManualClock()
})
afterEach(() => clock[Symbol.dispose]())

const page = (ids: readonly string[], nextPageToken = '') =>
  create(ListEntriesResponseSchema, { entries: ids.map((entryId) => ({ entryId })), nextPageToken })

/** Runs a list of entries whose calls get these answers one after the other. */
function list(flags: Flags, answers: readonly (Message | Error)[], csv_columns?: readonly string[]) {
  const left = [...answers]
  const asked: unknown[] = []
  let [out, err] = ['', '']
  const connection = {
    async call(_method: unknown, { pageSize, pageToken }: ListEntriesRequest) {
      asked.push([pageSize, pageToken])
      const answer = left.shift() ?? new CommandError(1, 'the answers are over')
      if (answer instanceof Error) throw answer
      return answer
    },
  } as unknown as Connection
  const terminal = {
    stdout: { write: (text: string) => (out += text) },
    stderr: { write: (text: string) => (err += text) },
  } as unknown as Terminal
  const verb = { name: 'entries', about: '', rpc: 'listEntries', ...(csv_columns && { csv_columns }) }
  const method = BalanceService.method.listEntries
  const call = { connection, service: BalanceService, method, verb, flags, terminal }
  const end = runList(call, ['entry_id'], create(ListEntriesRequestSchema)).catch(
    (error: Error) => error.message,
  )
  return { end, asked, printed: () => ({ out, err }) }
}

const FORMS: readonly Flags[] = [{}, { json: true }, { jsonl: true }, { csv: true }]
const CUT = 'the first 2; --limit shows more\n'

test.each(FORMS)('a list that is cut says so: %j', async (form) => {
  for (const answers of [
    [page(['a', 'b'], 'more')],
    [page(['a'], 'x'), page(['b'], 'y')],
    [page(['a', 'b', 'c'])],
  ]) {
    const { end, printed } = list({ ...form, limit: '2' }, answers)
    await end
    expect(printed().err).toBe(CUT)
    expect(printed().out).not.toMatch(/^c|"c"/m)
  }
})

test.each(FORMS)('a list with as many rows as the limit is whole: %j', async (form) => {
  for (const answers of [[page(['a', 'b'])], [page(['a'], 'x'), page(['b'])]]) {
    const { end, printed } = list({ ...form, limit: '2' }, answers)
    await end
    expect(printed().err).toBe('')
  }
})

test.each(FORMS)(
  'each page is asked for after the last one, and none is longer than a page can be: %j',
  async (form) => {
    const { end, asked } = list({ ...form, limit: '1002' }, [page(['a'], 'x'), page(['b'], 'y'), page(['c'])])
    expect(await end).toBe(undefined)
    expect(asked).toEqual([
      [1_000, ''],
      [1_000, 'x'],
      [1_000, 'y'],
    ])
  },
)

test('the CSV of entries has amounts in major units, each with its currency', async () => {
  const amount = { minor: 12_300n, currency: 'INR' }
  const entries = [{ entryId: 'a', amount, availableAfter: -5n }]
  const columns = ['entry_id', 'amount', 'available_after:money']
  for (const [flags, number, after] of [
    [{ csv: true }, '123.00', '-0.05'],
    [{ csv: true, minor: true }, '12300', '-5'],
  ] as const) {
    const { end, printed } = list(flags, [create(ListEntriesResponseSchema, { entries })], columns)
    await end
    expect(printed().out).toBe(
      `entry_id,amount,amount_currency,available_after,available_after_currency\r\na,${number},INR,${after},INR\r\n`,
    )
  }
})

test('--watch goes on after a time without answers, says so once, and ends with a refusal', async () => {
  const away = new CommandError(3, 'no back office answers')
  const { end, printed } = list({ watch: true, jsonl: true }, [page(['a']), away, away, page(['b', 'a'])])
  await clock.advance(60_000)
  expect(await end).toBe('the answers are over')
  const ids = printed().out.match(/(?<="entryId":")[^"]+/g)
  expect(ids).toEqual(['a', 'b'])
  expect(printed().err).toBe('no back office answers; trying again\nconnected again\n')
})

test('--watch ends when nothing answers at the beginning', async () => {
  const { end, printed } = list({ watch: true }, [new CommandError(3, 'no back office answers')])
  expect(await end).toBe('no back office answers')
  expect(printed().err).toBe('')
})
