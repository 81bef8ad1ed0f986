import type { EffectRunner } from '#lib/patterns/effects/runner.ts'
import type { Collection, Stored } from '#lib/store/store.ts'
import { type Chargeback, type NewChargebackFields, newChargeback } from '../domain/chargeback.ts'

/** What the use cases of chargebacks read and write. */
export interface ChargebacksDeps {
  readonly chargebacks: Collection<Chargeback>
  readonly runner: EffectRunner<Chargeback>
}

/** Stores a chargeback that was debited, with its event. The second report of it changes nothing. */
export async function recordChargeback(
  { runner }: ChargebacksDeps,
  fields: NewChargebackFields,
): Promise<Stored<Chargeback>> {
  const { stored, is_new } = await runner.insertOrGet(newChargeback(fields))
  if (is_new) runner.runEffectsInBackground(stored)
  return stored
}
