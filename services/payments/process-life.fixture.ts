import type { Collection } from '#lib/store/store.ts'

/** Where a process crashes: before or after its `at`-th write or call, counted from 1. */
export interface CrashPoint {
  readonly at: number
  readonly when: 'before' | 'after'
}

/** Runs a write or a call of a process. It never ends when the process crashes there, or has crashed. */
export type Step = <T>(act: () => T | Promise<T>) => Promise<T>

/** The life of a process, until its crash. */
export interface Life {
  /** A write or a call, which can be the last one. */
  readonly step: Step
  /** A read, which never ends after the crash. */
  readonly read: Step
  readonly crashed: Promise<'crashed'>
  /** Lets the process crash at a later step; `at` counts from now. */
  crashAt(point: CrashPoint): void
}

/** Makes the life of a process. Without a crash point it does not end by itself. */
export function createLife(first_crash?: CrashPoint): Life {
  const { promise: crashed, resolve: reportCrash } = Promise.withResolvers<'crashed'>()
  let crash = first_crash
  let steps = 0
  let is_dead = false
  const never = <T>(): Promise<T> => {
    is_dead = true
    reportCrash('crashed')
    return new Promise<T>(() => {})
  }
  const step: Step = async <T>(act: () => T | Promise<T>): Promise<T> => {
    if (is_dead) return never()
    steps += 1
    const is_here = crash?.at === steps
    if (is_here && crash?.when === 'before') return never()
    try {
      const result = await act()
      return is_dead || is_here ? never() : result
    } catch (error) {
      // A write that lost a race ends the process too, or the crash would not happen at this step.
      if (is_here) return never()
      throw error
    }
  }
  const read: Step = async (act) => (is_dead ? never() : act())
  return {
    step,
    read,
    crashed,
    crashAt({ at, when }) {
      crash = { at: steps + at, when }
    },
  }
}

/** The collection with each write as a step, and reads that end with the process. */
export function withSteps<D extends object>(collection: Collection<D>, { step, read }: Life): Collection<D> {
  return {
    ...collection,
    get: (...key) => read(() => collection.get(...key)),
    find: (...query) => read(() => collection.find(...query)),
    insert: (...write) => step(() => collection.insert(...write)),
    replace: (...write) => step(() => collection.replace(...write)),
    delete: (...write) => step(() => collection.delete(...write)),
  }
}
