import { AnomalyResolutionKind } from '#gen/multihub/payments/v1/payment_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { ProviderAccountService } from '#gen/multihub/payments/v1/provider_account_service_pb.ts'
import { sleep } from '#lib/base/time.ts'
import { documentsOf } from '../invariants/judge.ts'
import type { Choices } from '../parts/random.ts'
import type { World } from '../world/world.ts'
import { rollOut } from './operator-work.ts'

/** The account that moves. */
const ACCOUNT = 'acme'
/** Longer than a request can be on its way to the books that processes had before. */
const IN_FLIGHT_MS = 60_000

/**
 * Gives the payments processes an accounts file that points to other books, by restarting them one after the other, and in half of the
 * cases corrects it later. In the end the operator brings both books together. Only then may an account be confirmed (P4).
 */
export async function moveAccount(world: World, choices: Choices): Promise<void> {
  const { account_place, cluster, trace } = world
  const places = cluster.places.filter(({ roles }) => roles.includes('payments'))
  const ways = choices.chance(0.5) ? [true, false] : [true]
  for (const is_moved of ways) {
    trace.add(`the account ${ACCOUNT} is ${is_moved ? 'moved' : 'moved back'}`)
    account_place.is_moved = is_moved
    await rollOut(world, () => {}, places)
    await sleep(choices.between(500, 4_000))
  }
  await sleep(IN_FLIGHT_MS)
  account_place.joinBooks()
}

/** The fields of an anomaly that tell whether the account waits for the operator. */
interface StoredAnomaly {
  readonly anomaly_id: string
  readonly kind: string
  readonly created_at: Date
  readonly open_since?: Date
}

/**
 * Confirms the account when it waits for that. Another operation may have been sent to what it was before, by another clock. In half
 * of the seeds the operator first dismisses the anomaly by mistake: it must be open again a minute later.
 */
export async function confirmMovedAccount(world: World): Promise<void> {
  const { account_place, databases, operator, scheduler } = world
  const anomalies = documentsOf<StoredAnomaly>(databases, 'payments', 'anomalies')
  const open = anomalies.find(({ kind, open_since }) => kind === 'account_moved' && open_since !== undefined)
  if (open === undefined || !account_place.is_joined) return
  const was_dismissed = open.open_since?.getTime() !== open.created_at.getTime()
  if (!was_dismissed && world.choicesOf('careless dismissal').chance(0.5)) {
    const { anomaly_id: anomalyId } = open
    const resolution = AnomalyResolutionKind.DISMISSED
    const act = { anomalyId, resolution, operationId: `dismiss-${anomalyId}`, note: 'simulated' }
    await operator(PaymentService).resolveAnomaly(act)
    return
  }
  const operationId = `confirm-${scheduler.now_ms()}`
  await operator(ProviderAccountService).confirmAccountMoved({ accountId: ACCOUNT, operationId })
}
