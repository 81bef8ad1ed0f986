import { clock, every } from '#lib/base/time.ts'
import {
  certificateProblems,
  measureCertificates,
  ownCertificates,
  type SettingCertificates,
} from '#lib/http/certificate-ends.ts'
import type { Tls } from '#lib/http/tls.ts'
import type { ClockGuard } from '#lib/patterns/clock-guard.ts'
import type { RoleName, RunningRole } from '#lib/role/role.ts'
import type { ServingRpc } from '#lib/rpc/rpc.ts'
import type { Store } from '#lib/store/store.ts'
import { reasonOf } from '#lib/telemetry/faults.ts'
import { log } from '#lib/telemetry/log.ts'
import { gauge } from '#lib/telemetry/metrics.ts'
import type { Readiness } from './health-server.ts'
import type { Lifecycle } from './lifecycle.ts'

const ready_roles = gauge(
  'multihub_ready',
  'Whether this process can do the work of the role: 1, or 0 while it starts, stops or lacks what the role needs.',
  ['role'],
)

const CHECK_INTERVAL_MS = 1_000
/** The limitation of a role without its database, if it answers all the same (`answers_without_store`). */
const NO_DATABASE = 'the database cannot be reached; requests that need it are answered with 2002'

/** Marks roles as not ready until their first check. */
export function setStarting(readiness: Readiness, names: readonly RoleName[]): void {
  for (const role of names) {
    readiness.set(role, false, 'starting')
    ready_roles.set({ role }, 0)
  }
}

/** What the readiness of a process follows from. */
export interface ReadinessDeps {
  readonly clock_guard: Pick<ClockGuard, 'assertTrusted'>
  readonly stores: ReadonlyMap<RoleName, Pick<Store, 'ping'>>
  readonly running: ReadonlyMap<
    RoleName,
    Pick<RunningRole, 'check' | 'limitations' | 'answers_without_store'>
  >
  readonly serving: Pick<ServingRpc, 'setServing' | 'setRoleServing'>
  readonly tls: Pick<Tls, 'current'> | undefined
  /** The certificates of the connections to servers, as they were read last. */
  readonly certificates: () => readonly SettingCertificates[]
}

/**
 * Checks the clock, the certificate and every role once per second, and publishes the result as readiness and gRPC health. The
 * bus is not checked: nothing depends on it but speed, so a process without it is ready.
 */
export async function watchReadiness(lifecycle: Lifecycle, parts: ReadinessDeps): Promise<void> {
  const { clock_guard, stores, running, serving, tls } = parts
  const { readiness } = lifecycle
  const report = createReport()
  // Where every role answers without its store, the process is not taken out of service for what all of its kind share.
  const stays_ready = [...running.values()].every(({ answers_without_store }) => answers_without_store)

  /** Publishes the state of what all roles need. Returns whether the roles can work with it. */
  const setShared = (part: string, reason: string | undefined, limitations: readonly string[]): boolean => {
    const is_ready = reason === undefined || stays_ready
    report(part, reason)
    readiness.set(part, is_ready, reason)
    readiness.setLimitations(part, reason !== undefined && stays_ready ? [reason] : limitations)
    return is_ready
  }

  const checkParts = async (): Promise<void> => {
    const clock_reason = await reasonAgainst(async () => clock_guard.assertTrusted())
    const has_clock = setShared('clock', clock_reason, [])
    const certificates = [...ownCertificates(tls?.current()), ...parts.certificates()]
    measureCertificates(certificates, clock.now_ms())
    const { expired, ending } = certificateProblems(certificates, clock.now_ms())
    const has_certificate = setShared('certificate', expired, ending)
    const checks = [...running].map(async ([name, role]) => {
      const store_reason = await reasonAgainst(async () => stores.get(name)?.ping())
      const is_limited = store_reason !== undefined && role.answers_without_store === true
      const reason =
        (is_limited ? undefined : store_reason) ?? (await reasonAgainst(async () => role.check?.()))
      report(name, reason)
      readiness.set(name, reason === undefined, reason)
      const limitations = role.limitations?.() ?? []
      readiness.setLimitations(name, is_limited ? [...limitations, NO_DATABASE] : limitations)
      serving.setRoleServing(
        name,
        reason === undefined && clock_reason === undefined && expired === undefined,
      )
      const can_work = reason === undefined && has_clock && has_certificate
      ready_roles.set({ role: name }, can_work && !lifecycle.draining.aborted ? 1 : 0)
    })
    await Promise.all(checks)
    serving.setServing(readiness.state().ready)
  }
  const timer = every(CHECK_INTERVAL_MS, checkParts, (error) =>
    log.error({ error }, 'readiness check failed'),
  )
  lifecycle.onStop('readiness', () => timer.cancel())
  await checkParts()
}

/** Logs when a part stops to be ready, and when it is ready again: not each of the checks between them. */
function createReport() {
  const unready = new Set<string>()
  return (part: string, reason: string | undefined): void => {
    if (reason !== undefined && !unready.has(part)) {
      unready.add(part)
      log.warn({ part, reason }, 'a part of the process is not ready')
    }
    if (reason === undefined && unready.delete(part))
      log.info({ part }, 'a part of the process is ready again')
  }
}

/** Why a check failed, in words; `undefined` when it did not. */
async function reasonAgainst(check: () => Promise<void>): Promise<string | undefined> {
  try {
    await check()
    return undefined
  } catch (error) {
    return reasonOf(error)
  }
}
