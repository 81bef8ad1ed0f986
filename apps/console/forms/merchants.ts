import { PersonalDataService } from '#gen/multihub/backoffice/v1/personal_data_service_pb.ts'
import { type Merchant, MerchantStatus } from '#gen/multihub/merchants/v1/merchant_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { addressOf } from '../values/addresses.ts'
import { type Act, act } from './act.ts'
import type { FormField } from './fields.ts'

const ZONES = Intl.supportedValuesOf('timeZone')

const COMMON: readonly FormField[] = [
  { name: 'name' },
  {
    name: 'timezone',
    label: 'Time zone',
    choices: ZONES,
    help: 'A name such as Asia/Kolkata. Limits of payouts begin again at its midnight.',
  },
  { name: 'environments' },
]

/** A new merchant. */
export const createMerchant = act({
  name: 'New merchant',
  method: MerchantService.method.createMerchant,
  keys: 'n m',
  reason: 'optional',
  effects: (_none: undefined) => [
    'A merchant is added, and gets an id. It can do nothing until it has a credential and a route.',
  ],
  fields: () =>
    COMMON.map((field) => (field.name === 'environments' ? { ...field, initial: 'test' } : field)),
  outcome: ({ merchant }) => ({ address: addressOf('merchant', merchant?.merchantId ?? '') }),
})

function setStatus(
  name: string,
  status: MerchantStatus,
  effects: readonly string[],
  confirm?: (merchant: Merchant) => string,
): Act<Merchant> {
  return act({
    name,
    method: MerchantService.method.updateMerchant,
    isOffered: (merchant: Merchant) => merchant.status !== status,
    effects: () => effects,
    request: ({ merchantId }) => ({ merchantId, status }),
    ...(confirm && { confirm }),
  })
}

/** Destroys what identifies the person of all payments of a merchant with one e-mail address. */
const eraseByEmail = act({
  name: 'Erase a person',
  method: PersonalDataService.method.erasePerson,
  effects: () => [
    'Name, account, phone, e-mail and documents in all payments with this e-mail address are destroyed, also in callbacks, tickets and files.',
    'Amounts, ids and states stay. It cannot be undone, and no backup brings it back.',
    'It is refused until each of the payments and its refunds have ended.',
  ],
  fields: () => [{ name: 'email', label: 'E-mail address of the payer or receiver' }],
  request: ({ merchantId }: Merchant, { email = '' }) => ({
    merchantId,
    person: { case: 'email' as const, value: email.trim() },
  }),
  confirm: () => 'erase',
  outcome: ({ paymentIds, hasMore }) => ({
    sentences: [
      `${paymentIds.length} payments are erased.`,
      ...(hasMore ? ['There are more: do it again.'] : []),
    ],
  }),
})

/** What an administrator can do with a merchant. */
export const merchant_acts: readonly Act<Merchant>[] = [
  act({
    name: 'Edit',
    method: MerchantService.method.updateMerchant,
    edits: true,
    effects: ({ merchantId }: Merchant) => [
      `Merchant ${merchantId} is changed. Gateways know it within 2 s.`,
    ],
    fields: () => COMMON,
    request: ({ merchantId }) => ({ merchantId }),
  }),
  setStatus('Activate', MerchantStatus.ACTIVE, ['All its requests are accepted again.']),
  setStatus('Suspend', MerchantStatus.SUSPENDED, [
    'Its new payments and requests for refunds are refused with 1002.',
    'Reads, running payments and callbacks go on.',
  ]),
  setStatus(
    'Close merchant',
    MerchantStatus.CLOSED,
    [
      'Every request of it is refused with 3004, reads included.',
      'Running payments and callbacks go on to their end. It can be activated again.',
    ],
    ({ merchantId }) => merchantId,
  ),
  eraseByEmail,
]
