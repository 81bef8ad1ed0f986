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
import { retryPaymentEffect, retrySupportEffect } from '../../forms/stuck.ts'
import { ItemList, type ItemListSpec } from '../lists/item-list.tsx'
import { useTitle } from '../parts/title.ts'

const PAGE_SIZE = 100

const of_payments: ItemListSpec<PaymentEffect> = {
  title: 'Payments',
  method: PaymentService.method.listStuckEffects,
  items: 'effects',
  desc: PaymentEffectSchema,
  names: ['effectId', 'kind'],
  acts: [retryPaymentEffect],
}

/** The documents of support that have effects. */
const OF_SUPPORT = ['tickets', 'refunds', 'chargebacks'].map((documents) => {
  const spec: ItemListSpec<SupportEffect> = {
    title: documents.charAt(0).toUpperCase() + documents.slice(1),
    method: EffectService.method.listStuckEffects,
    items: 'effects',
    desc: SupportEffectSchema,
    names: ['effectId', 'kind'],
    acts: [retrySupportEffect(documents)],
  }
  return { documents, spec }
})

/** The work that has used up its tries, and waits for a person. */
export function StuckPage(): ReactNode {
  useTitle('Stuck effects')
  return (
    <>
      <h1>Stuck effects</h1>
      <p className="quiet">
        Which work has used up its tries, and waits until somebody has mended the cause.
      </p>
      <ItemList spec={of_payments} request={{ pageSize: PAGE_SIZE }} />
      {OF_SUPPORT.map(({ documents, spec }) => (
        <ItemList key={documents} spec={spec} request={{ documents, pageSize: PAGE_SIZE }} />
      ))}
    </>
  )
}
