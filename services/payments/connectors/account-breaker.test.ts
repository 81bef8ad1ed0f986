import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { Secret } from '#lib/base/crypto/secret.ts'
import { createLog } from '#lib/telemetry/log.ts'
import { metricsText } from '#lib/telemetry/metrics.ts'
import { type InstalledClock, installManualClock } from '../../../test/support/manual-clock.ts'
import type { CallResult } from '../domain/call-result.ts'
import { type CircuitBreaker, createAccountBreaker } from './circuit-breaker.ts'
import { newAccount, type ProviderAccount } from './provider-account.ts'

const FAILED: CallResult = { kind: 'unknown', reason: 'timeout', is_provider_failure: true }
const WORKS: CallResult = { kind: 'pending', provider_id: 'p' }

let clock: InstalledClock
let lines: string[]
beforeEach(() => {
  clock = installManualClock()
  lines = []
})
afterEach(() => clock[Symbol.dispose]())

const log = createLog('payments', { level: 'info', writer: { write: (line) => void lines.push(line) } })

function accountWith(changes: Partial<ProviderAccount>): ProviderAccount {
  const credentials = { key: new Secret('a key') }
  const fields = {
    account_id: 'acme',
    connector: 'http',
    base_url: 'http://127.0.0.1:1',
    credentials,
    settings: {},
  }
  return newAccount('test', { ...fields, ...changes, credentials })
}

async function observe(breaker: CircuitBreaker, result: CallResult, times: number): Promise<void> {
  for (let count = 0; count < times; count += 1) await breaker.observe(async () => result)
}

const entries = (): unknown[] => lines.map((line) => JSON.parse(line))

test('an opening, a failed probe and a closing are logged and counted', async () => {
  const breaker = createAccountBreaker(accountWith({ account_id: 'logged' }), log)
  await observe(breaker, FAILED, 5)
  await clock.advance(5_000)
  await observe(breaker, FAILED, 1)
  await clock.advance(10_000)
  await observe(breaker, WORKS, 3)
  expect(entries()).toMatchObject([
    { provider_account: 'logged', state: 'open', reason: 'timeout', count: 5, delay_ms: 5_000 },
    { provider_account: 'logged', state: 'open', reason: 'timeout', count: 6, delay_ms: 10_000 },
    { provider_account: 'logged', state: 'closed' },
  ])
  const metrics = await metricsText()
  expect(metrics).toContain('multihub_provider_circuit_open{provider_account="logged"} 0')
  expect(metrics).toContain('multihub_provider_circuit_openings_total{provider_account="logged"} 2')
})

test('the breaker of a built-in account of the sandbox never opens', async () => {
  const breaker = createAccountBreaker(accountWith({ is_simulated: true }), log)
  await observe(breaker, FAILED, 100)
  expect([breaker.status().state, breaker.hasPass()]).toEqual(['closed', true])
  expect(lines).toEqual([])
})
