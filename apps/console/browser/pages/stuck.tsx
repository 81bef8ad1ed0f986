import type { ReactNode } from 'react'
import {
  type StuckEffect as PaymentEffect,
  StuckEffectSchema as PaymentEffectSchema,
  PaymentService,
} from '#gen/multihub/payments/v1/payment_service_pb.ts'
import {
  EffectService,
  type StuckEffect as SupportEffect,
  StuckEffectSchema as SupportEffectSchema,
} from '#gen/multihub/support/v1/effect_service_pb.ts'
import type { Act } from '../acts/act.ts'
import { ActBar } from '../acts/act-bar.tsx'
import { callRpc } from '../call/call-rpc.ts'
import { useRpc } from '../call/use-rpc.ts'
import { ProblemNote } from '../parts/problem-note.tsx'
import { useTitle } from '../parts/title.ts'
import { Facts } from '../parts/values.tsx'

const PAGE_SIZE = 100
/** The documents of support that have effects. */
const DOCUMENTS = ['tickets', 'refunds', 'chargebacks'] as const

/** An act that tries an effect again. */
function retryBy<T>(retry: (item: T, reason: string) => Promise<unknown>): Act<T> {
  return {
    name: 'Try again',
    rights: ['support'],
    isOffered: () => true,
    effects: () => [
      'The effect is tried once more now. It has one id, so what was done already is not done twice.',
      'What depends on it follows when it succeeds.',
    ],
    async run(item, { reason }) {
      await retry(item, reason)
      return undefined
    },
  }
}

const retryPayment = retryBy<PaymentEffect>(({ paymentId, effectId }, reason) =>
  callRpc(PaymentService.method.retryEffect, { paymentId, effectId }, { reason }),
)

const retrySupport = (documents: string) =>
  retryBy<SupportEffect>(({ documentId, effectId }, reason) =>
    callRpc(EffectService.method.retryEffect, { documents, documentId, effectId }, { reason }),
  )

/** The work that has used up its tries, and waits for a person. */
export function StuckPage(): ReactNode {
  useTitle('Stuck effects')
  const { data, error } = useRpc(PaymentService.method.listStuckEffects, { pageSize: PAGE_SIZE })
  return (
    <>
      <h1>Stuck effects</h1>
      <p className="quiet">
        Which work has used up its tries, and waits until somebody has mended the cause.
      </p>
      <section>
        <h2>Payments</h2>
        {error !== null && <ProblemNote error={error} />}
        {data?.effects.length === 0 && <p>None.</p>}
        {data?.effects.map((effect) => (
          <article key={effect.effectId}>
            <Facts desc={PaymentEffectSchema} message={effect} />
            <ActBar acts={[retryPayment]} item={effect} />
          </article>
        ))}
      </section>
      {DOCUMENTS.map((documents) => (
        <OfSupport key={documents} documents={documents} />
      ))}
    </>
  )
}

function OfSupport({ documents }: { readonly documents: (typeof DOCUMENTS)[number] }): ReactNode {
  const { data, error } = useRpc(EffectService.method.listStuckEffects, { documents, pageSize: PAGE_SIZE })
  return (
    <section>
      <h2>{documents}</h2>
      {error !== null && <ProblemNote error={error} />}
      {data?.effects.length === 0 && <p>None.</p>}
      {data?.effects.map((effect) => (
        <article key={effect.effectId}>
          <Facts desc={SupportEffectSchema} message={effect} />
          <ActBar acts={[retrySupport(documents)]} item={effect} />
        </article>
      ))}
    </section>
  )
}
