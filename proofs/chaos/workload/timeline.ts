import { clock } from '#lib/base/time.ts'
import { recordKey } from '../../simulation/workload/history.ts'
import type { SimulatedCredential, SimulatedMerchant } from '../../simulation/workload/merchants.ts'
import type { PublicApi, PublicOutcome } from '../../simulation/workload/public-api.ts'

/** One create, as its merchant saw it. Times are of the monotonic clock. */
export interface CreateTimes {
  readonly key: string
  readonly sent_ms: number
  readonly answered_ms: number
  readonly outcome: PublicOutcome
}

/** When creates were sent and answered, and when merchants learned that payments are final. */
export interface Timeline {
  readonly creates: readonly CreateTimes[]
  /** By the key of the payment. */
  readonly final_ms: ReadonlyMap<string, number>
  /** The payments that expired, which takes time whatever the system does. */
  readonly expired: ReadonlySet<string>
  noteFinal(key: string, status: string, at_ms: number): void
  /** The client whose creates are noted. */
  watch(api: PublicApi, merchants: readonly SimulatedMerchant[]): PublicApi
}

interface CreateBody {
  readonly method: string
  readonly params: { readonly payment: { readonly identifiers: { readonly c_id: string } } }
}

/** Makes an empty timeline. */
export function createTimeline(): Timeline {
  const creates: CreateTimes[] = []
  const final_ms = new Map<string, number>()
  const expired = new Set<string>()
  return {
    creates,
    final_ms,
    expired,
    noteFinal(key, status, at_ms) {
      if (status === 'declined') expired.add(key)
      if (!final_ms.has(key)) final_ms.set(key, at_ms)
    },
    watch(api, merchants) {
      const owners = new Map(
        merchants.flatMap(({ merchant_id, credentials }) =>
          credentials.map((credential) => [credential, merchant_id] as const),
        ),
      )
      const call = async (credential: SimulatedCredential, body: object): Promise<PublicOutcome> => {
        const sent_ms = clock.monotonic_ms()
        const outcome = await api.call(credential, body)
        const { method, params } = body as CreateBody
        if (method !== 'payment.in') return outcome
        creates.push({
          key: recordKey(owners.get(credential) ?? '', params.payment.identifiers.c_id),
          sent_ms,
          answered_ms: clock.monotonic_ms(),
          outcome,
        })
        return outcome
      }
      return { ...api, call }
    },
  }
}
