import { ActService } from '#gen/multihub/balances/v1/act_service_pb.ts'
import { answerFindAct, type FindAct } from '#lib/patterns/find-act.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'

/** Implements `ActService`: an act of the operator is kept with the entry that it made, or with a document. */
export function createActRpc(findEntryOfAct: FindAct, findAct: FindAct): RpcService {
  const answer = answerFindAct(
    async (audit_id, call) => (await findEntryOfAct(audit_id, call)) ?? (await findAct(audit_id, call)),
  )
  return rpcService(ActService, {
    findAct: by(['backoffice'], answer),
  })
}
