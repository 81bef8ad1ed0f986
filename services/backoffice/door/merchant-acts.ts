import { Code } from '@connectrpc/connect'
import { RpcStatusError } from '#lib/rpc/errors.ts'
import type { Principal } from '../domain/principal.ts'
import { createRates } from './rates.ts'

/** Acts of the principals of one merchant, sign-ins included, each of which leaves an entry permanently (O22). */
const PER_MINUTE = 120

/** Counts an act of a merchant's principal before it begins. Throws RESOURCE_EXHAUSTED for one too many. */
export type CountMerchantAct = (principal: Pick<Principal, 'merchant_id'>) => void

/** Creates the limit of the acts of each merchant, which RPCs and sign-ins of a process share. */
export function createMerchantActs(): CountMerchantAct {
  const rates = createRates(PER_MINUTE)
  return ({ merchant_id }) => {
    if (merchant_id === undefined || rates.of(merchant_id).use()) return
    throw new RpcStatusError(
      Code.ResourceExhausted,
      `a merchant has ${PER_MINUTE} calls per minute that are audited; try again in a minute`,
    )
  }
}
