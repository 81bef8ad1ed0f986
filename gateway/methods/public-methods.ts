import { ENVELOPE_METHODS } from './envelope-methods.generated.ts'
import type { MethodDeps, MethodTable, PublicMethod } from './method.ts'
import { webhookResend } from './webhook-resend.ts'

/** Every public method: those that a request envelope names, then that of the resend path. */
export const PUBLIC_METHODS: readonly PublicMethod[] = [...ENVELOPE_METHODS, webhookResend]

/** The default quota of each method, in calls per minute (E10). A method that is not in it is unlimited. */
export const DEFAULT_QUOTAS: ReadonlyMap<string, number> = new Map(
  PUBLIC_METHODS.flatMap(({ name, default_quota }) =>
    default_quota === undefined ? [] : [[name, default_quota]],
  ),
)

/** Makes the methods of the request envelope callable, by name. */
export function bindMethods(deps: MethodDeps): MethodTable {
  return new Map(ENVELOPE_METHODS.map((method) => [method.name, method.bind(deps)]))
}
