import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { VerificationService } from '#gen/multihub/balances/v1/verification_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { clock, sleep } from '#lib/base/time.ts'
import type { ClientOf } from '#lib/rpc/rpc.ts'
import { type Evidence, paymentsOf } from '../../simulation/invariants/judge.ts'
import { balancesOf, entriesOf } from '../../simulation/invariants/ledger.ts'
import { recordKey } from '../../simulation/workload/history.ts'
import type { SimulatedCredential } from '../../simulation/workload/merchants.ts'
import type { PublicApi, PublicOutcome } from '../../simulation/workload/public-api.ts'
import { mapConcurrently, retry } from './calls.ts'

const READS = 16
const NOT_FOUND = 6010
const UNAVAILABLE = 2002
const READ_TRIES_MAX = 30
const READ_PAUSE_MS = 1_000

/** The time within which the verification of the ledger ends. */
const VERIFICATION_LIMIT_MS = 120_000

/** Compares what the public door shows in the end with what the operator sees: each payment and each balance. */
export async function compareFinalReads(
  evidence: Evidence,
  api: PublicApi,
  operator: ClientOf,
): Promise<readonly string[]> {
  const stored = new Map(
    paymentsOf(evidence).map((payment) => [recordKey(payment.merchant_id, payment.c_id), payment]),
  )
  const credentials = new Map(
    evidence.merchants.map(({ merchant_id, credentials }) => [merchant_id, credentials[0]]),
  )
  const payments = await mapConcurrently(
    [...evidence.history.payments],
    READS,
    async ([key, { merchant_id, c_id }]) => {
      const expected = stored.get(key)?.status ?? `error ${NOT_FOUND}`
      const shown = await shownStatus(api, credentials.get(merchant_id), c_id)
      return shown === expected ? [] : [`${key} is ${expected}, and is shown as ${shown}`]
    },
  )
  const balances = evidence.merchants.map(({ merchant_id }) =>
    compareBalances(evidence, api, operator, merchant_id, credentials.get(merchant_id)),
  )
  return [...payments.flat(), ...(await Promise.all(balances)).flat()]
}

async function shownStatus(
  api: PublicApi,
  credential: SimulatedCredential | undefined,
  c_id: string,
): Promise<string> {
  const params = { payment: { identifiers: { c_id } } }
  const outcome = await readUntilAnswered(api, credential, { method: 'payment.status', params })
  if (outcome.kind === 'error') return `error ${outcome.code}`
  if (outcome.kind === 'none') return 'no response'
  return (outcome.result['payment'] as { status: { status: string } }).status.status
}

/** Repeats a read that gets no response or 2002, which a slow machine can cause. */
async function readUntilAnswered(
  api: PublicApi,
  credential: SimulatedCredential | undefined,
  body: object,
): Promise<PublicOutcome> {
  if (credential === undefined) return { kind: 'none', was_sent: false }
  for (let tries = 1; ; tries += 1) {
    const outcome = await api.call(credential, body)
    const is_conclusive =
      outcome.kind === 'success' || (outcome.kind === 'error' && outcome.code !== UNAVAILABLE)
    if (is_conclusive || tries === READ_TRIES_MAX) return outcome
    await sleep(READ_PAUSE_MS)
  }
}

async function compareBalances(
  evidence: Evidence,
  api: PublicApi,
  operator: ClientOf,
  merchantId: string,
  credential: SimulatedCredential | undefined,
): Promise<readonly string[]> {
  const problems: string[] = []
  const { balances } = await retry(() =>
    operator(BalanceService).getBalances({ merchantId, environment: Environment.TEST }),
  )
  const outcome = await readUntilAnswered(api, credential, { method: 'balance.get', params: {} })
  const result = outcome.kind === 'success' ? outcome.result : {}
  const amounts = (result['balance'] as PublicBalance | undefined)?.amounts ?? []
  for (const [currency, { available, held }] of balancesOf(entriesOf(evidence), merchantId)) {
    const balance = balances.find((one) => one.currency === currency)
    if (balance?.available !== available || balance.held !== held)
      problems.push(
        `${merchantId} has ${available} and ${held} ${currency}, GetBalances says ${balance?.available} and ${balance?.held}`,
      )
    const shown = amounts.find((one) => one.currency === currency)
    if (BigInt(shown?.value ?? -1) !== available || BigInt(shown?.value_freezing ?? -1) !== held)
      problems.push(
        `${merchantId} has ${available} and ${held} ${currency}, it is shown ${shown?.value} and ${shown?.value_freezing}`,
      )
  }
  return problems
}

interface PublicBalance {
  readonly amounts: readonly { currency: string; value: number; value_freezing: number }[]
}

/** Verifies the whole ledger as the operator does, and returns its problems. */
export async function verifyLedger(operator: ClientOf): Promise<readonly string[]> {
  const client = operator(VerificationService)
  const end_ms = clock.monotonic_ms() + VERIFICATION_LIMIT_MS
  let { verification } = await retry(() => client.startVerification({ fromFirstBatch: true }))
  while (verification?.endTime === undefined) {
    if (clock.monotonic_ms() > end_ms) return ['the verification of the ledger did not end']
    await sleep(500)
    verification = (await retry(() => client.getVerification({}))).verification
  }
  if (verification.consistent) return []
  const found = verification.problems.map(
    ({ shard, sequence, description }) => `${shard} ${sequence} ${description}`,
  )
  return [`the ledger is not consistent: ${found.join('; ')}`]
}
