import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { EffectRunner } from '#lib/patterns/effects/runner.ts'
import type { Collection, Stored } from '#lib/platform/store/store.ts'
import type { Owner } from '../../domain/support-resource.ts'
import { type Chargeback, type NewChargebackFields, newChargeback } from '../domain/chargeback.ts'
import { keyOfChargeback } from '../store/chargebacks.ts'

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

/** Finds a merchant's chargeback. Throws 12001, also for a chargeback of another merchant or environment. */
export async function findChargeback(
  chargebacks: Collection<Chargeback>,
  query: Owner & Pick<Chargeback, 'chargeback_id'>,
): Promise<Stored<Chargeback>> {
  const chargeback = await chargebacks.get(keyOfChargeback(query))
  if (!chargeback) throw new PublicError(12001)
  return chargeback
}
