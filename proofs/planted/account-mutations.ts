import type { Mutation } from './mutation.ts'

/**
 * Faults in what is proved when a provider account is another one than before, or has lost what it had (P4), and in what is sent to a
 * disabled one (P20).
 */
export const ACCOUNT_MUTATIONS: readonly Mutation[] = [
  {
    name: 'an account that has moved counts as the same',
    file: 'services/payments/domain/account-identity.ts',
    search: 'return stamp.fingerprint !== fingerprint &&',
    replace: "return stamp.fingerprint === '' &&",
    needs: ['provider account moves'],
  },
  {
    name: 'what another account does not know is sent to it',
    file: 'services/payments/effects/ask-provider.ts',
    search: '      if (is_moved) return (current) => current\n',
    replace: '',
    needs: ['provider account moves'],
  },
  {
    name: 'the operator does not learn what a provider has lost',
    file: 'services/payments/domain/apply-provider-update.ts',
    search: '  return addAnomaly(payment, newNotFoundAnomaly(payment, update))\n',
    replace: '  return is_known ? payment : addAnomaly(payment, newNotFoundAnomaly(payment, update))\n',
    needs: ['provider drops operations'],
  },
  {
    name: 'a disabled account gets the creates that wait',
    file: 'services/payments/effects/create-at-provider.ts',
    search: "      if (state === 'disabled') return withoutSending(deps, operation)\n",
    replace: '',
    needs: ['provider account is switched'],
  },
  {
    name: 'a dismissed anomaly about a moved account stays dismissed',
    file: 'services/payments/domain/anomaly.ts',
    search: 'resolution.at.getTime() < SILENT_MS',
    replace: 'resolution.at.getTime() >= 0',
    needs: ['provider account moves'],
  },
]
