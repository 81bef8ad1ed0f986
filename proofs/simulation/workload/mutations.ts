import type { ClientOf } from '#lib/rpc/rpc.ts'
import type { Choices } from '../parts/random.ts'
import { type History, recordKey } from './history.ts'
import type { SimulatedMerchant } from './merchants.ts'
import type { PublicApi, PublicOutcome } from './public-api.ts'

/** What a merchant and the operator need in order to work with tickets, refunds and chargebacks. */
export interface SupportDeps {
  readonly api: PublicApi
  readonly history: History
  readonly choices: Choices
  readonly operator: ClientOf
  /** Whether requests may still be sent. */
  readonly isOpen: () => boolean
}

/** A mutation of support. */
export interface SupportMutation {
  readonly method: string
  readonly params: object
  /** A number becomes the `operation_id`; a text is a `c_id`, which is part of the params already. */
  readonly key: string | number
}

/** Sends a mutation of support. Each success under one key must name the same resource. */
export async function sendMutation(
  { api, history, choices }: Pick<SupportDeps, 'api' | 'history' | 'choices'>,
  { merchant_id, credentials }: SimulatedMerchant,
  { method, params, key }: SupportMutation,
): Promise<PublicOutcome> {
  const body = { method, ...(typeof key === 'number' ? { operation_id: `${key}` } : {}), params }
  const outcome = await api.call(choices.pick(credentials), body)
  const h_id = resourceOf(outcome)
  if (h_id !== undefined) recordResource(history, recordKey(merchant_id, `${method} ${key}`), h_id)
  return outcome
}

/** Records the resource that an answer named under a key. A repetition must name the same one. */
export function recordResource({ support, problems }: History, name: string, h_id: string): void {
  const earlier = support.get(name)
  if (earlier !== undefined && earlier !== h_id)
    problems.push(`${name}: it was ${earlier}, and is ${h_id} after a repetition`)
  support.set(name, h_id)
}

/** The public id of the resource that a success shows. */
function resourceOf(outcome: PublicOutcome): string | undefined {
  if (outcome.kind !== 'success') return undefined
  return (outcome.result['identifiers'] as { h_id?: string } | undefined)?.h_id
}
