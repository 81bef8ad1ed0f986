import { clock, every } from '#lib/base/time.ts'
import type { Collection } from '#lib/store/store.ts'
import { log } from '#lib/telemetry/log.ts'
import type { KnownAccount } from './domain/account-identity.ts'
import type { AccountState, AccountSwitch } from './domain/account-state.ts'
import { readSwitches } from './store/known-accounts.ts'

/** What the operator lets the provider accounts do, as this process knows it. */
export type AccountStates = ReturnType<typeof createAccountStates>

const READ_MS = 1_000
/** How old what a process knows may be when it sends something that moves money. An operator waits for at most 5 s (P20). */
const AGE_MAX_MS = 2_500

/**
 * Reads the states of the accounts once a second. Before something is sent that moves money, they are read again if that did not
 * happen lately: in a process that was paused, or while the store does not answer (P20).
 */
export function createAccountStates(known_accounts: Pick<Collection<KnownAccount>, 'find'>) {
  let switches: ReadonlyMap<string, AccountSwitch> = new Map()
  let read_at_ms = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | undefined
  let repetition: ReturnType<typeof every> | undefined

  async function read(): Promise<void> {
    const began_ms = clock.monotonic_ms()
    const found = await readSwitches(known_accounts)
    // A read that began earlier can end later.
    if (began_ms < read_at_ms) return
    switches = found
    read_at_ms = began_ms
  }
  const readOnce = (): Promise<void> => {
    reading ??= read().finally(() => {
      reading = undefined
    })
    return reading
  }
  const isOld = (): boolean => clock.monotonic_ms() - read_at_ms > AGE_MAX_MS
  const stateOf = (account_id: string): AccountState => switches.get(account_id)?.state ?? 'enabled'

  return {
    /** What the operator has set; `undefined` for an account that was never switched. */
    switchOf: (account_id: string): AccountSwitch | undefined => switches.get(account_id),
    /** Whether new payments may use the account, as far as this process knows. */
    takesPayments: (account_id: string): boolean => stateOf(account_id) === 'enabled',
    isDisabled: (account_id: string): boolean => stateOf(account_id) === 'disabled',
    /** The state at most 2.5 s ago; `unknown` when it cannot be read. */
    async recentStateOf(account_id: string): Promise<AccountState | 'unknown'> {
      if (isOld()) await readOnce().catch(logFailure)
      return isOld() ? 'unknown' : stateOf(account_id)
    },
    /** Reads what was just stored. */
    refresh: read,
    /** Resolves when the states are known, or cannot be read: then nothing is sent that moves money until they are. */
    async start(): Promise<void> {
      await readOnce().catch(logFailure)
      repetition = every(READ_MS, readOnce, logFailure)
    },
    stop: async (): Promise<void> => repetition?.stop(),
  }
}

/** Makes the states of a process, and begins to read them. */
export async function startAccountStates(
  known_accounts: Pick<Collection<KnownAccount>, 'find'>,
): Promise<AccountStates> {
  const states = createAccountStates(known_accounts)
  await states.start()
  return states
}

function logFailure(error: unknown): void {
  log.debug({ error }, 'the states of the provider accounts could not be read')
}
