import type { IncomingMessage, ServerResponse } from 'node:http'
import { expect, test } from '@jest/globals'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { createLog } from '#lib/telemetry/log.ts'
import { beginExchange, type Exchange } from './exchange.ts'
import { createExchangeLog, type ExchangeLog } from './exchange-log.ts'

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
  const lines_per_fault = 2
  const writeBoth = (log: ExchangeLog): void => {
    for (let count = 0; count < LINES_PER_NETWORK; count += 1) log.logFailure(exchangeOf({}), refused)
    log.logFailure(exchangeOf({}), faulty)
  }
  expect(linesOf(writeBoth)).toBe(LINES_PER_NETWORK + LINES_PER_NETWORK * lines_per_fault)
})

test('writes each line about an authenticated caller', () => {
  const sign = (): readonly [string, string] => ['x-signature', '']
  expect(linesOf((log) => log.logFailure(exchangeOf({ sign }), refused))).toBe(50)
  expect(linesOf((log) => log.logSuccess(exchangeOf({ sign }), 200))).toBe(50)
})
