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

/** Confirms the account when it waits for that. Another operation may have been sent to what it was before, by another clock. */
export async function confirmMovedAccount(world: World): Promise<void> {
  const { account_place, databases, operator, scheduler } = world
  const anomalies = documentsOf<{ kind: string; resolution?: object }>(databases, 'payments', 'anomalies')
  const is_open = anomalies.some(
    ({ kind, resolution }) => kind === 'account_moved' && resolution === undefined,
  )
  if (!is_open || !account_place.is_joined) return
  const operationId = `confirm-${scheduler.now_ms()}`
  await operator(ProviderAccountService).confirmAccountMoved({ accountId: ACCOUNT, operationId })
}
