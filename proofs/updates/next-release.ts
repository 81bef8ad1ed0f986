import { join } from 'node:path'
import { createKeys, parseMasterKeys } from '#lib/base/crypto/keys.ts'
import type { Signer } from '#lib/base/crypto/signer.ts'
import { LANES } from '#lib/patterns/effects/effect.ts'
import { createEffectRunner } from '#lib/patterns/effects/runner.ts'
import { openStore } from '#lib/store/open.ts'
import type { Store } from '#lib/store/store.ts'
import { databaseOf } from '../../app/roles.ts'
import { BATCH_FORMATS } from '../../services/balances/domain/hash-chain.ts'
import { credit } from '../../services/balances/ledger.fixture.ts'
import { createLedger } from '../../services/balances/ledger.ts'
import { openLedgerStore } from '../../services/balances/store/ledger-store.ts'
import { keyOfPayment } from '../../services/payments/store/payments.ts'
import { openSealedStore } from '../../services/payments/store/payments-store.ts'
import type { SealedPayment } from '../../services/payments/store/sealed-payments.ts'
import { trustedClock } from '../../test/support/clock-guard.ts'
import { HANG_LIMIT_MS } from '../../test/support/hang-limit.ts'
import { lastingRun } from '../../test/support/runs.ts'
import type { FleetSystem } from './fleet-system.ts'

/** The code of a later release: of this one, with the next format of the journal. */
export const NEXT_RELEASE = { preload: new URL('./next-formats.ts', import.meta.url).href } as const

/** An effect that only a later release knows. */
const UNKNOWN_KIND = 'effect_of_the_next_release'

/** Writes a batch of the next format into the shard of a merchant, as a process of a later release does. */
export async function commitInNextFormat(system: FleetSystem, merchant_id: string): Promise<void> {
  const store = await openStoreOf(system, 'balances')
  const format = BATCH_FORMATS.read_max + 1
  const ledger = createLedger(
    await openLedgerStore(store, signerOf(system), { written: format, read_max: format }),
    trustedClock,
  )
  // Not in the currency of the payments, so that their balance remains what they add up to.
  await ledger.submit('test', credit('next-release', 1n, merchant_id, 'MXN'))
  await ledger.stop()
  await store.close()
}

/** Adds one effect of an unknown kind per lane to each of these payments; they are due at once. */
export function addUnknownEffects(
  system: FleetSystem,
  merchant_id: string,
  c_ids: readonly string[],
): Promise<void> {
  return withPayments(system, async ({ payments }) => {
    const runner = createEffectRunner<SealedPayment>({
      name: 'payments',
      collection: payments,
      keyOf: keyOfPayment,
      clock_guard: trustedClock,
      runs: lastingRun,
      effects: [],
    })
    for (const c_id of c_ids) {
      const unknown = LANES.map((lane) => ({
        id: `${c_id}:${UNKNOWN_KIND}:${lane}`,
        kind: UNKNOWN_KIND,
        lane,
        data: {},
        tries: 0,
        due_at: new Date(),
      }))
      await runner.update(keyOf(merchant_id, c_id), (payment) => ({
        ...payment,
        effects: [...payment.effects, ...unknown],
      }))
    }
    await runner.stop()
  })
}

/** How often each of these effects was tried, which shows that it is still there. */
export async function triesOfUnknownEffects(
  system: FleetSystem,
  merchant_id: string,
  c_ids: readonly string[],
): Promise<readonly number[]> {
  const tries: number[] = []
  await withPayments(system, async ({ payments }) => {
    for (const c_id of c_ids) {
      const { effects = [] } = (await payments.get(keyOf(merchant_id, c_id))) ?? {}
      tries.push(...effects.filter(({ kind }) => kind === UNKNOWN_KIND).map((effect) => effect.tries))
    }
  })
  return tries
}

function keyOf(merchant_id: string, c_id: string) {
  return { merchant_id, environment: 'test', c_id } as const
}

async function withPayments(
  system: FleetSystem,
  work: (store: Awaited<ReturnType<typeof openSealedStore>>) => Promise<void>,
): Promise<void> {
  const store = await openStoreOf(system, 'payments')
  try {
    await work(await openSealedStore(store))
  } finally {
    await store.close()
  }
}

/** The key with which the processes sign the ledger. */
function signerOf({ fleet }: FleetSystem): Signer {
  const { MULTIHUB_MASTER_KEYS = '' } = fleet.settings.shared
  const master_keys = parseMasterKeys(MULTIHUB_MASTER_KEYS)
  const [active_id = ''] = master_keys.keys()
  return createKeys({ master_keys, derived_keys: new Map(), active_id }, ['journal']).journal
}

/** Opens the embedded store of a role, which its processes use at the same time. */
function openStoreOf({ directory, fleet }: FleetSystem, role: 'balances' | 'payments'): Promise<Store> {
  const { MULTIHUB_SYSTEM_NAME = '' } = fleet.settings.shared
  return openStore({
    database: databaseOf(MULTIHUB_SYSTEM_NAME, role),
    directory: join(directory, 'data'),
    timeout_ms: HANG_LIMIT_MS,
  })
}
