import { expect, test } from '@jest/globals'
import { LedgerService } from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import { readConfig } from '#lib/platform/config/config.ts'
import { sha256Hex } from '#lib/platform/crypto/hash.ts'
import { createRpc } from '#lib/platform/rpc/rpc.ts'
import { RPC_SETTINGS } from '#lib/platform/rpc/settings.ts'
import { trustedClock } from '../../../test/support/clock-guard.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { freePort } from '../../../test/support/free-port.ts'
import { NewerBatchFormat } from '../domain/batch-format.ts'
import { adjustmentId, type Command } from '../domain/command.ts'
import { shardOf } from '../domain/shard.ts'
import { credit, hold, openFixture, resolve } from '../ledger.fixture.ts'
import { createLedger, type Ledger } from '../ledger.ts'
import { createBalanceRpc } from '../rpc/balance-service.ts'
import { createLedgerRpc } from '../rpc/ledger-service.ts'
import { type LedgerStore, openLedgerStore } from '../store/ledger-store.ts'
import { verifyLedger } from '../verification/verification.fixture.ts'
import { createForwardClient } from './forward-client.ts'

const TOKEN = 'token-of-balances-0123456789abcdef'

interface BalancesProcess extends AsyncDisposable {
  readonly ledger: Ledger
  stop(): Promise<void>
}

/** Starts a balances process with its own port on a shared store. */
async function startProcess(store: LedgerStore): Promise<BalancesProcess> {
  const port = await freePort()
  const rpc = await createRpc(
    readConfig(RPC_SETTINGS, {
      MULTIHUB_GRPC_PORT: String(port),
      MULTIHUB_CONNECT_PORT: '0',
      MULTIHUB_RPC_TOKEN: TOKEN,
      MULTIHUB_RPC_CALLERS: `balances:${sha256Hex(TOKEN)}`,
    }),
  )
  const forward = createForwardClient((address) => rpc.clientsAt(address)(LedgerService))
  const ledger = createLedger(store, trustedClock, { self_address: `127.0.0.1:${port}`, forward })
  rpc.add([createBalanceRpc(ledger), createLedgerRpc(ledger)])
  const serving = await rpc.serve()
  let stopped = false
  const stop = async (): Promise<void> => {
    if (stopped) return
    stopped = true
    await serving.close(1_000)
    rpc.close()
    await ledger.stop()
  }
  return { ledger, stop, [Symbol.asyncDispose]: stop }
}

const every_kind: readonly Command[] = [
  credit('a', 100n),
  { ...credit('b', 9_007_199_254_740_993n), payment_id: 'p' },
  hold('h', 40n),
  resolve('capture', 'h'),
  hold('i', 2n ** 62n),
  hold('j', 10n),
  resolve('release', 'j'),
  resolve('release', 'none'),
  hold('none', 1n),
  resolve('capture', 'absent'),
  { ...credit('a', 101n) },
  credit('too much', 2n ** 63n - 1n),
  {
    kind: 'adjustment',
    id: adjustmentId('1000', 'op'),
    merchant_id: '1000',
    operation_id: 'op',
    currency: 'INR',
    amount: -3n,
    reason: 'a mistake',
  },
]

test('forwards commands to the holder of the lease and returns every kind of result unchanged', async () => {
  await using fixture = await openFixture()
  const { store } = fixture
  await using holder = await startProcess(store)
  await holder.ledger.submit('test', credit('first', 1n))
  // The second process cannot commit anything itself.
  const append = (): Promise<never> => Promise.reject(new Error('the command was not forwarded'))
  await using other = await startProcess({ ...store, journal: { ...store.journal, append } })
  for (const command of every_kind) {
    const forwarded = await other.ledger.submit('test', command)
    expect(forwarded).toEqual(await holder.ledger.submit('test', command))
  }
  const burst = Array.from({ length: 2_000 }, (_, index) => credit(`burst ${index}`, 1n))
  await Promise.all(burst.map((command) => other.ledger.submit('test', command)))
  expect(await other.ledger.accounts('test', '1000')).toEqual(await holder.ledger.accounts('test', '1000'))
  expect(await verifyLedger(fixture.store)).toMatchObject({ problems: [] })
})

test('decides commands itself when the holder of the lease stops, and none twice', async () => {
  await using fixture = await openFixture()
  const { store } = fixture
  await using holder = await startProcess(store)
  await holder.ledger.submit('test', credit('first', 1n))
  await using other = await startProcess(store)
  const commands = Array.from({ length: 1_000 }, (_, index) => credit(`c${index}`, 1n))
  const burst = Promise.all(commands.map((command) => other.ledger.submit('test', command)))
  await holder.stop()
  await burst
  expect(await other.ledger.accounts('test', '1000')).toMatchObject([{ available: 1_001n }])
  await other.stop()
  expect(await verifyLedger(fixture.store)).toMatchObject({ problems: [], entries: 1_001n })
})

test('gives the lease of a shard with a newer batch back, and forwards its commands to the next holder', async () => {
  await using fixture = await openFixture()
  const newer_store = await openLedgerStore(fixture.opened, { written: 2, read_max: 2 })
  const shard = shardOf('1000', 'test')
  {
    await using first_newer = await startProcess(newer_store)
    await first_newer.ledger.submit('test', credit('first', 1n))
  }
  await using older = await startProcess(fixture.store)
  await expect(older.ledger.submit('test', credit('a', 1n))).rejects.toBeInstanceOf(NewerBatchFormat)
  await eventually(
    async () => (await fixture.store.leases.get(shard)) ?? 'free',
    (lease) => lease === 'free',
  )
  await using newer = await startProcess(newer_store)
  expect(await newer.ledger.submit('test', credit('b', 1n))).toMatchObject({ recorded: { seq: 2n } })
  // The older process looks for a new holder from time to time.
  await eventually(
    () => older.ledger.submit('test', credit('a', 1n)).catch(() => undefined),
    (result) => result !== undefined,
  )
  expect(older.ledger.limitations()).toEqual([`shard ${shard}: newer format`])
  expect(await newer.ledger.accounts('test', '1000')).toMatchObject([{ available: 3n }])
})
