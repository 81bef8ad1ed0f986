import type { Mutation } from './mutation.ts'

/** The planted faults of the circuit breakers of provider accounts. */
export const CIRCUIT_BREAKER_MUTATIONS: readonly Mutation[] = [
  {
    name: 'an open circuit breaker admits no probe',
    file: 'services/payments/circuit-breaker/circuit-breaker.ts',
    search: '=> opened === undefined || clock.monotonic_ms() >= opened.probe_at_ms',
    replace: '=> opened === undefined',
    needs: ['provider account is down'],
  },
  {
    name: 'a circuit breaker never closes',
    file: 'services/payments/circuit-breaker/circuit-breaker.ts',
    search: 'if (opened) change(undefined)',
    replace: 'if (opened && failures > 0) change(undefined)',
    needs: ['provider account is down'],
  },
]
