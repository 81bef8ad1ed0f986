import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import { createEffectRunner, type EffectRunner } from '#lib/patterns/effects/runner.ts'
import type { Runs } from '#lib/patterns/effects/runs.ts'
import { openStore } from '#lib/store/open.ts'
import type { Collection, Stored } from '#lib/store/store.ts'
import { trustedClock } from '../../test/support/clock-guard.ts'
import { HANG_LIMIT_MS } from '../../test/support/hang-limit.ts'
import { lastingRun } from '../../test/support/runs.ts'
import type { StoredPayment } from './domain/payment.ts'
import { keyOfPayment } from './store/payments.ts'
import { openPaymentsStore, type PaymentsStore } from './store/payments-store.ts'
import type { AdmissionDeps } from './use-cases/await-change.ts'

/** What a test can choose of a runner: its pause between sweeps, whether it trusts its clock, and how writes fail. */
interface RunnerOptions {
  readonly sweep_ms?: number
  readonly runs?: Runs
  readonly collection?: Collection<StoredPayment>
}

/** The collections of payments in an embedded store of their own. */
export interface PaymentsFixture extends AsyncDisposable {
  readonly store: PaymentsStore
  /** Makes a runner of these effects. It leaves effects of all other kinds as they are. */
  runner(
    effects?: readonly BoundEffect<StoredPayment>[],
    options?: RunnerOptions,
  ): EffectRunner<StoredPayment>
  /** What use cases need that meet payments. Their runner runs these effects. */
  deps(effects?: readonly BoundEffect<StoredPayment>[]): AdmissionDeps
}

/**
 * The payments as a process sees them that still reads from a former primary during a fail-over: all its reads return the
 * outdated payment, or none, except linearizable ones.
 */
export function behindFormerPrimary(
  payments: Collection<StoredPayment>,
  outdated?: Stored<StoredPayment>,
): Collection<StoredPayment> {
  return {
    ...payments,
    get: async (key, options) => (options?.linearizable ? payments.get(key, options) : outdated),
    find: async (index, range, options) =>
      options.linearizable ? payments.find(index, range, options) : outdated ? [outdated] : [],
  }
}

/** Opens the collections in a new directory, which is deleted on disposal. */
export async function openPayments(): Promise<PaymentsFixture> {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-payments-'))
  const opened = await openStore({ database: 'payments', directory, timeout_ms: HANG_LIMIT_MS })
  const store = await openPaymentsStore(opened, testKeys())
  const runners: EffectRunner<StoredPayment>[] = []
  const newRunner: PaymentsFixture['runner'] = (effects = [], options = {}) => {
    const runner = createEffectRunner<StoredPayment>({
      name: 'payments',
      collection: store.payments,
      clock_guard: trustedClock,
      runs: lastingRun,
      ...options,
      keyOf: keyOfPayment,
      effects,
    })
    runners.push(runner)
    return runner
  }
  return {
    store,
    runner: newRunner,
    deps: (effects = []) => ({ payments: store.payments, runner: newRunner(effects) }),
    async [Symbol.asyncDispose]() {
      for (const runner of runners) await runner.stop()
      await opened.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
