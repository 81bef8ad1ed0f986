import { clock } from '#lib/platform/time.ts'
import { recordKey } from '../../simulation/workload/history.ts'
import type { SimulatedCredential, SimulatedMerchant } from '../../simulation/workload/merchants.ts'
import type { PublicApi, PublicOutcome } from '../../simulation/workload/public-api.ts'
import { staysPending } from './merchants.ts'

/** One create, as its merchant saw it. Times are of the monotonic clock. */
export interface CreateTimes {
  readonly key: string
  readonly sent_ms: number
  readonly answered_ms: number
  readonly outcome: PublicOutcome
  /** Whether the deposit stays open until it expires, whatever the system does. */
  readonly stays_pending: boolean
}

/** When creates were sent and answered, and when merchants learned that payments are final. */
export interface Timeline {
  readonly creates: readonly CreateTimes[]
  /** By the key of the payment. */
  readonly final_ms: ReadonlyMap<string, number>
  noteFinal(key: string, at_ms: number): void
  /** The client whose creates are noted. */
  watch(api: PublicApi, merchants: readonly SimulatedMerchant[]): PublicApi
}

interface CreateBody {
  readonly method: string
  readonly params: { readonly payment: { identifiers: { c_id: string }; amount?: { value: number } } }
}

/** Makes an empty timeline. */
export function createTimeline(): Timeline {
  const creates: CreateTimes[] = []
  const final_ms = new Map<string, number>()
  return {
    creates,
    final_ms,
    noteFinal(key, at_ms) {
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
        const { identifiers, amount } = params.payment
        creates.push({
          key: recordKey(owners.get(credential) ?? '', identifiers.c_id),
          sent_ms,
          answered_ms: clock.monotonic_ms(),
          outcome,
          stays_pending: staysPending(amount?.value ?? 0),
        })
        return outcome
      }
      return { ...api, call }
    },
  }
}
