import { toJsonString } from '@bufbuild/protobuf'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { type Verification, VerificationSchema } from '#gen/multihub/balances/v1/verification_pb.ts'
import { VerificationService } from '#gen/multihub/balances/v1/verification_service_pb.ts'
import { sleep } from '#lib/base/time.ts'
import { confirmMovedAccount } from './faults/move-account.ts'
import { hasOpenActs } from './invariants/acts.ts'
import { documentsOf, type Evidence, paymentsOf, unfinishedEffects } from './invariants/judge.ts'
import { balancesOf, entriesOf } from './invariants/ledger.ts'
import { revocationsHold } from './invariants/revocation.ts'
import { SUMMARIZED, summarizedDocuments } from './invariants/summaries.ts'
import { supportReadsAgree } from './invariants/support-reads.ts'
import { makeRoom } from './make-room.ts'
import type { History } from './workload/history.ts'
import type { SimulatedMerchant } from './workload/merchants.ts'
import { isFinalStatus } from './workload/observe.ts'
import { endMissing } from './workload/operator.ts'
import type { PublicApi } from './workload/public-api.ts'
import type { World } from './world/world.ts'

/** Within this time after the last fault everything is final: an expiry, and the longest back-off that faults cause. */
const SETTLE_MAX_MS = 400_000

/** Five minutes pass until the operator learns that a provider does not know an operation (P4), and polls are as far apart. */
const MISSING_MAX_MS = 700_000

/** What was sent before faults stopped may still arrive late, and be slow at the store several times. */
export const LAST_COMMAND_MS = 15_000

/** The time within which the verification of the ledger ends: the most batches that a seed has, some 1,800, take 125 s. */
const VERIFICATION_MAX_MS = 300_000

/** The share of seeds in which the operator verifies the ledger. */
const VERIFIED = 0.1

/** Waits until nothing is left to do, but not longer than the limit. */
export async function settle(world: World, history?: History): Promise<void> {
  const has_dropped = [...world.provider.operations()].some(({ dropped_ms }) => dropped_ms !== undefined)
  const begin_ms = world.scheduler.now_ms()
  while (true) {
    const max_ms = SETTLE_MAX_MS + (has_dropped || hasUnsent(world) ? MISSING_MAX_MS : 0)
    if (world.scheduler.now_ms() >= begin_ms + max_ms) return
    await sleep(1_000)
    if (hasMissing(world)) await endMissing(world.operator, [...world.provider.operations()])
    await confirmMovedAccount(world)
    await makeRoom(world)
    const deliveries = documentsOf<{ status: string; waits_since?: Date }>(
      world.databases,
      'notifier',
      'deliveries',
    )
    const is_settled =
      world.provider.isIdle() &&
      paymentsOf(world).every(
        (payment) => isFinalStatus(payment.status) && unfinishedEffects(payment).length === 0,
      ) &&
      SUMMARIZED.every((kind) =>
        summarizedDocuments(world, kind).every(({ effects }) => effects.length === 0),
      ) &&
      deliveries.every(({ status, waits_since }) => status !== 'pending' && waits_since === undefined)
    if (is_settled && hasOpenActs(world.databases, history)) continue
    // A callback of the provider may still come after a payment is final.
    if (is_settled) return sleep(1_000)
  }
}

/** Whether a backup had a withdrawal before the ledger's decision: it is never sent after the restore (P19). */
function hasUnsent(world: World): boolean {
  return paymentsOf(world).some(({ attempts = [] }) =>
    attempts.some(({ is_hold_unknown }) => is_hold_unknown),
  )
}

/** Whether a payment or a refund waits for the operator because its provider does not have it. */
function hasMissing({ databases }: World): boolean {
  return documentsOf<StoredAnomaly>(databases, 'payments', 'anomalies').some(
    ({ kind, resolution }) => kind === 'not_found_at_provider' && resolution === undefined,
  )
}

/** The fields of a stored anomaly that tell whether the operator must act. */
interface StoredAnomaly {
  readonly kind: string
  readonly resolution?: object
}

/** Compares what the public door and the operator's RPCs show in the end with what is stored. */
export async function* finalReads(
  world: World,
  api: PublicApi,
  history: History,
  merchants: readonly SimulatedMerchant[],
  databases: Evidence['databases'] = world.databases,
): AsyncIterable<string> {
  const balances = world.operator(BalanceService)
  // Verifying reads all shards, which costs as much as everything else, so only some seeds do it.
  if (world.choicesOf('verification').chance(VERIFIED)) yield* verificationProblems(world)
  for (const merchant of merchants) {
    const { merchant_id, credentials } = merchant
    const [credential] = credentials
    if (credential === undefined) continue
    for (const payment of paymentsOf(world)) {
      if (payment.merchant_id !== merchant_id) continue
      const shown = await api.call(credential, {
        method: 'payment.status',
        params: { payment: { identifiers: { c_id: payment.c_id } } },
      })
      const status =
        shown.kind === 'success'
          ? (shown.result['payment'] as { status: { status: string } }).status.status
          : shown
      if (status !== payment.status)
        yield `${payment.c_id} is ${payment.status}, and is shown as ${JSON.stringify(status)}`
    }
    const { balances: shown } = await balances.getBalances({
      merchantId: merchant_id,
      environment: merchant.environment,
    })
    const expected = balancesOf(entriesOf({ databases }), merchant_id)
    for (const [currency, { available, held }] of expected) {
      const balance = shown.find((one) => one.currency === currency)
      if (balance?.available !== available || balance.held !== held) {
        yield `${merchant_id} is shown ${balance?.available} and ${balance?.held} ${currency}, not ${available} and ${held}`
      }
    }
    yield* supportReadsAgree(world, api, history, merchant)
    yield* revocationsHold(world.operator, api, merchant)
  }
}

/** What a verification of the whole ledger finds. */
export async function* verificationProblems(world: World): AsyncIterable<string> {
  const verification = await verify(world)
  if (verification?.consistent === false)
    yield `the verification of the ledger found ${describe(verification)}`
}

/** The result of a verification of the whole ledger. */
async function verify({ operator, scheduler }: World): Promise<Verification | undefined> {
  const client = operator(VerificationService)
  const end_ms = scheduler.now_ms() + VERIFICATION_MAX_MS
  let { verification } = await client.startVerification({ fromFirstBatch: true })
  while (verification?.endTime === undefined && scheduler.now_ms() < end_ms) {
    await sleep(1_000)
    verification = (await client.getVerification({})).verification
  }
  return verification
}

function describe(verification: Verification): string {
  return toJsonString(VerificationSchema, verification).slice(0, 1_000)
}
