import { LOW_QUOTA, type SimulatedCredential } from '../workload/merchants.ts'
import type { PublicApi, PublicOutcome } from '../workload/public-api.ts'

/**
 * A quota's window is a minute from its first call by the clock of a gateway, which can differ from ours, and from the clock
 * of another gateway.
 */
const WINDOW_MS = 58_000

/** The client with a watch: no credential has more successes than its quota within a minute of its first call. */
export function watchQuotas(
  api: PublicApi,
  now_ms: () => number,
  onProblem: (problem: string) => void,
): PublicApi {
  const first_ms = new Map<number, number>()
  const successes = new Map<number, number>()
  const call = async (credential: SimulatedCredential, body: object): Promise<PublicOutcome> => {
    if (!('method' in body) || body.method !== LOW_QUOTA.method) return api.call(credential, body)
    const { application_id } = credential
    const began_ms = first_ms.get(application_id) ?? now_ms()
    first_ms.set(application_id, began_ms)
    const outcome = await api.call(credential, body)
    if (outcome.kind !== 'success' || now_ms() - began_ms > WINDOW_MS) return outcome
    const count = (successes.get(application_id) ?? 0) + 1
    successes.set(application_id, count)
    if (count > LOW_QUOTA.limit)
      onProblem(`the application ${application_id} had ${count} calls of ${LOW_QUOTA.method} within a minute`)
    return outcome
  }
  return { ...api, call }
}
