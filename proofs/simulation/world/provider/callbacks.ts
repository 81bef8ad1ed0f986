import { Secret } from '#lib/base/crypto/secret.ts'
import { signRequest } from '#lib/base/crypto/signed-request.ts'
import { sleep } from '#lib/base/time.ts'
import type { HttpNetwork } from '../../parts/http/http-network.ts'
import type { Choices } from '../../parts/random.ts'
import type { Machine } from '../../parts/simulated-process.ts'
import type { ProviderFaults } from './faults.ts'
import { type ProviderOperation, type ProviderReport, reportOf } from './operation.ts'

/** What sending callbacks needs. */
export interface CallbackSenderDeps {
  readonly machine: Machine
  readonly network: HttpNetwork
  readonly choices: Choices
  readonly faults: ProviderFaults
  readonly key: Secret
  readonly onProblem: (problem: string) => void
}

/** For some minutes: longer than all processes of a system are cut off from their stores, one after the other. */
const TRIES_MAX = 40
const TIMEOUT_MS = 10_000

/** The share of operations about which somebody sends a forged callback. */
const FORGED = 0.1

/** Makes the function that sends the callbacks of an operation that has ended: in order, late, twice, or wrong. */
export function createCallbackSender(
  deps: CallbackSenderDeps,
): (operation: ProviderOperation) => Promise<void> {
  const { choices, faults, machine } = deps

  function contradictionOf(operation: ProviderOperation): ProviderReport {
    const report = reportOf(operation)
    const completed_at = new Date(machine.now_ms()).toISOString()
    const wrong_amount = { ...report, amount: operation.amount + 1, status: 'success', completed_at }
    return choices.pick<ProviderReport>([
      wrong_amount,
      { ...report, status: 'pending' },
      ...(operation.status === 'success' ? [] : [{ ...report, status: 'canceled' }]),
    ])
  }

  return async (operation) => {
    if (choices.chance(FORGED)) await forge(deps, operation)
    if (choices.chance(FOREIGN)) await reportByOtherAccount(deps, operation)
    if (faults.other_id > 0 && choices.chance(faults.other_id)) await reportUnderOtherId(deps, operation)
    if (choices.chance(faults.contradiction)) await send(deps, operation, contradictionOf(operation))
    if (!choices.chance(faults.lost_callback)) await send(deps, operation, reportOf(operation))
    if (choices.chance(faults.repeated_callback)) await send(deps, operation, reportOf(operation))
    if (choices.chance(faults.contradiction)) await send(deps, operation, contradictionOf(operation))
  }
}

/**
 * Sends a report of somebody who does not know the key. It must be refused, and only for its signature: all else in it is
 * valid.
 */
async function forge(
  { machine, network, onProblem }: CallbackSenderDeps,
  operation: ProviderOperation,
): Promise<void> {
  const { account_id, idempotency_key, callback_url } = operation
  const { origin, pathname: path } = new URL(callback_url)
  const completed_at = new Date(machine.now_ms()).toISOString()
  const report = { ...reportOf(operation), status: 'success', completed_at }
  const body = Buffer.from(JSON.stringify(report))
  const headers = signRequest(new Secret('x'.repeat(64)), { account_id, method: 'POST', path, body })
  const response = network.request(origin, { method: 'POST', path, headers, body }, TIMEOUT_MS)
  const status = await response.then(
    (received) => received.status,
    () => 0,
  )
  if (status === 200) onProblem(`a forged callback of ${idempotency_key} was accepted`)
}

/** The share of operations about which another account sends a callback. */
const FOREIGN = 0.1

/** The accounts whose key an account shares, so that each can sign callbacks for the other one. */
const SIBLINGS: Readonly<Record<string, string>> = {
  acme: 'acme-backup',
  'acme-backup': 'acme',
  sandbox: 'sandbox-down',
  'sandbox-down': 'sandbox',
}

/**
 * Sends a report of success by an account that was never asked for the operation, to its own address for the payment. The
 * signature is valid; the report must not be applied.
 */
async function reportByOtherAccount(
  { machine, network, key, onProblem }: CallbackSenderDeps,
  operation: ProviderOperation,
): Promise<void> {
  const { account_id, idempotency_key, callback_url } = operation
  const other = SIBLINGS[account_id]
  if (other === undefined) return
  const { origin, pathname } = new URL(callback_url)
  const path = pathname.replace(`/${account_id}/`, `/${other}/`)
  const completed_at = new Date(machine.now_ms()).toISOString()
  const body = Buffer.from(JSON.stringify({ ...reportOf(operation), status: 'success', completed_at }))
  const headers = signRequest(key, { account_id: other, method: 'POST', path, body })
  const status = await network.request(origin, { method: 'POST', path, headers, body }, TIMEOUT_MS).then(
    (received) => received.status,
    () => 0,
  )
  if (status === 200) onProblem(`a callback of ${idempotency_key} by the account ${other} was applied`)
}

/** Reports once that an operation is pending, as it then was. Says whether Multihub has acknowledged that. */
export async function reportPending(
  deps: Omit<CallbackSenderDeps, 'faults' | 'onProblem'>,
  operation: ProviderOperation,
): Promise<boolean> {
  return (await post(deps, operation, { ...reportOf(operation), status: 'pending' })) === 200
}

/** Once the own id is known, a success under another one is about something else. */
async function reportUnderOtherId(deps: CallbackSenderDeps, operation: ProviderOperation): Promise<void> {
  if (!(await reportPending(deps, operation))) return
  const { provider_id } = operation
  const completed_at = new Date(deps.machine.now_ms()).toISOString()
  const other = { provider_id: `${provider_id}-other`, status: 'success', completed_at }
  await post(deps, operation, { ...reportOf(operation), ...other })
}

/** Sends one report once. Returns the status of the response, or 0 without one. */
function post(
  { network, key }: Pick<CallbackSenderDeps, 'network' | 'key'>,
  { account_id, callback_url }: ProviderOperation,
  report: ProviderReport,
): Promise<number> {
  const { origin, pathname: path } = new URL(callback_url)
  const body = Buffer.from(JSON.stringify(report))
  const headers = signRequest(key, { account_id, method: 'POST', path, body })
  return network.request(origin, { method: 'POST', path, headers, body }, TIMEOUT_MS).then(
    (response) => response.status,
    () => 0,
  )
}

/** Sends one report until it is acknowledged. */
async function send(
  deps: CallbackSenderDeps,
  operation: ProviderOperation,
  report: ProviderReport,
): Promise<void> {
  const { choices, onProblem } = deps
  const { idempotency_key } = operation
  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    const status = await post(deps, operation, report)
    if (status >= 200 && status <= 299) {
      const is_true = report.status === operation.status && report.amount === operation.amount
      if (is_true && report.status === 'success') operation.is_success_acknowledged = true
      return
    }
    if (status === 401) onProblem(`a callback of ${idempotency_key} was refused as unsigned`)
    if (tries === TRIES_MAX && status > 0) {
      onProblem(`a callback of ${idempotency_key} was refused to the end, at last with ${status}`)
    }
    await sleep(choices.between(500, 1_000 * tries))
  }
}
