import { MerchantStatus } from '#gen/multihub/merchants/v1/merchant_pb.ts'
import type { Noun } from './noun.ts'

/** `multihub merchants`. */
export const noun: Noun = {
  service: async () => (await import('#gen/multihub/merchants/v1/merchant_service_pb.ts')).MerchantService,
  verbs: [
    {
      name: 'list',
      about: 'list the merchants',
      rpc: 'listMerchants',
      columns: ['merchant_id', 'name', 'status', 'environments', 'timezone', 'create_time'],
    },
    { name: 'show', about: 'show one merchant', rpc: 'getMerchant', id: 'merchant_id' },
    { name: 'create', about: 'create a merchant', rpc: 'createMerchant' },
    {
      name: 'update',
      about: 'change, suspend or close a merchant',
      rpc: 'updateMerchant',
      id: 'merchant_id',
      confirms: {
        what: 'every request of a closed merchant is refused',
        field: 'status',
        value: MerchantStatus.CLOSED,
      },
    },
    {
      name: 'erase-person',
      about: 'erase what identifies the person of --payment-id, --ticket-id or --email; amounts stay',
      rpc: 'erasePerson',
      id: 'merchant_id',
      service: async () =>
        (await import('#gen/multihub/backoffice/v1/personal_data_service_pb.ts')).PersonalDataService,
      confirms: 'what identifies this person is destroyed, and no backup brings it back',
    },
  ],
}
