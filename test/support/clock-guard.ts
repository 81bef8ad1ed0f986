import { clock } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { ClockGuard } from '#lib/patterns/clock-guard.ts'

/** A guard that always trusts the clock, for tests of something else. */
export const trustedClock: ClockGuard = {
  isTrusted: () => true,
  assertTrusted: () => {},
  store_now_ms: () => clock.now_ms(),
}

/** A guard that trusts the clock as a test says. */
export interface SwitchedClockGuard extends ClockGuard {
  setTrusted(trusted: boolean): void
}

/** Makes a guard that trusts the clock at first. */
export function createSwitchedClockGuard(): SwitchedClockGuard {
  let is_trusted = true
  return {
    isTrusted: () => is_trusted,
    assertTrusted() {
      if (!is_trusted) throw new Unavailable('the clock of this process is wrong, as the test says')
    },
    store_now_ms: () => clock.now_ms(),
    setTrusted(trusted) {
      is_trusted = trusted
    },
  }
}
