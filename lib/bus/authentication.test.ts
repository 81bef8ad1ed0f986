import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { log } from '#lib/telemetry/log.ts'
import { metricsText } from '#lib/telemetry/metrics.ts'
import { type InstalledClock, installManualClock } from '../../test/support/manual-clock.ts'
import {
  createMessageCheck,
  MESSAGE_AGE_MAX_MS,
  RECEIPT_SUBJECT_HEADER,
  signedHeaders,
} from './authentication.ts'
import type { Message } from './bus.ts'

const { event_payments, event_support, receipt } = testKeys()
const SUBJECT = 'events.payment.completed'
const DATA = Buffer.from('an event')

let clock: InstalledClock
beforeEach(() => {
  clock = installManualClock()
})
afterEach(() => clock[Symbol.dispose]())

/** A message as its publisher sends it. */
function signed(): Message {
  const headers = { [RECEIPT_SUBJECT_HEADER]: 'receipts.a', traceparent: '00-ab-cd-01' }
  return { subject: SUBJECT, data: DATA, headers: signedHeaders(event_payments, SUBJECT, DATA, headers) }
}

const check = (message: Message, signer = event_payments, auth: 'require' | 'accept' = 'require'): boolean =>
  createMessageCheck('event', auth)(message, signer)

// O10
test('a signed message is authentic for 5 minutes, in both directions of time', async () => {
  const message = signed()
  expect(check(message)).toBe(true)
  await clock.advance(MESSAGE_AGE_MAX_MS)
  expect([check(message), check(signed())]).toEqual([true, true])
  await clock.advance(1)
  expect(check(message)).toBe(false)
  const ahead = signed()
  clock.stepWall(-MESSAGE_AGE_MAX_MS - 1)
  expect(check(ahead)).toBe(false)
})

test.each<[string, (message: Message) => Message]>([
  ['another subject', (message) => ({ ...message, subject: 'events.payment.failed' })],
  ['other bytes', (message) => ({ ...message, data: Buffer.from('another event') })],
  [
    'another receipt subject',
    ({ headers, ...rest }) => ({ ...rest, headers: { ...headers, [RECEIPT_SUBJECT_HEADER]: 'receipts.b' } }),
  ],
  [
    'another time of these minutes',
    ({ headers, ...rest }) => ({
      ...rest,
      headers: { ...headers, 'multihub-time': `${Number(headers['multihub-time']) + 1}` },
    }),
  ],
  [
    'no key id',
    ({ headers, ...rest }) => ({ ...rest, headers: { ...headers, 'multihub-signature': 'a'.repeat(64) } }),
  ],
])('a message with %s is not authentic, also where unsigned ones are accepted', (_name, forge) => {
  expect(check(forge(signed()))).toBe(false)
  expect(check(forge(signed()), event_payments, 'accept')).toBe(false)
})

test('a message that another role signed is not authentic', () => {
  for (const other of [event_support, receipt, testKeys('another').event_payments])
    expect(check(signed(), other)).toBe(false)
})

/** The value of a series, as operators read it. */
async function metric(series: string): Promise<number | undefined> {
  const line = (await metricsText()).split('\n').find((text) => text.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.slice(series.length))
}

test('an unsigned message is dropped, or accepted during an update only, and counted in both cases', async () => {
  const { subject, data } = signed()
  const unsigned = { subject, data, headers: {} }
  const counted = (reason: string) =>
    metric(`multihub_bus_unauthentic_total{message="event",reason="${reason}"}`)
  expect(check(signed())).toBe(true)
  expect(await metric('multihub_bus_accepts_unsigned')).toBe(0)
  const [dropped = 0, accepted = 0] = [await counted('unsigned'), await counted('accepted')]
  expect(check(unsigned)).toBe(false)
  expect([await counted('unsigned'), await counted('accepted')]).toEqual([dropped + 1, accepted])
  expect(check(unsigned, event_payments, 'accept')).toBe(true)
  expect([await counted('unsigned'), await counted('accepted')]).toEqual([dropped + 1, accepted + 1])
  expect(await metric('multihub_bus_accepts_unsigned')).toBe(1)
})

test('what is dropped is counted and logged', async () => {
  const error = jest.spyOn(log, 'error').mockImplementation(() => {})
  const forged = () => metric('multihub_bus_unauthentic_total{message="event",reason="forged"}')
  const before = (await forged()) ?? 0
  expect(check({ ...signed(), data: Buffer.from('another event') })).toBe(false)
  expect(await forged()).toBe(before + 1)
  expect(error).toHaveBeenCalledWith({ subject: SUBJECT, reason: 'forged' }, expect.any(String))
  error.mockRestore()
})
