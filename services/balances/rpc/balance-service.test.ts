import type { MessageInitShape } from '@bufbuild/protobuf'
import { type Timestamp, timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt'
import { describe, expect, test } from '@jest/globals'
import { LedgerEntryKind } from '#gen/multihub/balances/v1/balance_pb.ts'
import type { ListEntriesRequestSchema } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { adjustment, type BalancesRpcs, openRpcs, owner, transfer } from './rpcs.fixture.ts'

describe('BalanceService', () => {
  test('corrects a balance up and down, once per operation id', async () => {
    await using rpcs = await openRpcs()
    const balances = rpcs.balances()
    const first = await balances.adjust(adjustment('op', 500n))
    expect(first).toMatchObject({
      balance: { currency: 'INR', available: 500n, held: 0n },
      entry: { amount: { minor: 500n } },
    })
    await balances.adjust(adjustment('down', -700n))
    expect(await balances.adjust(adjustment('op', 500n))).toEqual(first)
    await expect(balances.adjust(adjustment('op', 501n))).rejects.toMatchObject({ code: 1013 })
    expect(await balances.getBalances(owner)).toMatchObject({
      balances: [{ currency: 'INR', available: -200n }],
    })
    await balances.adjust({ ...adjustment('op', 3n), merchantId: '31' })
    expect(await balances.getBalances({ ...owner, environment: Environment.PRODUCTION })).toMatchObject({
      balances: [],
    })
  })

  test.each([
    ['only its amount names', '', 'INR'],
    ['only the request names', 'INR', ''],
  ])('an adjustment has the currency that %s', async (_, currency, of_amount) => {
    await using rpcs = await openRpcs()
    const amount = { minor: 5n, currency: of_amount }
    expect(await rpcs.balances().adjust({ ...adjustment('op', 5n), currency, amount })).toMatchObject({
      entry: { amount: { minor: 5n, currency: 'INR' } },
    })
  })

  // B4
  test('an adjustment can be about a payment, whose list of entries shows it', async () => {
    await using rpcs = await openRpcs()
    const balances = rpcs.balances()
    const about = { ...adjustment('op', 500n), paymentId: 'p' }
    expect(await balances.adjust(about)).toEqual(await balances.adjust(about))
    await balances.adjust(adjustment('other', 1n))
    expect(await balances.listEntries({ merchantId: '1000', paymentId: 'p' })).toMatchObject({
      entries: [{ entryId: 'adjust:1000:op', paymentId: 'p', amount: { minor: 500n } }],
    })
    for (const paymentId of ['', 'q'])
      await expect(balances.adjust({ ...about, paymentId })).rejects.toMatchObject({ code: 1013 })
    const control = { ...about, paymentId: 'a\nb' }
    const refused = { code: 9000, details: { description: 'payment_id' } }
    await expect(balances.adjust(control)).rejects.toMatchObject(refused)
  })

  test('says that an adjustment was refused, permanently, and changes nothing', async () => {
    await using rpcs = await openRpcs()
    const balances = rpcs.balances()
    const most = 2n ** 63n - 1n
    await balances.adjust(adjustment('full', most))
    await expect(balances.adjust(adjustment('over', 1n))).rejects.toMatchObject({ code: 6001 })
    await balances.adjust(adjustment('down', -10n))
    await expect(balances.adjust(adjustment('over', 1n))).rejects.toMatchObject({ code: 6001 })
    expect(await balances.getBalances(owner)).toMatchObject({ balances: [{ available: most - 10n }] })
  })

  test('lists entries by page, of a merchant or of one payment', async () => {
    await using rpcs = await openRpcs()
    const balances = rpcs.balances()
    for (let number = 0; number < 7; number += 1) await rpcs.ledger().postTransfer(transfer(`t${number}`, 1n))
    await balances.adjust(adjustment('op', 1n))
    const ids: string[] = []
    let pageToken = ''
    do {
      const page = await balances.listEntries({ merchantId: '1000', pageSize: 3, pageToken })
      ids.push(...page.entries.map(({ entryId }) => entryId))
      pageToken = page.nextPageToken
    } while (pageToken !== '')
    expect(ids).toEqual(['t0', 't1', 't2', 't3', 't4', 't5', 't6', 'adjust:1000:op'])
    const { entries } = await balances.listEntries({ merchantId: '1000', paymentId: 'p', pageSize: 100 })
    expect(entries).toHaveLength(7)
    expect(await balances.listEntries({ merchantId: '31' })).toMatchObject({ entries: [], nextPageToken: '' })
  })

  test('lists the newest entries first, and those of a time or a currency', async () => {
    await using rpcs = await openRpcs()
    const balances = rpcs.balances()
    const times: Timestamp[] = []
    for (const [number, currency] of ['INR', 'MXN', 'INR'].entries()) {
      const amount = { minor: 1n, currency }
      const { entry } = await rpcs.ledger().postTransfer({ ...transfer(`t${number}`, 1n), amount })
      if (entry?.createTime) times.push(entry.createTime)
    }
    const list = async (filter: MessageInitShape<typeof ListEntriesRequestSchema>): Promise<string[]> => {
      const { entries } = await balances.listEntries({ merchantId: '1000', ...filter })
      return entries.map(({ entryId }) => entryId)
    }
    expect(await list({ newestFirst: true })).toEqual(['t2', 't1', 't0'])
    expect(await list({ currency: 'MXN' })).toEqual(['t1'])
    const [first] = times
    expect(await list({ createdTo: first })).toEqual([])
    expect(await list({ createdFrom: first })).toEqual(['t0', 't1', 't2'])
  })

  // O8
  test('lists adjustments and settlements by kind, and any kind of a payment', async () => {
    await using rpcs = await openRpcs()
    const balances = rpcs.balances()
    for (const number of [1, 2]) {
      await balances.adjust(adjustment(`op-${number}`, 5n))
      await rpcs.ledger().postTransfer(transfer(`t${number}`, 1n))
    }
    await balances.settle({ ...owner, currency: 'INR', operationId: 'op' })
    const { ADJUSTMENT, SETTLEMENT, TRANSFER, HOLD } = LedgerEntryKind
    const list = async (filter: MessageInitShape<typeof ListEntriesRequestSchema>) => {
      const { entries } = await balances.listEntries({ ...owner, ...filter })
      return entries.map(({ entryId }) => entryId)
    }
    expect(await list({ kind: ADJUSTMENT })).toEqual(['adjust:1000:op-1', 'adjust:1000:op-2'])
    expect(await list({ kind: ADJUSTMENT, pageSize: 1, newestFirst: true })).toEqual(['adjust:1000:op-2'])
    expect(await list({ kind: ADJUSTMENT, currency: 'MXN' })).toEqual([])
    expect(await list({ kind: SETTLEMENT, currency: 'INR' })).toEqual(['settle:1000:op'])
    expect(await list({ kind: TRANSFER, paymentId: 'p' })).toEqual(['t1', 't2'])
    expect(await list({ kind: HOLD, paymentId: 'p' })).toEqual([])
    await expect(list({ kind: TRANSFER })).rejects.toMatchObject({ details: { description: 'kind' } })
  })

  test('refuses the page token of another list', async () => {
    await using rpcs = await openRpcs()
    const balances = rpcs.balances()
    for (let number = 0; number < 3; number += 1) await rpcs.ledger().postTransfer(transfer(`t${number}`, 1n))
    const first = { merchantId: '1000', pageSize: 1 }
    const { nextPageToken: pageToken } = await balances.listEntries(first)
    expect(await balances.listEntries({ ...first, pageSize: 2, pageToken })).toMatchObject({
      entries: [{ entryId: 't1' }, { entryId: 't2' }],
      nextPageToken: '',
    })
    for (const other of [
      { newestFirst: true },
      { currency: 'INR' },
      { paymentId: 'p' },
      { merchantId: '31' },
      { createdTo: timestampFromMs(1) },
    ]) {
      await expect(balances.listEntries({ ...first, ...other, pageToken })).rejects.toMatchObject({
        code: 9000,
      })
    }
  })

  test('reads the balances at an instant, which must not be in the future', async () => {
    await using rpcs = await openRpcs()
    const { entry } = await rpcs.ledger().postTransfer(transfer('t', 5n))
    const at = entry?.createTime ?? timestampFromMs(0)
    expect(await rpcs.balances().getBalances({ ...owner, at })).toMatchObject({
      balances: [{ currency: 'INR', available: 5n, held: 0n }],
    })
    const before = timestampFromMs(timestampMs(at) - 1)
    expect(await rpcs.balances().getBalances({ ...owner, at: before })).toMatchObject({ balances: [] })
    const future = timestampFromMs(Date.now() + 3_600_000)
    await expect(rpcs.balances().getBalances({ ...owner, at: future })).rejects.toMatchObject({ code: 9000 })
  })

  test('settles once per operation id', async () => {
    await using rpcs = await openRpcs()
    const settle = (operationId: string, currency = 'INR') =>
      rpcs.balances().settle({ ...owner, currency, operationId, reason: 'month end' })
    const first = await settle('op')
    expect(first).toMatchObject({
      entry: { entryId: 'settle:1000:op', kind: LedgerEntryKind.SETTLEMENT, settlementPeriod: 1n },
    })
    expect(await settle('op')).toEqual(first)
    await expect(settle('op', 'MXN')).rejects.toMatchObject({ code: 1013 })
    expect(await settle('next')).toMatchObject({ entry: { settlementPeriod: 2n } })
    await expect(rpcs.balances('payments').settle({ ...owner, currency: 'INR' })).rejects.toThrow()
  })

  // P14
  test('PreviewSettlement says what would end, and changes nothing', async () => {
    await using rpcs = await openRpcs()
    const { balances, ledger } = { balances: rpcs.balances(), ledger: rpcs.ledger() }
    await balances.adjust(adjustment('open', 100n))
    const hold = (holdId: string, serviceId: string, minor: bigint) =>
      ledger.placeHold({
        ...owner,
        holdId,
        amount: { minor, currency: 'INR' },
        limits: { serviceId, timezone: 'UTC' },
      })
    await hold('a', '7', 30n)
    await hold('b', '7', 5n)
    await hold('c', '11', 20n)
    const preview = () => balances.previewSettlement({ ...owner, currency: 'INR' })
    const balance = { currency: 'INR', available: 45n, held: 55n }
    const routes = [
      { serviceId: '7', total: { minor: 35n, currency: 'INR' } },
      { serviceId: '11', total: { minor: 20n, currency: 'INR' } },
    ]
    for (const _ of [1, 2]) expect(await preview()).toMatchObject({ settlementPeriod: 1n, balance, routes })
    const settled = await balances.settle({ ...owner, currency: 'INR', operationId: 'op' })
    expect(settled).toMatchObject({ entry: { settlementPeriod: 1n } })
    await hold('d', '7', 1n)
    const next = { settlementPeriod: 2n, routes: [{ serviceId: '7', total: { minor: 1n } }] }
    expect(await preview()).toMatchObject(next)
    await expect(balances.previewSettlement({ ...owner })).rejects.toMatchObject({ code: 1005 })
    await expect(rpcs.balances('payments').previewSettlement({ ...owner, currency: 'INR' })).rejects.toThrow()
  })

  test('refuses Adjust for callers other than the operator', async () => {
    await using rpcs = await openRpcs()
    await expect(rpcs.balances('payments').adjust(adjustment('op', 1n))).rejects.toThrow()
  })
})

describe('refuses a bad request with its code and the path of the field', () => {
  const cases: [number, string, (rpcs: BalancesRpcs) => Promise<unknown>][] = [
    [1005, 'merchant_id', (rpcs) => rpcs.balances().getBalances({ ...owner, merchantId: '' })],
    [1005, 'environment', (rpcs) => rpcs.balances().getBalances({ merchantId: '1000' })],
    [9000, 'environment', (rpcs) => rpcs.balances().getBalances({ ...owner, environment: 7 as Environment })],
    [9000, 'merchant_id', (rpcs) => rpcs.balances().getBalances({ ...owner, merchantId: 'x'.repeat(201) })],
    [
      1005,
      'amount',
      (rpcs) => rpcs.balances().adjust({ ...owner, currency: 'INR', operationId: 'o', reason: 'r' }),
    ],
    [9000, 'amount.minor', (rpcs) => rpcs.balances().adjust(adjustment('o', 0n))],
    [9000, 'amount.minor', (rpcs) => rpcs.balances().adjust(adjustment('o', -(2n ** 63n)))],
    [9000, 'amount.currency', (rpcs) => rpcs.balances().adjust({ ...adjustment('o', 1n), currency: 'MXN' })],
    [9000, 'currency', (rpcs) => rpcs.balances().adjust({ ...adjustment('o', 1n), currency: 'inr' })],
    [1005, 'currency', (rpcs) => rpcs.balances().settle(owner)],
    [9000, 'currency', (rpcs) => rpcs.balances().settle({ ...owner, currency: 'inr' })],
    [
      9000,
      'operation_id',
      (rpcs) => rpcs.balances().settle({ ...owner, currency: 'INR', operationId: 'x'.repeat(129) }),
    ],
    [1005, 'operation_id', (rpcs) => rpcs.balances().adjust(adjustment('', 1n))],
    [1005, 'operation_id', (rpcs) => rpcs.balances().settle({ ...owner, currency: 'INR' })],
    [9000, 'operation_id', (rpcs) => rpcs.balances().adjust(adjustment('x'.repeat(129), 1n))],
    [1005, 'reason', (rpcs) => rpcs.balances().adjust({ ...adjustment('o', 1n), reason: '' })],
    [9000, 'reason', (rpcs) => rpcs.balances().adjust({ ...adjustment('o', 1n), reason: 'a\nb' })],
    [
      9000,
      'created_from',
      (rpcs) => rpcs.balances().listEntries({ merchantId: '1000', createdFrom: { seconds: 2n ** 60n } }),
    ],
    [9000, 'currency', (rpcs) => rpcs.balances().listEntries({ merchantId: '1000', currency: 'inr' })],
    [9000, 'page_size', (rpcs) => rpcs.balances().listEntries({ merchantId: '1000', pageSize: 1_001 })],
    [9000, 'page_token', (rpcs) => rpcs.balances().listEntries({ merchantId: '1000', pageToken: '1' })],
    [
      9000,
      'page_token',
      (rpcs) => rpcs.balances().listEntries({ merchantId: '1000', pageToken: `${2n ** 63n}.0` }),
    ],
  ]
  test.each(cases)('%i at %s', async (code, path, call) => {
    await using rpcs = await openRpcs()
    await expect(call(rpcs)).rejects.toMatchObject({ code, details: { description: path } })
  })
})

test('an entry is read by its id, by its merchant only', async () => {
  await using rpcs = await openRpcs()
  const { entry } = await rpcs.balances().adjust(adjustment('op', 500n))
  const entryId = entry?.entryId ?? ''
  expect((await rpcs.balances().getEntry({ ...owner, entryId })).entry).toEqual(entry)
  for (const wrong of [{ entryId: 'unknown' }, { merchantId: '2000' }])
    await expect(rpcs.balances().getEntry({ ...owner, entryId, ...wrong })).rejects.toMatchObject({
      details: { description: 'entry_id' },
    })
})
