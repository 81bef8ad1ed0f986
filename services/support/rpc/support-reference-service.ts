import { SupportReferenceService } from '#gen/multihub/support/v1/support_reference_service_pb.ts'
import { answerReferences } from '#lib/patterns/references.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import { chargebackReferences, refundReferences, ticketReferences } from '../store/find-references.ts'
import type { SupportStore } from '../store/support-store.ts'

/** Answers what a text names among refunds, chargebacks and tickets. */
export function createSupportReferenceRpc({
  refunds,
  chargebacks,
  tickets,
}: Pick<SupportStore, 'refunds' | 'chargebacks' | 'tickets'>): RpcService {
  const answer = answerReferences([
    refundReferences(refunds),
    chargebackReferences(chargebacks),
    ticketReferences(tickets),
  ])
  return rpcService(SupportReferenceService, {
    findReferences: by(['backoffice'], answer),
  })
}
