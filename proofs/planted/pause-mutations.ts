import type { Mutation } from './mutation.ts'

/** Faults in what ends by its time and in what moves to the archive, which only seeds with a pause of days show. */
export const PAUSE_MUTATIONS: readonly Mutation[] = [
  {
    name: 'a payment with its person is archived',
    file: 'services/payments/domain/erase-payment.ts',
    search: "environment === 'production' && erased_at !== undefined && hasEnded(payment)",
    replace: "environment === 'production' && updated_at !== erased_at && hasEnded(payment)",
    is_paused: true,
  },
  {
    name: 'the stub of a batch is signed with nothing',
    file: 'services/balances/store/journal.ts',
    search: 'return (text) => signer.sign(signedStub(text))',
    replace: "return (text) => (text === '' ? signer.sign(signedStub(text)) : '')",
    is_paused: true,
  },
  {
    name: 'archive --restore puts back a part of a document',
    file: 'operations/archive/archived-collection.ts',
    search: 'await isDone(collection.replace(whole, version))',
    replace: "await isDone(collection.replace({ ...whole, attempts: [], token: '' }, version))",
    is_paused: true,
  },
  {
    name: 'what has ended in the test environment is deleted too early',
    file: 'lib/patterns/test-retention.ts',
    search: 'rangeOf: () => ({ to: new Date(now().getTime() - retention_ms) }),',
    replace: 'rangeOf: () => ({ to: new Date(now().getTime() - retention_ms / 8) }),',
    is_paused: true,
  },
  {
    name: 'what has ended in the test environment stays',
    file: 'lib/patterns/test-retention.ts',
    search: '  await deleteRest?.(document)\n  await deleteEnded(spec, collection, document)',
    replace:
      '  await deleteRest?.(document)\n  if (document.version < 0) await deleteEnded(spec, collection, document)',
    is_paused: true,
  },
  {
    name: 'the persons of old payments stay',
    file: 'services/payments/use-cases/erase-person.ts',
    search: 'rangeOf: () => ({ to: new Date(now().getTime() - retention_ms) }),',
    replace: 'rangeOf: () => ({ to: new Date(now().getTime() - 1_000 * retention_ms) }),',
    is_paused: true,
  },
  {
    name: 'what support has is erased too early',
    file: 'services/support/use-cases/erase-resources.ts',
    search: 'rangeOf: () => ({ to: new Date(now().getTime() - retention_ms) }),',
    replace: 'rangeOf: () => ({ to: new Date(now().getTime() - retention_ms / 100_000) }),',
    is_paused: true,
  },
]
