import { ActService } from '#gen/multihub/merchants/v1/act_service_pb.ts'
import { answerFindAct, type FindAct } from '#lib/patterns/find-act.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'

/** Implements `ActService`: what an act of the operator has changed here (O4). */
export function createActRpc(findAct: FindAct): RpcService {
  return rpcService(ActService, {
    findAct: by(['backoffice'], answerFindAct(findAct)),
  })
}
