import type { FaultKind } from '../simulation/faults/plan.ts'

/** One fault that is planted in the code of the product, to prove that simulation finds it. */
export interface Mutation {
  readonly name: string
  readonly file: string
  /** The code to replace. It occurs exactly once in the file. */
  readonly search: string
  readonly replace: string
  /** Kinds of faults that it needs to be seen. Seeds without them are left out. */
  readonly needs?: readonly FaultKind[]
  /** Whether it needs files to be seen. Seeds without them are left out. */
  readonly has_files?: boolean
  /** Whether it needs a restore to be seen. Seeds without one are left out. */
  readonly is_restored?: boolean
  /** Whether it needs the back office to be seen. Seeds without it are left out. */
  readonly has_backoffice?: boolean
}
