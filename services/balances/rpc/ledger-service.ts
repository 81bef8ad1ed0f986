import { LedgerService } from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import { type RpcService, rpcService } from '#lib/rpc/service.ts'
import type { Ledger } from '../ledger.ts'
import {
  holdCheckFromProto,
  holdCheckToProto,
  holdFromProto,
  recordCommand,
  resolutionFromProto,
  transferFromProto,
} from './command-proto.ts'
import { entryToProto } from './entries-proto.ts'
import { forwardFromProto, resultToProto } from './forward-proto.ts'

/** The callers that each RPC permits. */
const PERMISSIONS = {
  postTransfer: ['payments', 'balances'],
  placeHold: ['payments', 'balances'],
  checkHold: ['payments'],
  resolveHold: ['payments', 'balances'],
  forward: ['balances'],
} as const

/** Implements `LedgerService`: the money movements that other services ask for, and forwarding between processes. */
export function createLedgerRpc(ledger: Ledger): RpcService {
  return rpcService(LedgerService, PERMISSIONS, {
    async postTransfer(request) {
      return { entry: entryToProto(await recordCommand(ledger, transferFromProto(request))) }
    },
    async placeHold(request) {
      return { entry: entryToProto(await recordCommand(ledger, holdFromProto(request))) }
    },
    async checkHold(request) {
      const { environment, command } = holdCheckFromProto(request)
      return holdCheckToProto(await ledger.checkHold(environment, command))
    },
    async resolveHold(request) {
      return { entry: entryToProto(await recordCommand(ledger, resolutionFromProto(request))) }
    },
    async forward(request) {
      const { shard, commands } = forwardFromProto(request)
      return { results: (await ledger.decideForwarded(shard, commands)).map(resultToProto) }
    },
  })
}
