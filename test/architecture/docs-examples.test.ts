import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fromJson } from '@bufbuild/protobuf'
import { expect, test } from '@jest/globals'
import { GetTimelineResponseSchema } from '#gen/multihub/backoffice/v1/timeline_service_pb.ts'
import { GetVerificationResponseSchema } from '#gen/multihub/balances/v1/verification_service_pb.ts'
import { checkBankAccount } from '#lib/contract/bank-account.ts'
import { ERROR_TABLE, isErrorCode } from '#lib/contract/errors/error-table.ts'
import { ROUTE_CURRENCIES } from '#lib/contract/money.ts'
import { allowPublicAddresses } from '#lib/http/address-policy.ts'
import { checkCallbackUrl } from '#lib/http/callback-url.ts'
import { PUBLIC_METHODS } from '../../gateway/methods/public-methods.ts'
import { COMMON_REFUSALS } from '../../gateway/methods/refusals.ts'
import { placesOf } from '../../scripts/docs/errors.ts'
import { ROOT } from '../../scripts/sources/sources.ts'
import { strictViolationsOf } from '../support/openapi.ts'

const readPage = (name: string): Promise<string> =>
  readFile(join(ROOT, 'docs', 'merchants', `${name}.md`), 'utf8')

/** The JSON examples of a page, in their order. */
const jsonOf = async (name: string) =>
  [...(await readPage(name)).matchAll(/```json\n(.*?)```/gs)].map(([, text = '']) => JSON.parse(text))

const violationsOf = (component: string, value: unknown): readonly string[] =>
  strictViolationsOf(`#/components/schemas/${component}`)(value)

/** The envelope of an error that a page shows without its message. */
const withError = (error: object): object => ({
  success: false,
  result: null,
  error: { message: 'a message', details: null, context: null, ...error },
  request_id: '0199c0de-0000-7000-8000-000000000001',
  processing_time: 0.125,
})

test('the responses in README.md are as the references describe them', async () => {
  const text = await readFile(join(ROOT, 'README.md'), 'utf8')
  const [created, balance, verified] = [...text.matchAll(/```json\n(.*?)```/gs)].map(([, json = '']) =>
    JSON.parse(json),
  )
  expect(violationsOf('PaymentInResponse', created)).toEqual([])
  expect(violationsOf('BalanceGetResponse', balance)).toEqual([])
  expect(fromJson(GetVerificationResponseSchema, verified).verification?.shardsDone).toBe(256)
})

// N9
test('the page about callbacks says of each example URL what the check says', async () => {
  const section = (await readPage('callbacks')).split('## ').find((text) => text.startsWith('URLs')) ?? ''
  const rows = [...section.matchAll(/^\| `(https?:[^`]+)` \| (accepted|refused)/gm)].map(
    ([, url = '', verdict]) => ({ url, verdict }),
  )
  expect(rows.filter(({ verdict }) => verdict === 'accepted').length).toBeGreaterThan(3)
  expect(rows.filter(({ verdict }) => verdict === 'refused').length).toBeGreaterThan(6)
  const judged = rows.map(({ url }) => {
    const { ok } = checkCallbackUrl(url, { environment: 'test', allow: allowPublicAddresses })
    return { url, verdict: ok ? 'accepted' : 'refused' }
  })
  expect(judged).toEqual(rows)
})

test('the callback on the page has a payment as the reference describes it', async () => {
  const [callback, ...others] = await jsonOf('callbacks')
  expect(others).toEqual([])
  const { payment } = callback.data.result
  expect(violationsOf('PaymentCallbackResource', payment)).toEqual([])
  expect(callback.id).toBe(`${payment.identifiers.h_id}:payment.failed`)
})

// P12
test('the example accounts of the page about withdrawals are valid in their currencies', async () => {
  const rows = [...(await readPage('withdrawals')).matchAll(/^\| ([A-Z]{3}) \|.*`(\{.*\})` \|$/gm)]
  expect(rows.map(([, currency]) => currency).toSorted()).toEqual([...ROUTE_CURRENCIES].toSorted())
  for (const [, currency = '', text = ''] of rows) {
    const { account, ifsc, code } = JSON.parse(text)
    const codes = { ...(ifsc ? { ifsc } : {}), ...(code ? { bank_code: code } : {}) }
    expect(() => checkBankAccount(currency, { account_id: account.id, ...codes })).not.toThrow()
  }
})

test('the errors on the pages are as the reference describes them', async () => {
  const [envelope, duplicate, ...others] = await jsonOf('errors')
  expect(others).toEqual([])
  expect(violationsOf('Failure400', envelope)).toEqual([])
  expect(violationsOf('PaymentInFailure400', withError(duplicate))).toEqual([])
  const [exhausted, ...more] = await jsonOf('limits')
  expect(more).toEqual([])
  expect(violationsOf('Failure429', withError(exhausted))).toEqual([])
})

// O7
test('the timeline of the page for operators is an answer of GetTimeline', async () => {
  const text = await readFile(join(ROOT, 'docs', 'operators', 'explain-a-payment.md'), 'utf8')
  const [json = ''] = [...text.matchAll(/```json\n(.*?)```/gs)].map(([, found]) => found)
  const { rows, next, pending } = fromJson(GetTimelineResponseSchema, JSON.parse(json))
  expect(rows.length).toBeGreaterThan(5)
  expect(next).toEqual(pending[0])
})

test('the refund of the page about refunds is as the reference describes it', async () => {
  const [requested, ...others] = await jsonOf('refunds')
  expect(others).toEqual([])
  expect(violationsOf('RefundRequestResponse', requested)).toEqual([])
})

test('the page of errors has a code come in an envelope exactly when a method lists it', () => {
  const listed = [...COMMON_REFUSALS.values(), ...PUBLIC_METHODS.map(({ refusals }) => refusals)].flat()
  const codes = Object.keys(ERROR_TABLE).map(Number).filter(isErrorCode)
  const on_page = codes.filter((code) => placesOf(code).includes('envelope'))
  expect(on_page).toEqual(codes.filter((code) => listed.includes(code)))
})
