import type { Noun } from './noun.ts'

/** `multihub balances`. */
export const noun: Noun = {
  service: async () => (await import('#gen/multihub/balances/v1/balance_service_pb.ts')).BalanceService,
  verbs: [
    {
      name: 'list',
      about: "list a merchant's balances",
      rpc: 'getBalances',
      columns: ['currency', 'available:money', 'held:money'],
    },
    {
      name: 'entries',
      about: 'list the entries of the ledger',
      rpc: 'listEntries',
      columns: ['create_time', 'kind', 'amount', 'debit', 'credit', 'payment_id', 'entry_id'],
      csv_columns: [
        'create_time',
        'entry_id',
        'kind',
        'payment_id',
        'debit',
        'credit',
        'amount',
        'refused_code',
        'available_after:money',
        'held_after:money',
        'reason',
      ],
    },
    { name: 'entry', about: 'show an entry of the ledger', rpc: 'getEntry', id: 'entry_id' },
    { name: 'adjust', about: 'correct a balance', rpc: 'adjust' },
    {
      name: 'settle',
      about: 'begin a new settlement period',
      rpc: 'settle',
      previewed_by: 'previewSettlement',
    },
    {
      name: 'verify',
      about: 'start a verification of the ledger',
      rpc: 'startVerification',
      service: async () =>
        (await import('#gen/multihub/balances/v1/verification_service_pb.ts')).VerificationService,
    },
    {
      name: 'verification',
      about: 'show the last verification of the ledger',
      rpc: 'getVerification',
      service: async () =>
        (await import('#gen/multihub/balances/v1/verification_service_pb.ts')).VerificationService,
    },
    {
      name: 'resume',
      about: 'let a shard decide again that a verification has stopped',
      rpc: 'resumeShard',
      id: 'shard',
      service: async () =>
        (await import('#gen/multihub/balances/v1/verification_service_pb.ts')).VerificationService,
    },
  ],
}
