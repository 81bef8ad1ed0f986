import type { Client } from '@connectrpc/connect'
import type { LedgerService } from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import { commandToProto, resultFromProto } from '../rpc/forward-proto.ts'
import type { ForwardCommands } from './command-forwarder.ts'

/** Time limit of a Forward call. After it the commands are decided in this process. */
const FORWARD_TIMEOUT_MS = 5_000

/** Forwards commands over the Forward RPC. `clientAt` creates a client of the process at an address. */
export function createForwardClient(
  clientAt: (address: string) => Client<typeof LedgerService>,
): ForwardCommands {
  return async (address, shard, commands) => {
    const request = { shard, commands: commands.map((command) => commandToProto(shard, command)) }
    // No client is kept: processes come and go, and each new one has another address.
    const { results } = await clientAt(address).forward(request, { timeoutMs: FORWARD_TIMEOUT_MS })
    return results.map(resultFromProto)
  }
}
