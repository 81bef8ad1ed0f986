import type { Choices } from '../../parts/random.ts'
import type { Machine } from '../../parts/simulated-process.ts'
import type { Trace } from '../../parts/trace.ts'
import type { ProviderFaults } from './faults.ts'
import type { ProviderOperation } from './operation.ts'

/** What decisions need. */
export interface DecisionDeps {
  readonly machine: Machine
  readonly choices: Choices
  readonly trace: Trace
}

/** Makes the function that chooses what happens to a new operation, and when. */
export function createDecision(
  { machine, choices, trace }: DecisionDeps,
  faults: ProviderFaults,
  sendCallbacks: (operation: ProviderOperation) => Promise<void> | void,
): (operation: ProviderOperation) => void {
  const complete = (operation: ProviderOperation, status: ProviderOperation['status']): void => {
    operation.status = status
    operation.completed_ms = machine.now_ms()
    trace.add(`provider ${operation.idempotency_key} ${status}`)
  }
  return (operation) => {
    const result = choices.weighted<ProviderOperation['status']>([
      [70, 'success'],
      [10, 'declined'],
      [8, 'canceled'],
      // A withdrawal or a refund that stayed open would never be final.
      [operation.kind === 'deposit' ? 4 : 0, 'pending'],
    ])
    const at_once = choices.chance(operation.kind === 'refund' ? 0.4 : 0.2)
    if (result === 'pending') return
    if (at_once) {
      complete(operation, result)
      return
    }
    const delay_ms = choices.chance(0.8) ? choices.between(50, 3_000) : choices.between(3_000, 20_000)
    machine.schedule(undefined, machine.scheduler.now_ms() + delay_ms, () => {
      const is_late = machine.now_ms() >= operation.expires_ms
      if (result === 'success' && is_late && !choices.chance(faults.late_success)) return
      complete(operation, result)
      void sendCallbacks(operation)
    })
  }
}
