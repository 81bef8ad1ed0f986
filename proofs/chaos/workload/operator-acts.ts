import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { CredentialService } from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import { RouteService } from '#gen/multihub/merchants/v1/route_service_pb.ts'
import { sleep } from '#lib/base/time.ts'
import type { ClientOf } from '#lib/rpc/rpc.ts'
import type { Choices } from '../../simulation/parts/random.ts'
import type { SimulatedMerchant } from '../../simulation/workload/merchants.ts'

/** The acts of the operator that were accepted. Each must be visible in the end. */
export interface AcceptedActs {
  /** The ids of the ledger entries of corrections. */
  readonly entry_ids: Set<string>
  /** The minimum amounts that each route may have: the last one that was accepted, and those of later acts without an answer. */
  readonly minimum_amounts: Map<string, readonly bigint[]>
}

/** What the acts need. */
export interface ActDeps {
  readonly operator: ClientOf
  readonly choices: Choices
  readonly acts: AcceptedActs
  readonly isOpen: () => boolean
}

/** The currency of corrections: that of the ledger commands, in which there are no deposits. */
const CURRENCY = 'AUD'
const PAUSE_MAX_MS = 2_000
const OVERLAP_SECONDS = 86_400

/** No acts. */
export function noActs(): AcceptedActs {
  return { entry_ids: new Set(), minimum_amounts: new Map() }
}

/** Corrects balances, changes routes and rotates secrets while a merchant makes requests. A failed act may have happened. */
export async function runOperatorActs(deps: ActDeps, merchant: SimulatedMerchant): Promise<void> {
  const { choices, isOpen } = deps
  for (let number = 0; isOpen(); number += 1) {
    await choices
      .pick([correct, changeRoute, rotateSecret])(deps, merchant, number)
      .catch(() => {})
    await sleep(choices.between(0, PAUSE_MAX_MS))
  }
}

async function correct(
  { operator, acts }: ActDeps,
  { merchant_id: merchantId, environment }: SimulatedMerchant,
  number: number,
): Promise<void> {
  const { entry } = await operator(BalanceService).adjust({
    merchantId,
    environment,
    currency: CURRENCY,
    amount: { minor: 1n, currency: CURRENCY },
    reason: 'chaos',
    operationId: `correction-${number}`,
  })
  acts.entry_ids.add(entry?.entryId ?? '')
}

async function changeRoute(
  { operator, choices, acts }: ActDeps,
  { routes }: SimulatedMerchant,
): Promise<void> {
  const route = choices.pick(routes)
  const minimum_amount = choices.pick([0, 100, 1_000])
  route.minimum_amounts.push(minimum_amount)
  const serviceId = String(route.service_id)
  const minimumAmount = BigInt(minimum_amount)
  const possible = acts.minimum_amounts.get(serviceId) ?? [BigInt(route.minimum_amounts[0] ?? 0)]
  acts.minimum_amounts.set(serviceId, [...possible, minimumAmount])
  await operator(RouteService).updateRoute({ serviceId, minimumAmount })
  acts.minimum_amounts.set(serviceId, [minimumAmount])
}

/** The old secret stays valid, and the merchant goes on using it. */
async function rotateSecret(
  { operator, choices }: ActDeps,
  { credentials }: SimulatedMerchant,
): Promise<void> {
  const credential = choices.pick(credentials)
  const { secret } = await operator(CredentialService).rotateSecret({
    applicationId: String(credential.application_id),
    overlapSeconds: OVERLAP_SECONDS,
  })
  credential.secrets.push(secret)
}
