import type { Mutation } from './mutation.ts'

/** Faults in what reports of providers prove about an operation: their ids, and refusals that come too late (P4). */
export const REPORT_MUTATIONS: readonly Mutation[] = [
  {
    name: 'a refusal of what was reported before ends it',
    file: 'services/payments/domain/apply-provider-update.ts',
    search: 'create !== undefined && has_failed && provider_id !== undefined',
    replace: "create !== undefined && has_failed && provider_id === ''",
    needs: ['provider refuses late'],
  },
  {
    name: 'a report with another id is applied',
    file: 'services/payments/domain/provider-record.ts',
    search: 'return named !== undefined && provider_id !== undefined && named !== provider_id',
    replace: "return named === ''",
    needs: ['provider reports another id'],
  },
  {
    name: 'the id of an operation is not kept',
    file: 'services/payments/domain/provider-record.ts',
    search: "if (!('provider_id' in result) || result.provider_id === undefined) return payment",
    replace: 'if (ref) return payment',
    needs: ['provider forgets'],
  },
]
