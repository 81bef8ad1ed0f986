import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { PaymentErasureService } from '#gen/multihub/payments/v1/payment_erasure_service_pb.ts'
import { clock } from '#lib/base/time.ts'
import { eventually } from '../support/eventually.ts'
import { makeOfEachKind, PERSON, SEARCH, type SearchSystem, startSearch } from './search.fixture.ts'
import type { SupportClient } from './support.fixture.ts'

let search: SearchSystem
let shop: SupportClient
let other: SupportClient
let known: Awaited<ReturnType<typeof makeOfEachKind>>
let reader: { readonly id: string; readonly token: string }
beforeAll(async () => {
  search = await startSearch()
  ;[shop, other] = [await search.system.newMerchant(), await search.system.newMerchant()]
  known = await makeOfEachKind(search.system, shop)
  reader = await search.door.newPrincipal(['read'])
})
afterAll(async () => search[Symbol.asyncDispose]())

const textOf = (name: string): string => known.get(name)?.text ?? ''

const idsOf = async (token: string, text: string): Promise<readonly string[]> =>
  (await search.search(token, text)).references.map(({ kind, id }) => `${kind} ${id}`)

/** The entries of a principal's searches. */
async function entriesOf(principalId: string): Promise<readonly object[]> {
  const { token } = await search.door.newPrincipal(['admin'])
  const list = 'multihub.backoffice.v1.AuditService/ListAuditEntries'
  const { body } = await search.door.call(token, list, { principalId, rpc: SEARCH })
  return body.entries ?? []
}

// O6
test('the request id of a creation also finds its exchange', async () => {
  const text = textOf('request id')
  const found = [`payment ${textOf('payment_id')}`, `exchange ${text}`]
  await eventually(
    () => idsOf(reader.token, text),
    (ids) => ids?.length === 2,
  )
  expect(await idsOf(reader.token, text)).toEqual(found)
})

// O6
test('each identifier finds its thing, once, with a title and a time that tell nothing of the person', async () => {
  const own = await search.door.newPrincipal(['read'], shop.merchant_id)
  expect(known.size).toBe(17)
  for (const [name, { text, found }] of known)
    for (const token of [reader.token, own.token]) {
      const { references, unavailable } = await search.search(token, ` ${text}\t`)
      const things = references.filter(({ kind }) => kind !== 'exchange')
      expect({ name, unavailable, found: things.map(({ kind, id }) => [kind, id]) }).toEqual({
        name,
        unavailable: [],
        found: [found],
      })
      expect(references[0]).toMatchObject({
        merchantId: shop.merchant_id,
        title: expect.stringMatching(/^[^ ]/),
        time: expect.stringMatching(/^20/),
      })
      expect(JSON.stringify(references)).not.toMatch(/zelda/i)
    }
})

// O2
test('a principal of another merchant finds nothing by them, in as many steps of time as for what is not there', async () => {
  const foreign = await search.door.newPrincipal(['read', 'reveal'], other.merchant_id)
  for (const text of [...[...known.values()].map(({ text }) => text), 'not there', PERSON.email]) {
    const started_ms = clock.monotonic_ms()
    expect(await search.search(foreign.token, text)).toEqual({
      references: [],
      unavailable: [],
      nextPageToken: '',
    })
    expect(clock.monotonic_ms() - started_ms).toBeGreaterThanOrEqual(49)
  }
})

// O6, O16, O19
test('a person is found with `reveal` only, and such a search leaves one entry without its text', async () => {
  const payment = `payment ${textOf('payment_id')}`
  const revealing = await search.door.newPrincipal(['reveal'])
  const texts = [PERSON.email.toUpperCase(), PERSON.phone, '919812345670']
  for (const text of texts) {
    expect(await idsOf(reader.token, text)).toEqual([])
    expect(await idsOf(revealing.token, text)).toEqual([payment])
  }
  expect(await idsOf(revealing.token, textOf('c_id'))).toEqual([payment])
  expect(await entriesOf(reader.id)).toEqual([])
  const entries = await entriesOf(revealing.id)
  expect(entries).toMatchObject(texts.map(() => ({ outcome: 'AUDIT_OUTCOME_DONE', targets: [] })))
  expect(JSON.stringify(entries)).not.toMatch(/quixworth|98123|9812345670/i)
})

// O6
test.each([
  ['the letter of another type', (id: string) => `c:${id}`],
  ['a UTR in the place of an id', (id: string) => `u:${id}`],
  ['the hash of a person', () => 'h:1.00'],
  ['a beginning', (id: string) => id.slice(0, -1)],
  ['more than an id', (id: string) => `${id}0`],
  ['a character that turns the writing around', (id: string) => `\u202e${id}`],
  ['an expression', () => '{"$ne":null}'],
  ['the highest character', () => '\u{10ffff}'],
])('%s finds nothing', async (_what, change) => {
  for (const name of ['c_id', 'UTR', 'payment_id', 'refund_id', 'merchant_id', 'application_id'])
    expect(await search.search(reader.token, change(textOf(name)))).toMatchObject({ references: [] })
})

// C2.1, O19
test.each<[string, object, string]>([
  ['no text', {}, 'text'],
  ['white space only', { text: ' \t ' }, 'text'],
  ['U+0000', { text: 'a\0b' }, 'text'],
  ['a long text', { text: 'x'.repeat(257) }, 'text'],
  ['a page of 1,001', { text: 'x', pageSize: 1_001 }, 'page_size'],
  ['a negative page', { text: 'x', pageSize: -1 }, 'page_size'],
  ['a token that is none', { text: 'x', pageToken: '1.x' }, 'page_token'],
  ['an unknown field', { text: 'x', merchantId: '1' }, 'merchantId'],
])('%s is refused, with the field', async (_what, request, field) => {
  const { status, body } = await search.door.call(reader.token, SEARCH, request)
  expect({ status, code: body.code }).toEqual({ status: 400, code: 'invalid_argument' })
  expect(JSON.stringify(body)).toContain(field)
})

// O6
test('merchants are found by the beginning of their name, whatever the case, page by page', async () => {
  const merchants = search.system.operator(MerchantService)
  const names = ['\u00c9clair One', '\u00e9clair two', 'e\u0301CLAIR three', '\ufdfa'.repeat(128)]
  const ids = new Map<string, string>()
  for (const name of names) {
    const { merchant } = await merchants.createMerchant({ name, timezone: 'UTC', environments: [1] })
    ids.set(name, merchant?.merchantId ?? '')
  }
  const found: string[] = []
  for (let pageToken = '', pages = 0; pages < 3; pages += 1) {
    const page = await search.search(reader.token, '\u00c9CLAIR', { pageSize: 1, pageToken })
    expect(page.references).toHaveLength(1)
    found.push(...page.references.map(({ id }) => id))
    pageToken = page.nextPageToken
    expect(pageToken === '').toBe(pages === 2)
  }
  expect(found).toEqual([names[0], names[2], names[1]].map((name) => ids.get(name ?? '')))
  const one = ids.get('\u00e9clair two') ?? ''
  await merchants.updateMerchant({ merchantId: one, name: 'Renamed' })
  expect(await idsOf(reader.token, 'renam')).toEqual([`merchant ${one}`])
  const own = await search.door.newPrincipal(['read'], one)
  expect(await idsOf(own.token, 'RENAM')).toEqual([`merchant ${one}`])
  expect(await idsOf(own.token, '\u00e9clair')).toEqual([])
  expect(await idsOf(reader.token, '\ufdfa')).toEqual([`merchant ${ids.get(names[3] ?? '')}`])
})

// O6, O19
test('a page token counts for its principal and text only', async () => {
  const c_id = `shared ${randomUUID()}`
  for (const { sendBody, service_id } of [shop, other]) {
    const payment = { identifiers: { c_id }, amount: { value: 1_000_908, currency: 'INR' }, payer: {} }
    await sendBody({ method: 'payment.in', service_id, params: { payment } })
  }
  const first = await search.search(reader.token, c_id, { pageSize: 1 })
  const { nextPageToken: pageToken } = first
  const second = await search.search(reader.token, c_id, { pageSize: 1, pageToken })
  expect(second.nextPageToken).toBe('')
  const merchants = [...first.references, ...second.references].map(({ merchantId }) => merchantId)
  expect(merchants.toSorted()).toEqual([shop.merchant_id, other.merchant_id].toSorted())
  const another = await search.door.newPrincipal(['read'])
  const own = await search.door.newPrincipal(['read'], shop.merchant_id)
  for (const [token, text] of [
    [another.token, c_id],
    [own.token, c_id],
    [reader.token, `${c_id}0`],
  ] as const) {
    const request = { text, pageSize: 1, pageToken }
    expect(await search.door.call(token, SEARCH, request)).toMatchObject({
      status: 400,
      body: { code: 'invalid_argument', message: expect.stringContaining('page_token') },
    })
  }
})

// O6
test('what an unavailable role knows is missing, and the answer names the role', async () => {
  const { roles } = search.system
  const prefix = 'shop'
  for (const role of ['payments', 'support'] as const) {
    roles.setStoreUnavailable(role, true)
    expect(await search.search(reader.token, prefix)).toMatchObject({
      unavailable: [role],
      references: expect.arrayContaining([expect.objectContaining({ id: shop.merchant_id })]),
    })
    roles.setStoreUnavailable(role, false)
  }
})

// O11
test('an erased person is found no more, and the payment still by its other identifiers', async () => {
  const revealing = await search.door.newPrincipal(['reveal'])
  const erasures = search.system.operator(PaymentErasureService)
  const named = { case: 'paymentId', value: textOf('payment_id') } as const
  const refund_id = textOf('refund_id')
  const reject = 'multihub.support.v1.RefundService/RejectRefund'
  const money = await search.door.newPrincipal(['money'])
  await search.door.call(money.token, reject, { refundId: refund_id, reason: 'no' })
  await eventually(
    () =>
      erasures.erasePerson({ merchantId: shop.merchant_id, person: named }).then(
        () => true,
        () => false,
      ),
    (is_erased) => is_erased === true,
  )
  expect(await idsOf(revealing.token, PERSON.email)).toEqual([])
  expect(await idsOf(revealing.token, PERSON.phone)).toEqual([])
  expect(await idsOf(revealing.token, textOf('UTR'))).toEqual([`payment ${textOf('payment_id')}`])
})
