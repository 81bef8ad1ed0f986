import type { Place, ProcessorUse } from '../../test/support/fleet/place.ts'

/** The processor time of all processes of a role. */
export interface RoleUse extends ProcessorUse {
  readonly role: string
  /** The processes that run at the same time. */
  readonly copies: number
}

/** What the processes of each role have used until now, in the order of their first places. */
export function usesOfRoles(places: readonly Pick<Place, 'role' | 'processorUse'>[]): readonly RoleUse[] {
  return [...Map.groupBy(places, ({ role }) => role)].map(([role, of_role]) => {
    const uses = of_role.map((place) => place.processorUse())
    const sum = (timeOf: (use: ProcessorUse) => number): number =>
      uses.reduce((total, use) => total + timeOf(use), 0)
    return {
      role,
      copies: of_role.length,
      starts: sum(({ starts }) => starts),
      starting_ms: sum(({ starting_ms }) => starting_ms),
      serving_ms: sum(({ serving_ms }) => serving_ms),
    }
  })
}

/** A table with the processor time per accepted payment and role, line by line. */
export function* describeUses(uses: readonly RoleUse[], payments: number): Iterable<string> {
  yield '  processor    processes  starts  until ready  per payment since then, with its work at rest'
  for (const { role, copies, starts, starting_ms, serving_ms } of uses)
    yield [
      `  ${role.padEnd(11)}`,
      String(copies).padStart(9),
      String(starts).padStart(6),
      milliseconds(starting_ms / starts, 0).padStart(11),
      milliseconds(serving_ms / payments, 2),
    ].join('  ')
}

function milliseconds(value_ms: number, digits: number): string {
  return Number.isFinite(value_ms) ? `${value_ms.toFixed(digits)} ms` : 'not measured'
}
