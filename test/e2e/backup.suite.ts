import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from '@jest/globals'
import { runToEnd, runUntilEnd } from '../support/child.ts'
import { eventually } from '../support/eventually.ts'
import { merchantClient } from '../support/merchant.ts'
import { operatorOf } from '../support/operator.ts'
import type { Receiver } from '../support/receiver.ts'
import type { TestSystem } from '../support/system.ts'
import { verifyLedgerOf } from '../support/verification.ts'
import { beginStorm, finalStatusOf } from './crash.suite.ts'

const LIMIT_MS = 300_000
/** An account that does not know a payout is an anomaly after five minutes (P4). */
const END_LIMIT_MS = 600_000

/** What differs between the stores. */
export interface BackedUpSystem {
  readonly system: TestSystem
  readonly receiver: Receiver
  readonly variables: Readonly<Record<string, string>>
  /** Destroys the data of the killed system. */
  destroy(): Promise<void>
  /** Whether all databases of the backup are of one instant, so that the ledger has no entry of an unknown payment. */
  readonly is_instant: boolean
}

/**
 * Backs a system up while payments are created and completed, destroys it, restores it, and checks it: each payment that
 * was accepted before the backup began is there and ends, what was delivered before is not delivered again, and the books
 * agree.
 */
export async function expectBackupUnderLoad(backed_up: BackedUpSystem): Promise<void> {
  const { system, receiver, variables, is_instant } = backed_up
  const alpha = merchantClient(system.demo)
  const opening = await alpha.available()
  const delivered = await deliveredPayment(backed_up)
  const storm = beginStorm(alpha, receiver)
  await storm.begun
  const accepted_before = [...storm.payments].filter(([, { response }]) => response?.body?.success)
  const backup = join(system.home, 'backup')
  const keys = await keysOf(system)
  await runToEnd('main.ts', ['backup', backup], { ...variables, ...keys })
  await storm.over
  await system.kill()
  await backed_up.destroy()
  const unknown = await expectRestore(backed_up, backup)
  const restored_at = new Date().toISOString()
  await system.start()
  const booked = await bookedOf(system, alpha.merchant.merchant_id, unknown)

  const left_to_operator = new Set<string>()
  let paid = delivered.value
  for (const [c_id, { direction, value }] of storm.payments) {
    const found = await eventually(
      async () => {
        for (const payment_id of await endUnknownPayouts(system)) left_to_operator.add(payment_id)
        return alpha.status(c_id).catch(() => undefined)
      },
      (seen) => seen?.body?.result?.payment.status.final || seen?.body?.error?.code === 6010,
      END_LIMIT_MS,
    )
    const payment = found?.body.result?.payment
    const status = payment?.status.status
    if (left_to_operator.has(payment?.identifiers.h_id)) {
      expect({ direction, payment }).toMatchObject({
        direction: 'out',
        payment: { status: { status: 'error' } },
      })
      expect(payment.status.history[1].created > restored_at).toBe(true)
    } else if (accepted_before.some(([id]) => id === c_id))
      expect({ c_id, payment, status }).toMatchObject({ c_id, status: finalStatusOf(value) })
    if (status !== 'success') continue
    paid += direction === 'in' ? value : -value
    await eventually(
      async () => receiver.of(c_id).some(({ body }) => body.id.endsWith(':payment.completed')),
      (received) => received === true,
      LIMIT_MS,
    )
  }
  expect(accepted_before.length).toBeGreaterThan(0)
  await eventually(
    () => alpha.balance(),
    (balance) =>
      balance?.value === opening + paid + booked.available && balance.value_freezing === booked.held,
    LIMIT_MS,
  )
  expect(await verifyLedgerOf(operatorOf(system.demo()))).toMatchObject({ consistent: true })
  expect(receiver.of(delivered.c_id).length).toBe(delivered.callbacks)
  await expectRecordedRuns(system, is_instant)
}

/**
 * Ends the withdrawals that no account knows, and returns their payment ids. Only those whose hold the backup had undecided are
 * left to the operator (P19.9); the sandbox is restored too and knows every other one.
 */
async function endUnknownPayouts(system: TestSystem): Promise<readonly string[]> {
  const operator = operatorOf(system.demo())
  const service = 'multihub.payments.v1.PaymentService'
  const request = { kind: 'ANOMALY_KIND_NOT_FOUND_AT_PROVIDER', openOnly: true, pageSize: 100 }
  const { anomalies = [] } = await operator(`${service}/ListAnomalies`, request)
  for (const { anomalyId } of anomalies)
    await operator(`${service}/ResolveAnomaly`, {
      anomalyId,
      resolution: 'ANOMALY_RESOLUTION_KIND_NOT_PAID',
      operationId: `unknown-${anomalyId}`,
      note: 'the sandbox has no such payout',
    })
  return anomalies.map(({ paymentId }: { paymentId: string }) => paymentId)
}

/** The restored system knows of its backup and its restore, and of the verification, which finds problems without an instant. */
async function expectRecordedRuns(system: TestSystem, is_instant: boolean): Promise<void> {
  const operator = operatorOf(system.demo())
  const { runs } = await operator('multihub.backoffice.v1.OperationService/ListOperations', {})
  const outcomes = new Map(runs.map((run: { kind: string; outcome: string }) => [run.kind, run.outcome]))
  expect(outcomes.get('OPERATION_KIND_BACKUP')).toBe('OPERATION_OUTCOME_SUCCEEDED')
  expect(outcomes.get('OPERATION_KIND_RESTORE')).toBe('OPERATION_OUTCOME_SUCCEEDED')
  if (is_instant) expect(outcomes.get('OPERATION_KIND_VERIFY')).toBe('OPERATION_OUTCOME_SUCCEEDED')
}

/**
 * Restores and verifies. Where the databases are not of one instant, the ledger may have entries of payments that were
 * created during the backup, of which payouts need `--incomplete`; nothing else may be wrong. Returns those payments.
 */
async function expectRestore(
  { system, variables, is_instant }: BackedUpSystem,
  backup: string,
): Promise<ReadonlySet<string>> {
  const keys = await keysOf(system)
  const words = ['restore', '--erasures', 'none', '--verify', ...(is_instant ? [] : ['--incomplete']), backup]
  const restored = await runUntilEnd('main.ts', words, { ...variables, ...keys })
  const problems = restored.output.split('\n').filter((line) => line.startsWith('PROBLEM'))
  const later =
    /^PROBLEM {2}(?:balances|payments): the payment (\S+) of the ledger entry (?:\S+ is missing|\S+:hold(?::resolve)? happened while the backup ran, and cannot be added)$/
  expect(problems.filter((line) => is_instant || !later.test(line))).toEqual([])
  const code = problems.length > 0 ? 1 : 0
  // The log says why it ended with another code.
  expect(restored.code === code ? { code } : restored).toEqual({ code })
  if (code === 0) expect(restored.output).toMatch(/for --heads use only log lines from before \d{4}-\S+Z:/)
  return new Set(problems.map((line) => later.exec(line)?.[1] ?? ''))
}

/** What the ledger has booked for payments that the backup does not have: it stays, and the operator decides about it. */
async function bookedOf(system: TestSystem, merchantId: string, payment_ids: ReadonlySet<string>) {
  const operator = operatorOf(system.demo())
  const sums = { available: 0, held: 0 }
  for (const paymentId of payment_ids) {
    const { entries = [] } = await operator('multihub.balances.v1.BalanceService/ListEntries', {
      merchantId,
      paymentId,
    })
    expect(entries.length).toBeGreaterThan(0)
    for (const { debit, credit, amount, refusedCode = 0 } of entries) {
      if (refusedCode !== 0) continue
      for (const [account, sign] of [
        [credit, 1],
        [debit, -1],
      ] as const) {
        if (account === 'LEDGER_ACCOUNT_AVAILABLE') sums.available += sign * Number(amount.minor)
        if (account === 'LEDGER_ACCOUNT_HELD') sums.held += sign * Number(amount.minor)
      }
    }
  }
  return sums
}

/** Makes a payment whose callbacks are all delivered, and known as delivered. */
async function deliveredPayment({ system, receiver }: BackedUpSystem) {
  const alpha = merchantClient(system.demo)
  const value = 70_000
  const { c_id } = await alpha.deposit(value, { webhook_url: receiver.url })
  await receiver.waitFor(c_id, 'payment.completed')
  const operator = operatorOf(system.demo())
  const request = { merchantId: alpha.merchant.merchant_id, pageSize: 100 }
  await eventually(
    async () =>
      (await operator('multihub.notifier.v1.DeliveryService/ListDeliveries', request)).deliveries ?? [],
    (deliveries: readonly { status: string }[] = []) =>
      deliveries.length > 0 && deliveries.every(({ status }) => status === 'DELIVERY_STATUS_DELIVERED'),
  )
  return { c_id, value, callbacks: receiver.of(c_id).length }
}

/** The setting of the master key that `npm start` has made. */
export async function keysOf({ home }: Pick<TestSystem, 'home'>) {
  const { master_key } = JSON.parse(await readFile(join(home, 'keys.json'), 'utf8'))
  return { MULTIHUB_MASTER_KEYS: `local:${master_key}` }
}

/** Destroys the embedded files of a system. */
export async function destroyFiles({ home }: Pick<TestSystem, 'home'>): Promise<void> {
  await rm(join(home, 'data'), { recursive: true })
}
