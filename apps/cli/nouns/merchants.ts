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
    },
  ],
}
