import { describe, expect, test } from '@jest/globals'
import { CSV_HEADER, entryLine } from './entries-proto.ts'
import { type BalancesRpcs, openRpcs, transfer } from './rpcs.fixture.ts'

/** The transfers that are in progress at once. Each call has a deadline, which many at once miss on a slow machine. */
const IN_PROGRESS_MAX = 50

/** Posts one transfer per id, in the order of the ids. */
async function postTransfers(rpcs: BalancesRpcs, ids: readonly string[], reason = 'deposit'): Promise<void> {
  for (let from = 0; from < ids.length; from += IN_PROGRESS_MAX) {
    const some = ids.slice(from, from + IN_PROGRESS_MAX)
    await Promise.all(some.map((id) => rpcs.ledger().postTransfer({ ...transfer(id, 1n), reason })))
  }
}

/** Reads all parts of an export and returns them. */
async function exportEntries(rpcs: BalancesRpcs, merchantId = '1000'): Promise<string[]> {
  const parts: string[] = []
  let pageToken = ''
  do {
    const part = await rpcs.balances().exportEntries({ merchantId, pageToken })
    parts.push(part.csv)
    pageToken = part.nextPageToken
  } while (pageToken !== '')
  return parts
}

describe('an export', () => {
  test('has the names of the columns and a line per entry, in parts of bounded size', async () => {
    await using rpcs = await openRpcs()
    const ids = Array.from({ length: 1_203 }, (_, number) => `t${number}`)
    await postTransfers(rpcs, ids)
    const parts = await exportEntries(rpcs)
    expect(parts.map((part) => part.split('\r\n').length - 1)).toEqual([501, 500, 203])
    const [header, ...lines] = parts.join('').trimEnd().split('\r\n')
    expect(`${header}\r\n`).toBe(CSV_HEADER)
    expect(lines.map((line) => line.split(',')[1])).toEqual(ids)
    expect(lines[1]?.replace(/^[^,]+/, 'time')).toBe(
      'time,t1,transfer,p,INR,clearing,available,1,,2,0,deposit',
    )
  })

  test('ends a part that is long although it has few entries', async () => {
    await using rpcs = await openRpcs()
    const reason = '"'.repeat(500)
    const ids = Array.from({ length: 499 }, (_, number) => `${number}`.padStart(200, '界'))
    await postTransfers(rpcs, ids, reason)
    const parts = await exportEntries(rpcs)
    expect(parts.length).toBeGreaterThan(1)
    for (const part of parts) expect(Buffer.byteLength(part)).toBeLessThan(2 * 1024 * 1024)
    expect(parts.join('').split('\r\n')).toHaveLength(499 + 2)
  })

  test('of a merchant without entries has the names of the columns only', async () => {
    await using rpcs = await openRpcs()
    expect(await exportEntries(rpcs, '31')).toEqual([CSV_HEADER])
  })
})

test('a text that a spreadsheet would execute is harmless in an export, and a negative number stays one', () => {
  const text = '=HYPERLINK("http://evil")'
  const line = entryLine({
    shard: 1,
    seq: 1n,
    position: 0,
    time: new Date(0),
    entry: {
      id: text,
      payment_id: text,
      kind: 'adjustment',
      merchant_id: '1000',
      currency: 'INR',
      debit: 'available',
      credit: 'adjustments',
      amount: 7n,
      reason: text,
      available: -7n,
      held: 0n,
    },
  })
  const cell = `"'=HYPERLINK(""http://evil"")"`
  expect(line).toBe(
    `1970-01-01T00:00:00.000Z,${cell},adjustment,${cell},INR,available,adjustments,7,,-7,0,${cell}\r\n`,
  )
})
