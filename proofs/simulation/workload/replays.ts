import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import type { ClientOf } from '#lib/rpc/rpc.ts'
import type { Choices } from '../parts/random.ts'
import type { History } from './history.ts'
import type { SimulatedMerchant } from './merchants.ts'

/** A delivery that failed all its attempts. */
export interface DeadDelivery {
  readonly delivery_id: string
  readonly merchant_id: string
}

/** The most deliveries of a merchant that are replayed one by one. */
const SINGLE_MAX = 10

/**
 * Queues the dead deliveries of all merchants again, when all receivers work: of one merchant one by one, or all at once
 * (N6). Nothing fails any more, so each must be delivered.
 */
export async function replayDead(
  { history, choices, operator }: { history: History; choices: Choices; operator: ClientOf },
  merchants: readonly SimulatedMerchant[],
  dead: readonly DeadDelivery[],
): Promise<void> {
  const client = operator(DeliveryService)
  for (const { merchant_id: merchantId } of merchants) {
    const ids = dead.filter(({ merchant_id }) => merchant_id === merchantId).map((one) => one.delivery_id)
    if (ids.length > SINGLE_MAX || choices.chance(0.5)) {
      for (const id of ids) history.replayed.add(id)
      await client.replayDeliveries({ filter: { merchantId }, queueAnyway: true })
    } else {
      for (const deliveryId of ids) {
        history.replayed.add(deliveryId)
        await client.replayDelivery({ deliveryId, queueAnyway: true })
      }
    }
  }
}
