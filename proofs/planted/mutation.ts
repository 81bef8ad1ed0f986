import type { FaultKind } from '../simulation/faults/plan.ts'

/** One fault that is planted in the code of the product. */
export interface PlantedFault {
  readonly name: string
  readonly file: string
  /** The code to replace. It occurs exactly once in the file. */
  readonly search: string
  readonly replace: string
}

/** A fault that tests must find, because no actor of the simulation does what shows it. */
export interface TestMutation extends PlantedFault {
  /** The files of the tests, of which one must fail. */
  readonly tests: readonly string[]
}

/** A fault that the simulation must find. */
export interface Mutation extends PlantedFault {
  /** Kinds of faults that it needs to be seen. Seeds without them are left out. */
  readonly needs?: readonly FaultKind[]
  /** Whether it needs files to be seen. Seeds without them are left out. */
  readonly has_files?: boolean
  /** Whether it needs a restore to be seen. Seeds without one are left out. */
  readonly is_restored?: boolean
  /** Whether it needs the back office to be seen. Seeds without it are left out. */
  readonly has_backoffice?: boolean
  /** Whether it needs a full balance to be seen. Seeds without one are left out. */
  readonly has_full_balance?: boolean
  /** Whether it needs a pause of days to be seen. Seeds without one are left out. */
  readonly is_paused?: boolean
}
