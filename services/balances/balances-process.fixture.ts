import { LedgerService } from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import { readConfig } from '#lib/base/config/config.ts'
import { sha256Hex } from '#lib/base/crypto/hash.ts'
import type { ClockGuard } from '#lib/patterns/clock-guard.ts'
import { createRpc } from '#lib/rpc/rpc.ts'
import { RPC_SETTINGS } from '#lib/rpc/settings.ts'
import { trustedClock } from '../../test/support/clock-guard.ts'
import { freePort } from '../../test/support/free-port.ts'
import { createLedger, type Ledger } from './ledger.ts'
import { createBalanceRpc } from './rpc/balance-service.ts'
import { createForwardClient } from './rpc/forward-proto.ts'
import { createLedgerRpc } from './rpc/ledger-service.ts'
import type { LedgerStore } from './store/ledger-store.ts'

const TOKEN = 'token-of-balances-0123456789abcdef'

/** A ledger with a gRPC port of its own, as a balances process has it. */
export interface BalancesProcess extends AsyncDisposable {
  readonly ledger: Ledger
  readonly address: string
  /** The shards of the batches that it committed since the last call. */
  takeDecided(): ReadonlySet<number>
  stop(): Promise<void>
}

/** Starts a ledger with its own port on a shared store, and joins the others. */
export async function startProcess(
  store: LedgerStore,
  clock_guard: ClockGuard = trustedClock,
): Promise<BalancesProcess> {
  const address = `127.0.0.1:${await freePort()}`
  const rpc = await createRpc(
    readConfig(RPC_SETTINGS, {
      MULTIHUB_GRPC_PORT: address.split(':')[1],
      MULTIHUB_CONNECT_PORT: '0',
      MULTIHUB_RPC_TOKEN: TOKEN,
      MULTIHUB_RPC_CALLERS: `balances:${sha256Hex(TOKEN)}`,
    }),
  )
  let decided = new Set<number>()
  const append: LedgerStore['journal']['append'] = async (batch) => {
    const result = await store.journal.append(batch)
    if (result === 'appended') decided.add(batch.shard)
    return result
  }
  const forward = createForwardClient((other) => rpc.clientsAt(other)(LedgerService))
  const counted = { ...store, journal: { ...store.journal, append } }
  const ledger = createLedger(counted, clock_guard, { self_address: address, forward })
  rpc.add([createBalanceRpc(ledger, store.verifications), createLedgerRpc(ledger)])
  const serving = await rpc.serve()
  await ledger.join()
  let is_stopped = false
  const stop = async (): Promise<void> => {
    if (is_stopped) return
    is_stopped = true
    await serving.close(1_000)
    rpc.close()
    await ledger.stop()
  }
  const takeDecided = (): ReadonlySet<number> => {
    const taken = decided
    decided = new Set()
    return taken
  }
  return { ledger, address, takeDecided, stop, [Symbol.asyncDispose]: stop }
}
