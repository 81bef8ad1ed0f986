import type { IncomingMessage, ServerResponse } from 'node:http'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { createLog } from '#lib/telemetry/log.ts'
import { type InstalledClock, installManualClock } from '../../test/support/manual-clock.ts'
import { beginExchange, type Exchange } from './exchange.ts'
import { createExchangeLog, createLogSampler, type ExchangeLog } from './exchange-log.ts'

const LINES_PER_NETWORK = 20

/** How many lines are written when `write` is called 50 times for callers of one network. */
function linesOf(write: (log: ExchangeLog) => void): number {
  const lines: string[] = []
  const writer = { write: (line: string): void => void lines.push(line) }
  const log = createExchangeLog(createLog('gateway', { level: 'info', writer }), undefined)
  for (let count = 0; count < 50; count += 1) write(log)
  return lines.length
}

function exchangeOf(context: Exchange['context']): Exchange {
  const request = { rawHeaders: [], headers: {}, socket: { remoteAddress: '192.0.2.1' } }
  const exchange = beginExchange(request as unknown as IncomingMessage, {} as ServerResponse)
  return { ...exchange, context }
}

const refused = new PublicError(3000)

test.each<[string, (log: ExchangeLog) => void]>([
  ['refusals', (log) => log.logFailure(exchangeOf({}), refused)],
  ['aborted requests', (log) => log.logAborted(exchangeOf({}))],
  ['invalid requests', (log) => log.logInvalid('id', '192.0.2.1', 'reason')],
])('samples the lines about %s of callers that are not authenticated', (_what, write) => {
  expect(linesOf(write)).toBe(LINES_PER_NETWORK)
})

test('refusals of a network do not use up its lines about faults, which are sampled too', () => {
  const faulty = new PublicError(2001, { cause: new Error('unforeseen') })
  const writeBoth = (log: ExchangeLog): void => {
    for (let count = 0; count < LINES_PER_NETWORK; count += 1) log.logFailure(exchangeOf({}), refused)
    log.logFailure(exchangeOf({}), faulty)
  }
  // The fault itself is logged ten times per minute, as any cause.
  expect(linesOf(writeBoth)).toBe(LINES_PER_NETWORK + LINES_PER_NETWORK + 10)
})

test('writes each line about an authenticated caller', () => {
  const sign = (): readonly [string, string] => ['x-signature', '']
  expect(linesOf((log) => log.logFailure(exchangeOf({ sign }), refused))).toBe(50)
  expect(linesOf((log) => log.logSuccess(exchangeOf({ sign }), 200))).toBe(50)
})

let manual: InstalledClock
beforeEach(() => {
  manual = installManualClock()
})
afterEach(() => manual[Symbol.dispose]())

const nextOf = (lines: ReturnType<typeof createLogSampler>, count: number, address: string) =>
  Array.from({ length: count }, () => lines.sampleLine(address))

test('limits the lines per minute about a network, and says how many were left out', async () => {
  const lines = createLogSampler({ network_lines_max: 2 })
  expect(nextOf(lines, 4, '192.0.2.1')).toEqual([0, 0, undefined, undefined])
  expect(nextOf(lines, 1, '192.0.2.2')).toEqual([0])
  await manual.advance(59_999)
  expect(nextOf(lines, 1, '192.0.2.1')).toEqual([undefined])
  await manual.advance(1)
  expect(nextOf(lines, 3, '192.0.2.1')).toEqual([3, 0, undefined])
})

test('counts a /48 of IPv6 as one network, and all invalid addresses together as another', () => {
  const lines = createLogSampler({ network_lines_max: 1 })
  expect([
    lines.sampleLine('2001:db8:1::1'),
    lines.sampleLine('2001:db8:1:2::1'),
    lines.sampleLine('2001:db8:2::1'),
  ]).toEqual([0, undefined, 0])
  expect([lines.sampleLine(undefined), lines.sampleLine('x')]).toEqual([0, undefined])
})

test('limits the lines about all networks together', async () => {
  const lines = createLogSampler({ network_lines_max: 2, lines_max: 3 })
  expect(nextOf(lines, 2, '192.0.2.1')).toEqual([0, 0])
  expect(nextOf(lines, 2, '192.0.2.2')).toEqual([0, undefined])
  expect(nextOf(lines, 1, '192.0.2.3')).toEqual([undefined])
  await manual.advance(60_000)
  expect(nextOf(lines, 1, '192.0.2.3')).toEqual([1])
})

test('remembers 10,000 networks, so that callers from more of them do not use more memory', () => {
  const lines = createLogSampler({ network_lines_max: 1, lines_max: 1_000_000 })
  expect(nextOf(lines, 2, '2001:db8::')).toEqual([0, undefined])
  for (let number = 1; number <= 9_999; number += 1) lines.sampleLine(`2001:db8:${number.toString(16)}::`)
  expect(nextOf(lines, 1, '2001:db8::')).toEqual([undefined])
  for (let number = 10_000; number <= 20_000; number += 1)
    lines.sampleLine(`2001:db8:${number.toString(16)}::`)
  expect(nextOf(lines, 1, '2001:db8::')).toEqual([0])
})
