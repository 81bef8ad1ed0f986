import { LedgerService } from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
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

/** Implements `LedgerService`: the money movements that other services ask for, and forwarding between processes. */
export function createLedgerRpc(ledger: Ledger): RpcService {
  return rpcService(LedgerService, {
    postTransfer: by(['payments', 'balances'], async (request) => ({
      entry: entryToProto(await recordCommand(ledger, transferFromProto(request))),
    })),
    placeHold: by(['payments', 'balances'], async (request) => ({
      entry: entryToProto(await recordCommand(ledger, holdFromProto(request))),
    })),
    checkHold: by(['payments'], async (request) => {
      const { environment, command } = holdCheckFromProto(request)
      return holdCheckToProto(await ledger.checkHold(environment, command))
    }),
    resolveHold: by(['payments', 'balances'], async (request) => ({
      entry: entryToProto(await recordCommand(ledger, resolutionFromProto(request))),
    })),
    forward: by(['balances'], async (request) => {
      const { shard, commands } = forwardFromProto(request)
      return { results: (await ledger.decideForwarded(shard, commands)).map(resultToProto) }
    }),
  })
}
